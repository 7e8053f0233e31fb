// SPDX-License-Identifier: MIT
// BoundParameters: the variables of one filter in device memory, and what
// becomes of their gradients: they are added up, copied to where others read
// them, the update of the variables is encoded, and MPSNN's filter gets the new
// contents.
//
// MPSNN's filters compute with a copy of their weights that they made when they
// were loaded. Who else writes the variables (the host, another graph that is
// linked, a failed update) makes that copy stale. Running statistics are not
// loaded by a filter that computes its own.
#pragma once

#import "metal/bound_units.h"
#import "metal/mpsnn/filter_parameters.h"
#import "metal/mpsnn/image_graph_code.h"

namespace traingraph::metal {

class BoundParameters final : public FilterParameters {
 public:
  BoundParameters(const ImageGraphCode& code, int filter)
      : device_(code.device), plan_(code.plan), filter_(filter) {}

  /// Returns false when there is no buffer to be had. `update` may be null.
  bool bind(const UnitMemory& memory, const ImageGraphCode::Update* update);

  /// Has anyone else written them since note_loaded()?
  bool are_stale() const;
  void note_loaded();
  /// The buffer that is about to be encoded.
  void begin(MPSCommandBuffer* buffer);
  /// What MPSNN had to hand over since then and did not; null: nothing.
  const char* missing() const;

  std::string label() const override { return filter().label; }
  float* host(const char* role) const override;
  MPSCNNConvolutionWeightsAndBiasesState* update_weights(
      id<MTLCommandBuffer> buffer, MPSCNNConvolutionGradientState* gradient,
      MPSCNNConvolutionDescriptor* descriptor) override;
  MPSCNNNormalizationGammaAndBetaState* update_gamma_and_beta(
      id<MTLCommandBuffer> buffer, const GradientParts& gamma,
      const GradientParts& beta) override;
  void move_statistics(id<MTLCommandBuffer> buffer, id<MTLBuffer> mean,
                       id<MTLBuffer> variance) override;

 private:
  using Buffer = ObjcPtr<id<MTLBuffer>>;

  struct Variable {
    std::string role;
    Location at;
    std::size_t bytes = 0;
    std::uint64_t version = 0;
    Buffer buffer;  // of its own
    /// Where its gradient is wanted; null: nowhere.
    HeapBuffer* gradient_heap = nullptr;
    std::size_t gradient_offset = 0;
    Buffer gradient;
    Buffer parts;  // gradients of images, one after the other
    Buffer news;   // of running statistics: where new contents go

    bool is_loaded() const { return !news.get(); }
  };

  const ImageFilter& filter() const { return plan_.filter(filter_); }
  const Variable* find(std::string_view role) const;
  bool bind(const UnitMemory& memory, ValueId value, Variable& variable) const;
  /// Images whose gradients MPSNN does not add up.
  std::int64_t num_parts() const;
  /// MPSNN may hand over the command buffer inside ours.
  MPSCommandBuffer* buffer_for(id<MTLCommandBuffer> given) const;

  struct Gradient {
    const Variable* of;
    const GradientParts& parts;

    bool is_wanted() const { return of && of->gradient_heap; }
  };
  static void require_parts(const Gradient& gradient);
  void copy(id<MTLBlitCommandEncoder> blit, const Gradient& gradient) const;
  void add_up(MPSCommandBuffer* buffer, const Gradient& gradient) const;
  /// Returns true when the variables have new contents.
  bool update(id<MTLCommandBuffer> given, const Gradient& first,
              const Gradient& second);
  void move(MPSCommandBuffer* buffer, const char* role, id<MTLBuffer> batch,
            float scale) const;

  const GpuDevice& device_;
  const ImageGraphPlan& plan_;
  const int filter_;
  std::vector<Variable> variables_;
  std::unique_ptr<BoundCode> update_;
  std::vector<BufferCopy> write_backs_;
  MPSCommandBuffer* buffer_ = nil;
  bool has_gradients_ = false, has_statistics_ = false;  // since begin()
};

}  // namespace traingraph::metal
