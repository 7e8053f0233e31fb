// SPDX-License-Identifier: MIT
// BoundParameters: the variables of one filter in device memory, and what
// becomes of their gradients: they are copied to where others read them, the
// update of the variables is encoded, and MPSNN's filter gets the new contents.
//
// MPSNN's filters compute with a copy of their weights that they made when they
// were loaded. Who else writes the variables (the host, another graph that is
// linked, a failed update) makes that copy stale.
#pragma once

#import "metal/bound_units.h"
#import "metal/mpsnn/filter_parameters.h"
#import "metal/mpsnn/image_graph_code.h"

namespace traingraph::metal {

class BoundParameters final : public FilterParameters {
 public:
  BoundParameters(const ImageGraphPlan& plan, int filter)
      : plan_(plan), filter_(filter) {}

  /// False when there is no buffer to be had. `update` may be null.
  bool bind(const UnitMemory& memory, const ImageGraphCode::Update* update);

  /// Since note_loaded(): has anyone else written them?
  bool are_stale() const;
  void note_loaded();
  /// The buffer that is being encoded.
  void set_buffer(MPSCommandBuffer* buffer) { buffer_ = buffer; }

  std::string label() const override { return filter().label; }
  float* host(const char* role) const override;
  MPSCNNConvolutionWeightsAndBiasesState* update_weights(
      id<MTLCommandBuffer> buffer, MPSCNNConvolutionGradientState* gradient,
      MPSCNNConvolutionDescriptor* descriptor) override;

 private:
  struct Variable {
    std::string role;
    Location at;
    std::size_t bytes = 0;
    std::uint64_t version = 0;
    ObjcPtr<id<MTLBuffer>> buffer;  // of its own
    /// Where its gradient is wanted; null: nowhere.
    HeapBuffer* gradient_heap = nullptr;
    std::size_t gradient_offset = 0;
  };

  const ImageFilter& filter() const { return plan_.filter(filter_); }
  const Variable* find(std::string_view role) const;
  /// MPSNN may hand over the command buffer inside ours.
  MPSCommandBuffer* buffer_for(id<MTLCommandBuffer> given) const;
  void keep_gradient(id<MTLBlitCommandEncoder> blit, const char* role,
                     id<MTLBuffer> gradient) const;
  /// True when the variables have new contents.
  bool update(id<MTLCommandBuffer> given, const char* first,
              id<MTLBuffer> first_gradient, const char* second,
              id<MTLBuffer> second_gradient);

  const ImageGraphPlan& plan_;
  const int filter_;
  std::vector<Variable> variables_;
  std::unique_ptr<BoundCode> update_;
  std::vector<BufferCopy> write_backs_;
  MPSCommandBuffer* buffer_ = nil;
};

}  // namespace traingraph::metal
