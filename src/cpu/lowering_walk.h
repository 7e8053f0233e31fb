// SPDX-License-Identifier: MIT
// The walk over a program: storage per value and layout, reorders where a
// kernel wants a layout that nobody made yet. Kernel families see only
// NodeLowering of lowering.h.
//
// Invariants: the plain storage of a variable always holds its newest contents
// (kernels mutate it in place); copies in other layouts carry the version they
// were made from and are not used after a mutation. A copy is used only by
// nodes of its phase or later ones, so that each phase can run by itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cpu/lowering.h"

namespace traingraph::cpu {

class Lowering {
 public:
  Lowering(const Program& program, const LowerOptions& options,
           const CpuTarget& target, int num_threads);
  LoweredProgram run();

  const Program& program() const { return program_; }
  bool is_used(ValueId value) const { return is_used_[value]; }
  /// Is it kept, or read by others than these nodes?
  bool is_needed_beyond(ValueId value, std::span<const NodeId> nodes) const;
  /// The node that may be computed along with another; -1: none.
  NodeId companion(NodeId id) const { return fusions_[id]; }
  /// `companion` gets no unit of its own.
  void fuse(NodeId companion) { is_fused_[companion] = true; }
  /// Whoever wants `value` gets `other`.
  void replace(ValueId value, ValueId other) { stand_in_[value] = other; }
  /// The value that stands for `value`: itself unless it was fused away.
  ValueId stand_in(ValueId value) const { return stand_in_[value]; }
  dnnl::memory::desc plain(ValueId value) const {
    return NodeLowering::plain(program_.desc(value));
  }
  /// The name of a layout of this value, for reports.
  std::string layout_text(ValueId value,
                          const dnnl::memory::desc& layout) const;
  /// The layout that its producer gave it; plain when that has other axes (a
  /// grouped weight gradient has five).
  dnnl::memory::desc layout(ValueId value) const;
  /// Storage that holds `value` in `layout`, made by a reorder if need be.
  StorageId in_layout(ValueId value, const dnnl::memory::desc& layout,
                      NodeId asker);
  StorageId add_result(ValueId value, const dnnl::memory::desc& layout,
                       Phase phase);
  StorageId add_opaque(ValueId value, std::size_t bytes,
                       dnnl::memory::desc layout);
  /// Throws InternalError unless an op `maker` made it, of this many bytes.
  StorageId opaque(ValueId value, OpKind maker, std::size_t bytes) const;
  dnnl::memory::desc opaque_layout(ValueId value) const {
    return states_[value].home;
  }
  StorageId add_storage(std::size_t bytes, std::string name);
  void add_alias(ValueId value, StorageId storage, Phase phase);
  void add_unit(Unit unit) { lowered_.units.push_back(std::move(unit)); }
  void bump_version(ValueId value) { ++states_[value].version; }

  /// Does the storage outlive the units (input, variable, constant)?
  bool is_persistent(StorageId storage) const;
  /// Will a node change the contents of this storage's variable?
  bool is_mutated(StorageId storage) const;

 private:
  struct Copy {
    dnnl::memory::desc layout;
    StorageId storage;
    int version;
    Phase phase;
  };
  struct State {
    dnnl::memory::desc home;
    std::vector<Copy> copies;
    int version = 0;
  };

  const Copy* find(ValueId value, const dnnl::memory::desc& layout,
                   Phase phase) const;
  bool is_current(ValueId value, const Copy& copy) const;
  const Copy& add_copy(ValueId value, const dnnl::memory::desc& layout,
                       Phase phase);
  void reorder(ValueId value, const Copy& from, const Copy& to, NodeId asker);

  void lower(NodeId id);

  const Program& program_;
  const CpuTarget& target_;
  int num_threads_;
  LoweredProgram lowered_;
  std::vector<State> states_;
  std::vector<bool> is_used_, is_kept_, is_mutated_;
  std::vector<std::vector<NodeId>> readers_;  // by value
  std::vector<NodeId> fusions_;               // by node
  std::vector<bool> is_fused_;     // by node: another unit computes it
  std::vector<ValueId> stand_in_;  // by value
};

}  // namespace traingraph::cpu
