// SPDX-License-Identifier: MIT
// Indices of the gather family and of losses: how they are stored, and the
// check that no kernel reads or writes outside of a tensor. Data of the host
// was checked before it came here; this is for what a graph computes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "cpu/float_types.h"
#include "cpu/parallel.h"
#include "traingraph/error.h"

namespace traingraph::cpu {

/// Calls use(I{}) with the C++ type of the indices, input `input`.
template <class Use>
void visit_index_type(const UnitBuilder& unit, int input, Use&& use) {
  const DataType type = unit.input_desc(input).data_type;
  if (type == DataType::Int32) return use(std::int32_t{});
  if (type == DataType::Int64) return use(std::int64_t{});
  fail_type(unit, type);
}

/// The indices of one node.
struct IndexCheck {
  std::int64_t count = 0;               // of indices
  std::int64_t num_positions = 0;       // they are 0 to num_positions - 1
  std::optional<std::int64_t> ignored;  // may be there, too
  std::string op, node, tensor;         // for the message

  IndexCheck(const UnitBuilder& unit, int input, std::int64_t num_positions)
      : count(unit.input_shape(input).num_elements()),
        num_positions(num_positions),
        op(unit.node().op->name),
        node(unit.node().name),
        tensor(unit.input_name(input)) {}

  template <class I>
  bool is_inside(I index) const {
    const auto at = static_cast<std::int64_t>(index);
    return (at >= 0 && at < num_positions) || at == ignored;
  }

  /// Throws InvalidArgument for the first one that is outside, of all or of
  /// `size` from `first` on.
  template <class I>
  void require(const I* at) const {
    std::atomic<bool> is_outside{false};
    parallel_for(count, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
      unsigned found = 0;
      for (std::int64_t i = begin; i < end; ++i) found |= !is_inside(at[i]);
      if (found != 0) is_outside.store(true, std::memory_order_relaxed);
    });
    if (is_outside.load(std::memory_order_relaxed)) require(at, 0, count);
  }
  template <class I>
  void require(const I* at, std::int64_t first, std::int64_t size) const {
    const I* end = at + first + size;
    const I* bad =
        std::find_if(at + first, end, [&](I i) { return !is_inside(i); });
    if (bad != end) fail(at, bad);
  }

 private:
  template <class I>
  [[noreturn]] void fail(const I* at, const I* bad) const {
    throw InvalidArgument(
        {.op = op,
         .node = node,
         .what = "element " + std::to_string(bad - at) + " of \"" + tensor +
                 "\" is no position",
         .expected = "0 to " + std::to_string(num_positions - 1),
         .got = std::to_string(*bad),
         .hint = "The graph computes these indices; clamp them."});
  }
};

}  // namespace traingraph::cpu
