// SPDX-License-Identifier: MIT
// What a backend adds to the lowering that all backends share: its kernels,
// what it fuses, how it copies between layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "compiler/target.h"
#include "lowering/layout.h"

namespace traingraph {

class FusionSearch;
struct Fusions;
struct NodeCost;
class UnitBuilder;

/// Its arguments are the source, the target, and scratch memory if it wants
/// some.
struct CopyCode {
  std::unique_ptr<UnitCode> code;
  std::size_t scratch_bytes = 0;
};

class LoweringPolicy {
 public:
  virtual ~LoweringPolicy() = default;
  /// Makes the unit that begins with `unit`'s node by the kernel for `op`,
  /// which is that node's op or, where fusions say so, that of a later node.
  virtual void lower(OpKind op, UnitBuilder& unit) const = 0;
  /// Joins what kernels here compute together; `search` says what is legal.
  virtual Fusions find_fusions(FusionSearch search) const = 0;
  /// Do updates here compute a gradient that only they read
  /// (compiler/joined_gradients.h) from what it is made of?
  virtual bool joins_gradient(const Node&) const { return true; }
  /// Copies from one layout to another of the same sizes, perhaps of another
  /// type.
  virtual CopyCode copy(const Layout& from, const Layout& to) const = 0;
  /// Copies bytes as they are.
  virtual std::unique_ptr<UnitCode> copy_bytes(std::int64_t bytes) const = 0;
  /// Calls `make`, which makes code of this cost for `node`.
  virtual void make_code(const Node& node, const NodeCost& cost,
                         const std::function<void()>& make) const = 0;
  /// Nodes that are alike share the code that was made under one number, such
  /// as the threads that it is for.
  virtual std::int64_t code_variant() const { return 0; }
  /// Are products faster that may round operands of float32?
  virtual bool gains_by_rounding() const { return false; }
};

}  // namespace traingraph
