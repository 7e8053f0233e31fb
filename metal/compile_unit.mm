// SPDX-License-Identifier: MIT
#include "metal/compile_unit.h"

#include <algorithm>
#include <mutex>

#import "metal/assumptions.h"
#import "metal/gpu_device.h"
#import "metal/graph_builder.h"
#import "metal/guard.h"
#import "metal/unit_code.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

DropoutParams dropout_params(const Mask& mask) {
  const auto seed = static_cast<std::uint64_t>(mask.attrs.seed);
  DropoutParams params{};
  params.seed_lo = static_cast<std::uint32_t>(seed);
  params.seed_hi = static_cast<std::uint32_t>(seed >> 32);
  params.stream = static_cast<std::uint32_t>(mask.attrs.stream);
  params.rate = mask.attrs.rate;
  params.scale = 1 / (1 - mask.attrs.rate);
  params.count = static_cast<std::uint32_t>(mask.shape.num_elements());
  return params;
}

/// Builds the graph of one unit and compiles it.
class UnitCompiler {
 public:
  UnitCompiler(const GpuDevice& device, const Program& program,
               const GraphUnit& unit, const UnitArgs& args)
      : device_(device), program_(program), unit_(unit), args_(args) {}

  std::unique_ptr<UnitCode> run() {
    code_->label = label_of(program_, unit_);
    UnitCompiler* self = this;  // blocks copy what they name
    const auto refused = run_guarded(^{
      self->build();
    });
    if (refused) fail_node(*refused);
    const auto failed = run_guarded(^{
      self->compile();
    });
    if (failed) fail_compile(*failed);
    if (!code_->executable.get()) fail_compile("no executable");
    if (!is_complete_) {
      fail_compile("the executable has other inputs or results than its graph");
    }
    add_kernels();
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
    GraphBuilder builder(program_, code_->graph.get());
    add_feeds(builder);
    for (NodeId id : unit_.nodes) {
      current_ = id;
      builder.begin(id);
      lower_function(program_.node(id).op->kind)(builder);
    }
    current_ = -1;
    for (std::size_t i = 0; i < unit_.targets.size(); ++i) {
      add_target(builder, unit_.targets[i], args_.targets[i]);
    }
    for (std::size_t i = 0; i < unit_.updated.size(); ++i) {
      add_target(builder, unit_.updated[i], args_.news[i]);
    }
  }

  void add_feeds(GraphBuilder& builder) {
    for (std::size_t i = 0; i < unit_.feeds.size(); ++i) {
      const ValueId value = unit_.feeds[i];
      feeds_.push_back(
          {retain(builder.feed(value)), program_.desc(value), args_.feeds[i]});
    }
    for (std::size_t i = 0; i < unit_.masks.size(); ++i) {
      const Mask& mask = unit_.masks[i];
      MPSGraphTensor* tensor = builder.feed_mask(mask.shape);
      for (NodeId id : mask.nodes) builder.masks[id] = tensor;
      feeds_.push_back(
          {retain(tensor), {mask.shape, DataType::Float32}, args_.masks[i]});
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
  static std::vector<MetalUnitCode::Tensor> order(
      NSArray<MPSGraphTensor*>* tensors, const std::vector<Border>& borders) {
    std::vector<MetalUnitCode::Tensor> ordered;
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

  void add_kernels() {
    code_->updates_variables = !unit_.updated.empty();
    for (std::size_t i = 0; i < unit_.masks.size(); ++i) {
      code_->masks.push_back(
          {args_.states[i], args_.masks[i], dropout_params(unit_.masks[i])});
    }
    if (kFeedAndTargetMayAlias) return;
    for (std::size_t i = 0; i < unit_.updated.size(); ++i) {
      code_->write_backs.push_back(
          {args_.news[i], args_.variables[i],
           program_.desc(unit_.updated[i]).size_bytes()});
    }
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

  [[noreturn]] void fail_compile(const std::string& reason) const {
    throw DeviceError(ErrorInfo{.op = "compile",
                                .node = code_->label,
                                .what = "MPSGraph did not compile these layers",
                                .expected = {},
                                .got = reason,
                                .hint = "Compile for device \"cpu\"."});
  }

  const GpuDevice& device_;
  const Program& program_;
  const GraphUnit& unit_;
  const UnitArgs& args_;
  std::unique_ptr<MetalUnitCode> code_ = std::make_unique<MetalUnitCode>();
  std::vector<Border> feeds_, targets_;
  NodeId current_ = -1;
  bool is_complete_ = false;
};

}  // namespace

std::unique_ptr<UnitCode> compile_unit(const GpuDevice& device,
                                       const Program& program,
                                       const GraphUnit& unit,
                                       const UnitArgs& args) {
  // MPSGraph does not say that graphs may be built on several threads.
  static auto* mutex = new std::mutex;
  std::scoped_lock lock(*mutex);
  return UnitCompiler(device, program, unit, args).run();
}

}  // namespace traingraph::metal
