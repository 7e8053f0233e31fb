// SPDX-License-Identifier: MIT
#include "metal/compile_graph.h"

#include <algorithm>

#include "metal/assumptions.h"
#import "metal/graph_builder.h"
#import "metal/guard.h"
#include "metal/kernel_table.h"
#import "metal/tensor_sizes.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

/// Builds the graph of one unit and compiles it.
class GraphCompiler {
 public:
  GraphCompiler(const GpuDevice& device, const Program& program,
                const GpuUnit& unit, const UnitArgs& args)
      : device_(device), program_(program), unit_(unit), args_(args) {}

  std::unique_ptr<GraphCode> run() {
    GraphCompiler* self = this;  // blocks copy what they name
    const auto refused = run_guarded(^{
      self->build();
    });
    if (refused) fail_node(*refused);
    if (!too_large_.empty()) fail_size();
    const auto failed = run_guarded(^{
      self->compile();
    });
    if (failed) fail_compile(*failed);
    if (!code_->executable.get()) fail_compile("no executable");
    if (!is_complete_) {
      fail_compile("the executable has other inputs or results than its graph");
    }
    return std::move(code_);
  }

 private:
  struct Border {
    ObjcPtr<MPSGraphTensor*> tensor;
    TensorDescriptor desc;
    int arg;
  };

  void build() {
    code_->graph = adopt([[MPSGraph alloc] init]);
    [code_->graph.get() setOptions:MPSGraphOptionsNone];
    GraphBuilder builder(program_, device_.limits, code_->graph.get());
    add_feeds(builder);
    std::vector<NodeId> others;  // in their order, as the nodes are
    for (const auto& update : unit_.in_place) others.push_back(update.node);
    TensorSizes sizes(device_.limits);
    for (NodeId id : unit_.nodes) {
      if (std::ranges::binary_search(others, id)) continue;
      current_ = id;
      builder.begin(id);
      lower_function(program_.node(id).op->kind)(builder);
      if (!fits(builder, sizes, program_.node(id))) return;
    }
    current_ = -1;
    for (std::size_t i = 0; i < unit_.targets.size(); ++i) {
      add_target(builder, unit_.targets[i], args_.targets[i]);
    }
    for (std::size_t i = 0; i < unit_.updated.size(); ++i) {
      add_target(builder, unit_.updated[i], args_.news[i]);
    }
  }

  /// All that the results and new variables of the node are computed from.
  bool fits(const GraphBuilder& builder, TensorSizes& sizes, const Node& node) {
    for (const auto* values : {&node.outputs, &node.inputs}) {
      for (ValueId value : *values) {
        if (value == kNoValue || !builder.has_value(value)) continue;
        too_large_ = sizes.find_too_large(builder.value(value));
        if (!too_large_.empty()) return false;
      }
    }
    return true;
  }

  void add_feeds(GraphBuilder& builder) {
    for (std::size_t i = 0; i < unit_.feeds.size(); ++i) {
      const ValueId value = unit_.feeds[i];
      feeds_.push_back(
          {retain(builder.feed(value)), program_.desc(value), args_.feeds[i]});
    }
    for (std::size_t i = 0; i < unit_.masks.size(); ++i) {
      const Mask& mask = unit_.masks[i];
      feeds_.push_back({retain(builder.feed_mask(mask.desc, mask.nodes)),
                        mask.desc, args_.masks[i]});
    }
  }

  /// A target is computed, and a tensor of its own: not a placeholder, a
  /// constant, or another's target.
  void add_target(GraphBuilder& builder, ValueId value, int arg) {
    MPSGraphTensor* tensor = builder.value(value);
    const bool is_computed = [[[tensor operation] inputTensors] count] > 0;
    const auto is_this = [&](const Border& border) {
      return border.tensor.get() == tensor;
    };
    if (!is_computed || std::ranges::any_of(targets_, is_this)) {
      tensor = [code_->graph.get() identityWithTensor:tensor name:nil];
    }
    targets_.push_back({retain(tensor), program_.desc(value), arg});
  }

  void compile() {
    NSMutableDictionary* feeds = [NSMutableDictionary dictionary];
    for (const Border& border : feeds_) {
      const auto type = adopt([[MPSGraphShapedType alloc]
          initWithShape:ns_shape(border.desc.shape)
               dataType:mps_data_type(border.desc.data_type)]);
      [feeds setObject:type.get() forKey:border.tensor.get()];
    }
    NSMutableArray* targets = [NSMutableArray array];
    for (const Border& border : targets_) {
      [targets addObject:border.tensor.get()];
    }
    const auto descriptor = adopt([[MPSGraphCompilationDescriptor alloc] init]);
    // Level 1 may move work to the Neural Engine, with its precision.
    [descriptor.get() setOptimizationLevel:MPSGraphOptimizationLevel0];
    [descriptor.get() setWaitForCompilationCompletion:YES];
    code_->executable =
        retain([code_->graph.get() compileWithDevice:device_.graph.get()
                                               feeds:feeds
                                       targetTensors:targets
                                    targetOperations:nil
                               compilationDescriptor:descriptor.get()]);
    if (!code_->executable.get()) return;
    NSArray<MPSGraphTensor*>* inputs = [code_->executable.get() feedTensors];
    NSArray<MPSGraphTensor*>* results = [code_->executable.get() targetTensors];
    code_->inputs = order(inputs, feeds_);
    code_->results = order(results, targets_);
    // It may do without a feed that nothing needs.
    is_complete_ = code_->inputs.size() == [inputs count] &&
                   code_->results.size() == [results count] &&
                   code_->results.size() == targets_.size();
  }

  /// The executable has an order of its own, found by tensor.
  static std::vector<GraphCode::Tensor> order(
      NSArray<MPSGraphTensor*>* tensors, const std::vector<Border>& borders) {
    std::vector<GraphCode::Tensor> ordered;
    for (MPSGraphTensor* tensor in tensors) {
      for (const Border& border : borders) {
        if (border.tensor.get() != tensor) continue;
        ordered.push_back({border.arg, border.desc.size_bytes(),
                           retain(ns_shape(border.desc.shape)),
                           mps_data_type(border.desc.data_type)});
      }
    }
    return ordered;
  }

  [[noreturn]] void fail_node(const std::string& reason) const {
    if (current_ < 0) fail_compile(reason);
    const Node& node = program_.node(current_);
    throw UnsupportedError(ErrorInfo{.op = node.op->name,
                                     .node = node.name,
                                     .what = "MPSGraph refused this op",
                                     .expected = {},
                                     .got = reason,
                                     .hint = "Compile for device \"cpu\"."});
  }

  [[noreturn]] void fail_size() const {
    const Node& node = program_.node(current_);
    throw UnsupportedError(ErrorInfo{
        .op = node.op->name,
        .node = node.name,
        .what = "computing this op takes a tensor that is too large for "
                "MPSGraph",
        .expected = "at most " + std::to_string(device_.limits.max_elements) +
                    " elements and " +
                    std::to_string(device_.limits.max_tensor_bytes) + " bytes",
        .got = too_large_,
        .hint = "Use a smaller batch, or compile for device \"cpu\"."});
  }

  [[noreturn]] void fail_compile(const std::string& reason) const {
    throw DeviceError(ErrorInfo{.op = "compile",
                                .node = label_of(program_, unit_),
                                .what = "MPSGraph did not compile these layers",
                                .expected = {},
                                .got = reason,
                                .hint = "Compile for device \"cpu\"."});
  }

  const GpuDevice& device_;
  const Program& program_;
  const GpuUnit& unit_;
  const UnitArgs& args_;
  std::unique_ptr<GraphCode> code_ = std::make_unique<GraphCode>();
  std::vector<Border> feeds_, targets_;
  NodeId current_ = -1;
  std::string too_large_;
  bool is_complete_ = false;
};

}  // namespace

std::unique_ptr<GraphCode> compile_graph(const GpuDevice& device,
                                         const Program& program,
                                         const GpuUnit& unit,
                                         const UnitArgs& args) {
  return GraphCompiler(device, program, unit, args).run();
}

std::vector<MetalUnitCode::WriteBack> write_backs(const Program& program,
                                                  const GpuUnit& unit,
                                                  const UnitArgs& args) {
  if (kFeedAndTargetMayAlias) return {};
  std::vector<MetalUnitCode::WriteBack> writes;
  for (std::size_t i = 0; i < unit.updated.size(); ++i) {
    writes.push_back({args.news[i], args.variables[i],
                      program.desc(unit.updated[i]).size_bytes(),
                      args.are_deferred[i]});
  }
  return writes;
}

}  // namespace traingraph::metal
