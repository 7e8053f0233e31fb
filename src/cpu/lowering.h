// SPDX-License-Identifier: MIT
// How a CPU op becomes units. A kernel family sees one NodeLowering per node:
// it asks for inputs in the layout it wants, declares its results' layouts,
// and emits one closure. Reorders between layouts are inserted here, once per
// (value, layout).
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cpu/cpu_target.h"
#include "cpu/layout.h"
#include "graph/op_def.h"

namespace traingraph::cpu {

/// A kernel bound to its addresses. Calling it allocates nothing.
using BoundKernel = std::function<void()>;
/// Called once per binding with one address per argument, in the order in
/// which the node asked for them.
using KernelFactory = std::function<BoundKernel(std::span<std::byte* const>)>;

struct CpuUnitCode : UnitCode {
  KernelFactory bind;
};

class Lowering;

/// The argument to write it to, and its type.
struct BiasGradient {
  int arg;
  DataType data_type;
};

class NodeLowering {
 public:
  NodeLowering(Lowering& lowering, NodeId id);

  const Node& node() const;
  template <class Attrs>
  const Attrs& attrs() const {
    return std::get<Attrs>(node().attrs);
  }
  bool has(int input) const;
  const TensorDescriptor& input_desc(int input) const;
  const TensorDescriptor& result_desc(int result = 0) const;
  /// Of the tensor that input `i` is, for messages.
  const std::string& input_name(int input) const;
  const Shape& input_shape(int input) const { return input_desc(input).shape; }
  const Shape& result_shape(int r = 0) const { return result_desc(r).shape; }
  /// False when neither a node nor the host reads this result.
  bool is_used(int result) const;

  /// The activation f that may be fused with this node: the only reader of
  /// result 0, but for f's gradient; null: none.
  const ActivationAttrs* next_activation() const;
  /// Fuses it: result 0 is then f(x) instead of x, and f's gradient, which was
  /// made to read x, gets f(x) (see reads_activated()).
  void fuse_activation();
  /// Was input `i`, made to be x, forwarded to f(x) by fuse_activation()?
  bool reads_activated(int input) const;
  /// Is the next node that may be fused a cast from 16 bits to float32?
  bool has_next_cast() const;
  /// Fuses it: result 0 is then float32, without having been rounded.
  void fuse_cast();
  /// Of a cast: leaves it to the reorders to what its readers want, if there
  /// may be some and the source stays as it is; or else does nothing.
  bool defer_cast();
  /// Fuses the next node (fusion.h); empty: there is none. It gets no unit of
  /// its own: what it reads and writes are arguments of this node's unit.
  std::optional<NodeLowering> join_next();
  /// Fuses the node whose result input `i` is, if the walk says so (its result
  /// is then never in memory); empty: it does not.
  std::optional<NodeLowering> join_producer(int input);
  /// Does the host, or a node outside of this unit, read this result?
  bool outlives_unit(int result) const;
  /// Of a convolution's weights gradient: fuses the gradient of the bias
  /// (fusion.h); empty: there is none.
  std::optional<BiasGradient> write_bias_gradient();
  /// May products round what they multiply?
  bool rounds_operands() const;

  /// The layout that input `i` has now (plain unless its producer chose one).
  Layout layout(int input) const;
  /// Plain row-major layout of a descriptor.
  const Layout& plain(const TensorDescriptor& desc) const;

  // Arguments, in the order in which the kernel factory gets them. Each call
  // returns the argument's index.
  int read(int input);  // in plain layout
  int read(int input, const Layout& layout);
  int mutate(int input);      // a variable; plain
  int write(int result = 0);  // in plain layout
  int write(int result, const Layout& layout);
  /// An opaque result (state for the gradient op) of this many bytes. `layout`
  /// is a note to the gradient op, which finds it with opaque_layout().
  int write_opaque(int result, std::size_t bytes, const Layout& layout = {});
  /// Throws InternalError unless an op `maker` wrote it, of this many bytes.
  int read_opaque(int input, OpKind maker, std::size_t bytes);
  Layout opaque_layout(int input) const;
  int scratch(std::size_t bytes);

  /// Result `r` may overwrite input `i`: both must have been asked for with
  /// layouts of equal size.
  void may_run_in_place(int result, int input);
  /// The same for two arguments of the unit, of any of its nodes.
  void may_overwrite(int output_arg, int input_arg);
  /// Are two arguments the same memory?
  bool share_storage(int arg, int other_arg) const;
  /// Result `r` is input `i` seen with another shape; no unit is emitted. The
  /// input is brought to plain layout first.
  void alias(int result, int input);

  /// What nodes of this op and key have in common: make() of the first one.
  /// The key must hold all that make() looks at.
  template <class Make>
  auto shared(std::span<const std::int64_t> key, Make make) -> const
      decltype(make())& {
    std::any& slot = shared_slot(key);
    if (!slot.has_value()) slot = make();
    return std::any_cast<const decltype(make())&>(slot);
  }

  /// For reports: how the unit keeps what it writes.
  void describe(std::string layout) { draft_->unit.layout = std::move(layout); }
  /// Ends the lowering of this node.
  void emit(KernelFactory bind);

 private:
  ValueId input_value(int input) const;
  ValueId result_value(int result) const;
  int write_value(ValueId value, const Layout& layout);
  std::any& shared_slot(std::span<const std::int64_t> key);

  /// The unit that is being built, shared by the nodes that it computes.
  struct Draft {
    Unit unit;
    std::vector<ValueId> mutated;
  };
  NodeLowering(Lowering& lowering, NodeId id, std::shared_ptr<Draft> draft);
  void emit_code(std::unique_ptr<CpuUnitCode> code);
  /// The node that the last one of the unit is fused with; -1: none.
  NodeId next_fused() const;
  /// Adds it to the unit.
  NodeId join();

  Lowering* lowering_;
  NodeId id_;
  std::shared_ptr<Draft> draft_;
  std::vector<int> input_arg_;   // last argument of each input; -1: none
  std::vector<int> result_arg_;  // and of each result
};

/// Lowers every node in order; what CpuTarget::lower() does.
LoweredProgram lower_program(const Program& program,
                             const LowerOptions& options,
                             const CpuTarget& target, int num_threads);

/// One row of the kernel table.
using LowerFunction = void (*)(NodeLowering&);
/// Table entry for each OpKind; the families define the functions as
/// `void lower_<name>(NodeLowering&)` in cpu/ops/<family>.cpp.
LowerFunction lower_function(OpKind kind);
/// Can it run with floats of 16 bits that are of this type?
bool has_half_kernels(const Node& node, DataType type);

#define OP(Kind, name, Attrs) void lower_##name(NodeLowering&);
#include "traingraph/ops.inc"
#undef OP

}  // namespace traingraph::cpu
