// SPDX-License-Identifier: MIT
#import "metal/mpsnn/image_graph_code.h"

#include <algorithm>
#include <map>

#import "metal/mpsnn/bound_parameters.h"
#import "metal/mpsnn/filter_nodes.h"
#import "metal/mpsnn/image_copies.h"
#import "metal/mpsnn/image_handle.h"

namespace traingraph::metal {
namespace {

/// Ends encoding with an exception, which the guard around it makes an error.
[[noreturn]] void fail(NSString* what) {
  [NSException raise:NSInternalInconsistencyException format:@"%@", what];
  __builtin_unreachable();
}

class BoundImageGraph final : public BoundCode {
 public:
  explicit BoundImageGraph(const ImageGraphCode& code)
      : code_(code),
        plan_(code.plan),
        copies_(code.device),
        nodes_(plan_, [this](int filter) { return &parameters_.at(filter); }) {}

  /// Returns false when there is no buffer or image to be had.
  bool bind(const UnitMemory& memory) {
    for (const int filter : plan_.filters) {
      if (plan_.filter(filter).parameters.empty()) continue;
      const auto at = parameters_.try_emplace(filter, code_, filter).first;
      if (!at->second.bind(memory, update_of(filter))) return false;
    }
    for (const auto& source : plan_.sources) {
      const Shape& shape = plan_.shapes.at(source.value);
      Tensor& tensor = sources_[source.value];
      tensor.images = make_images(code_.device, shape);
      tensor.matrix = matrix(memory, source);
      if (!tensor.images.get() || !tensor.matrix.get()) return false;
    }
    for (const auto& result : plan_.results) {
      results_[result.value] = matrix(memory, result);
      if (!results_[result.value].get()) return false;
    }
    make_labels();
    nodes_.make();
    return true;
  }

  bool reads_memory() const override {
    if (parameters_.empty()) return false;
    if (!graph_.get() || num_failures_ != code_.device.num_failures) {
      return true;
    }
    for (const auto& [filter, parameters] : parameters_) {
      if (parameters.are_stale()) return true;
    }
    return false;
  }

  /// MPSNN's filters take note of the weights that updates will have made.
  bool may_be_dropped() const override { return parameters_.empty(); }

  void encode(MPSCommandBuffer* buffer) override {
    if (!graph_.get() || reads_memory()) load();
    for (auto& [filter, parameters] : parameters_) {
      parameters.begin(buffer);
    }
    for (const auto& [value, tensor] : sources_) {
      copies_.to_images(buffer, tensor.matrix.get(), tensor.images.get());
    }
    NSMutableArray<MPSImageBatch*>* others = [NSMutableArray array];
    MPSImageBatch* first =
        [graph_.get() encodeBatchToCommandBuffer:buffer
                                    sourceImages:source_images()
                                    sourceStates:source_states()
                              intermediateImages:others
                               destinationStates:nil];
    require_updates();
    copy_results(buffer, first, others);
  }

 private:
  /// What comes from outside, or a loss.
  struct Tensor {
    ImageBatch images;
    ObjcPtr<MPSMatrix*> matrix;
  };

  static ObjcPtr<MPSMatrix*> matrix(const UnitMemory& memory, int arg,
                                    const Shape& shape) {
    const auto buffer =
        memory.buffer(arg, shape.num_elements() * sizeof(float));
    if (!buffer.get()) return {};
    return matrix_of_images(buffer.get(), shape);
  }
  ObjcPtr<MPSMatrix*> matrix(const UnitMemory& memory,
                             const ImageGraphPlan::Image& image) const {
    return matrix(memory, image.arg, plan_.shapes.at(image.value));
  }

  const ImageGraphCode::Update* update_of(int filter) const {
    for (const auto& update : code_.updates) {
      if (update.filter == filter) return &update;
    }
    return nullptr;
  }

  /// LossNodes have one state per image, which keeps the loss.
  void make_labels() {
    for (const int index : plan_.filters) {
      const ImageFilter& filter = plan_.filter(index);
      if (num_graph_sources(filter) ==
          static_cast<int>(filter.sources.size())) {
        continue;
      }
      const Shape& size = plan_.shapes.at(filter.loss);
      MPSImageBatch* labels = sources_.at(filter.sources[1]).images.get();
      MPSImageBatch* weights = filter.sources.size() > 2
                                   ? sources_.at(filter.sources[2]).images.get()
                                   : nil;
      const auto states = adopt([[NSMutableArray alloc] init]);
      const auto losses = adopt([[NSMutableArray alloc] init]);
      for (NSUInteger i = 0; i < [labels count]; ++i) {
        const auto state = adopt([[MPSCNNLossLabels alloc]
            initWithDevice:code_.device.metal.get()
             lossImageSize:MTLSizeMake(size[3], size[2], size[1])
               labelsImage:[labels objectAtIndex:i]
              weightsImage:[weights objectAtIndex:i]]);
        [states.get() addObject:state.get()];
        [losses.get() addObject:[state.get() lossImage]];
      }
      labels_[filter.loss] = retain((MPSStateBatch*)states.get());
      losses_[filter.loss] = retain((MPSImageBatch*)losses.get());
    }
  }

  /// Everything that was encoded before has completed: the host may read.
  void load() {
    num_failures_ = code_.device.num_failures;
    if (graph_.get()) {
      [graph_.get() reloadFromDataSources];
    } else {
      make_graph();
    }
    for (auto& [filter, parameters] : parameters_) parameters.note_loaded();
  }

  void make_graph() {
    NSArray<MPSNNImageNode*>* images = nodes_.result_images();
    const std::vector<bool> are_needed = nodes_.results_are_needed();
    // BOOL is bool on some systems, and a vector of those has no array.
    const auto needed = std::make_unique<BOOL[]>(are_needed.size());
    std::ranges::copy(are_needed, needed.get());
    const auto graph =
        adopt([[MPSNNGraph alloc] initWithDevice:code_.device.metal.get()
                                    resultImages:images
                                resultsAreNeeded:needed.get()]);
    if (!graph.get()) fail(@"MPSNN made no graph of these filters");
    [graph.get() setFormat:MPSImageFeatureChannelFormatFloat32];
    first_is_needed_ = are_needed.front();
    graph_ = graph;
  }

  /// Else variables would get new contents that nobody computed.
  void require_updates() const {
    for (const auto& [filter, parameters] : parameters_) {
      const char* missing = parameters.missing();
      if (missing == nullptr) continue;
      fail([NSString stringWithFormat:@"MPSNN handed over no %s of %s", missing,
                                      plan_.filter(filter).label.c_str()]);
    }
  }

  static ValueId value_of_handle(id<MPSHandle> handle) {
    return [(TGImageHandle*)handle value];
  }

  NSArray<MPSImageBatch*>* source_images() const {
    NSMutableArray* images = [NSMutableArray array];
    for (id<MPSHandle> handle in [graph_.get() sourceImageHandles]) {
      [images addObject:sources_.at(value_of_handle(handle)).images.get()];
    }
    return images;
  }

  NSArray<MPSStateBatch*>* source_states() const {
    NSMutableArray* states = [NSMutableArray array];
    for (id<MPSHandle> handle in [graph_.get() sourceStateHandles]) {
      [states addObject:labels_.at(value_of_handle(handle)).get()];
    }
    return states;
  }

  void copy_result(MPSCommandBuffer* buffer, ValueId value,
                   MPSImageBatch* images) const {
    const auto found = results_.find(value);
    if (found == results_.end()) return;
    copies_.to_matrix(buffer, images, found->second.get());
  }

  /// The first result is returned, the others are among the intermediates, with
  /// what was exported.
  void copy_results(MPSCommandBuffer* buffer, MPSImageBatch* first,
                    NSArray<MPSImageBatch*>* others) const {
    if (first_is_needed_) {
      if (!first) fail(@"MPSNN returned no result");
      copy_result(buffer, nodes_.value_of_result(0), first);
    }
    NSArray<id<MPSHandle>>* handles = [graph_.get() intermediateImageHandles];
    if ([handles count] != [others count]) {
      fail(@"MPSNN returned other images than it has handles for");
    }
    for (NSUInteger i = 0; i < [others count]; ++i) {
      const ValueId value = value_of_handle([handles objectAtIndex:i]);
      copy_result(buffer, value, [others objectAtIndex:i]);
    }
    for (const auto& [value, images] : losses_) {
      copy_result(buffer, value, images.get());
    }
  }

  const ImageGraphCode& code_;
  const ImageGraphPlan& plan_;
  const ImageCopies copies_;
  std::map<int, BoundParameters> parameters_;  // by filter
  FilterNodes nodes_;
  std::map<ValueId, Tensor> sources_;
  std::map<ValueId, ObjcPtr<MPSMatrix*>> results_;
  std::map<ValueId, ObjcPtr<MPSStateBatch*>> labels_;  // by loss
  std::map<ValueId, ImageBatch> losses_;
  ObjcPtr<MPSNNGraph*> graph_;  // goes before the parameters that it reads
  bool first_is_needed_ = false;
  std::uint64_t num_failures_ = 0;
};

}  // namespace

std::unique_ptr<BoundCode> ImageGraphCode::bind(
    const UnitMemory& memory) const {
  auto bound = std::make_unique<BoundImageGraph>(*this);
  if (!bound->bind(memory)) return nullptr;
  return bound;
}

}  // namespace traingraph::metal
