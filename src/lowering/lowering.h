// SPDX-License-Identifier: MIT
// The walk over a program: storage per value and layout, reorders where a
// kernel wants a layout that does not exist yet. Kernel families see only
// a UnitBuilder.
//
// Invariants: the plain storage of a variable always holds its newest contents
// (kernels mutate it in place); copies in other layouts carry the version they
// were made from and are not used after a mutation. A copy is used only by
// nodes of its phase or later ones, so that each phase can run by itself. A
// view of a value (a reshape, a transpose) has the copies of that value, seen
// with another shape: none is made for it alone that the value could have, too.
#pragma once

#include <any>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/target.h"
#include "lowering/fusion_search.h"
#include "lowering/layout.h"

namespace traingraph {

class LoweringPolicy;

class Lowering {
 public:
  Lowering(const Program& program, const LowerOptions& options,
           const Target& target, const LoweringPolicy& policy);
  LoweredProgram run();

  const Program& program() const { return program_; }
  const LoweringPolicy& policy() const { return policy_; }
  bool is_used(ValueId value) const { return is_used_[value]; }
  bool follows_batch(ValueId value, int axis) const {
    return !batch_extents_.empty() && (batch_extents_[value] >> axis & 1) != 0;
  }
  /// Is the value kept, or read by a node that is not among `nodes`?
  bool is_needed_beyond(ValueId value, std::span<const NodeId> nodes) const;
  /// The node that may be fused into the unit of node `id`; -1: none.
  NodeId fused_with(NodeId id) const { return fusions_.next[id]; }
  /// The node that computes node `id`, whose result it reads, on its way; -1:
  /// none.
  NodeId computed_by(NodeId id) const { return fusions_.reader[id]; }
  /// May products round operands of float32?
  bool rounds_operands() const { return rounds_operands_; }
  /// `value` is `source` in another type: made by the reorders that readers
  /// ask for. False where the source may change before them, or is kept in
  /// memory for nothing else.
  bool defer_cast(ValueId value, ValueId source);
  /// Node `id` is computed by another node's unit: it gets none of its own.
  void mark_fused(NodeId id) { is_fused_[id] = true; }
  /// Nodes that were made to read `value` read `other` instead.
  void forward(ValueId value, ValueId other) { forwarded_[value] = other; }
  /// What is read for `value`: itself, unless a fusion forwarded it.
  ValueId forwarded(ValueId value) const { return forwarded_[value]; }
  const Layout& plain(ValueId value) { return plain(program_.desc(value)); }
  const Layout& plain(const TensorDescriptor& desc) { return plain_.of(desc); }
  /// The name of a layout of this value, for reports.
  std::string layout_text(ValueId value, const Layout& layout) const;
  /// The layout that its producer gave it; plain when that has other axes (a
  /// grouped weight gradient has five).
  Layout layout(ValueId value);
  /// Storage that holds `value` in `layout`, for node `user`; a reorder in the
  /// user's phase makes it if it does not exist yet.
  StorageId in_layout(ValueId value, const Layout& layout, NodeId user);
  StorageId add_result(ValueId value, const Layout& layout, Phase phase);
  StorageId add_opaque(ValueId value, std::size_t bytes, const Layout& layout);
  /// Throws InternalError unless an op `maker` made it, of this many bytes.
  StorageId opaque(ValueId value, OpKind maker, std::size_t bytes) const;
  Layout opaque_layout(ValueId value) const { return states_[value].produced; }
  StorageId add_storage(std::size_t bytes, std::string name);
  std::any& shared(std::vector<std::int64_t> key) {
    return shared_[std::move(key)];
  }
  void add_alias(ValueId value, StorageId storage, Phase phase);
  /// `value` is `source` seen with another shape, in whatever layout that is.
  /// False where one of them changes, or an update reads the value: that takes
  /// a storage as it is in its own phase. With `axes` it is transposed: axis i
  /// is that axis of the source.
  bool add_view(ValueId value, ValueId source, const Shape& axes = {});
  void add_unit(Unit unit) { lowered_.units.push_back(std::move(unit)); }
  void bump_version(ValueId value) { ++states_[value].version; }

  /// Does the storage outlive the units (input, variable, constant)?
  bool is_persistent(StorageId storage) const;
  /// Will a node change the contents of this storage's variable?
  bool is_mutated(StorageId storage) const;

 private:
  struct Copy {
    Layout layout;
    StorageId storage;
    int version;
    Phase phase;
  };
  struct State {
    Layout produced;  // the layout that its producer chose
    std::vector<Copy> copies;
    int version = 0;
    ValueId cast_from = kNoValue;  // deferred: there may be no copy yet
    ValueId view_of = kNoValue;    // whose copies it sees
    Shape view_axes = {};  // by which it is transposed; empty: it is not
  };

  const Copy* find(ValueId value, const Layout& layout, Phase phase) const;
  bool is_current(ValueId value, const Copy& copy) const;
  /// What a new copy in `layout` is made from.
  Copy source_of(ValueId value, const Layout& layout, NodeId user);
  /// Layouts of a view and of what it is a view of, of the same bytes; empty
  /// where there is none.
  Layout seen_as_view(ValueId value, const Layout& of_viewed) const;
  Layout seen_as_viewed(ValueId value, const Layout& of_view) const;
  /// That of the value which `value` is a view of; -1: it has no such layout.
  StorageId in_layout_of_viewed(ValueId value, const Layout& layout,
                                NodeId user);
  const Copy& add_copy(ValueId value, const Layout& layout, Phase phase);
  void reorder(ValueId value, const Copy& from, const Copy& to, NodeId user);

  void lower(NodeId id);
  void lower_host(NodeId id);

  const Program& program_;
  const Target& target_;
  const LoweringPolicy& policy_;
  bool rounds_operands_;
  const BatchExtents& batch_extents_;
  LoweredProgram lowered_;
  PlainLayouts plain_;
  std::map<std::vector<std::int64_t>, std::any> shared_;
  std::vector<State> states_;
  std::vector<bool> is_used_, is_kept_, is_mutated_;
  Readers readers_;
  Fusions fusions_;
  std::vector<bool> is_fused_;      // by node: another unit computes it
  std::vector<ValueId> forwarded_;  // by value
};

/// Lowers every node of `program` in its order. Throws UnsupportedError naming
/// op and node.
LoweredProgram lower_program(const Program& program,
                             const LowerOptions& options, const Target& target,
                             const LoweringPolicy& policy);

}  // namespace traingraph
