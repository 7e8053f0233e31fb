// SPDX-License-Identifier: MIT
// How a node becomes units. A kernel family sees one UnitBuilder per node: it
// asks for inputs in the layout it wants, declares its results' layouts, and
// emits the unit's code. Reorders between layouts are inserted here, once per
// (value, layout). What else the unit may compute is asked of fusion().
#pragma once

#include <any>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "graph/op_def.h"
#include "lowering/layout.h"

namespace traingraph {

class FusionQuery;  // fusion_query.h
class Lowering;

class UnitBuilder {
 public:
  UnitBuilder(Lowering& lowering, NodeId id);

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
  /// Does this extent change with the batch size? Then code that is shared
  /// between sizes takes it as an argument; without batch sizes, none does.
  bool input_follows_batch(int input, int axis) const;
  bool result_follows_batch(int result, int axis) const;
  /// False when neither a node nor the host reads this result.
  bool is_used(int result) const;
  /// May products round what they multiply?
  bool rounds_operands() const;
  /// What may be computed along with this node.
  FusionQuery fusion();

  /// The layout that input `i` has now (plain unless its producer chose one).
  Layout layout(int input) const;
  /// Plain row-major layout of a descriptor.
  const Layout& plain(const TensorDescriptor& desc) const;

  // Arguments, in the order in which the unit's code gets them. Each call
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
  /// Result `r` is input `i` seen with another shape, in whatever layout that
  /// is; no unit is emitted.
  void alias(int result, int input);
  /// Result `r` is input `i` with axes in another order, as alias(). False
  /// where it has to be a copy; then nothing has happened.
  bool alias_transposed(int result, int input, const Shape& axes);

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
  void emit(std::unique_ptr<UnitCode> code);

 private:
  friend FusionQuery;

  /// The unit that is being built, shared by the nodes that it computes.
  struct Draft {
    Unit unit;
    std::vector<ValueId> mutated;
  };
  UnitBuilder(Lowering& lowering, NodeId id, std::shared_ptr<Draft> draft);

  ValueId input_value(int input) const;
  ValueId result_value(int result) const;
  int add_read(StorageId storage);
  int add_write(StorageId storage);
  int write_value(ValueId value, const Layout& layout);
  std::any& shared_slot(std::span<const std::int64_t> key);

  Lowering* lowering_;
  NodeId id_;
  std::shared_ptr<Draft> draft_;
  std::vector<int> input_arg_;   // last argument of each input; -1: none
  std::vector<int> result_arg_;  // and of each result
};

}  // namespace traingraph
