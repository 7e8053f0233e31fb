// SPDX-License-Identifier: MIT
// Buckets: gradients that processes exchange as one. The schedule is static, so
// it is known before the first step after which unit a bucket is complete, and
// which unit is the first to need the sum.
//
//   forward | gradient: dW3 ... dW2 ... dW1 | update: W3 W2 W1
//                          ^ send dW3  ^ send dW2   ^ wait for dW3
//
// Gradients lie in the order in which they become ready, and so do the updates
// that use them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/assemble.h"
#include "compiler/target.h"

namespace traingraph {

struct Bucket {
  std::vector<ValueId> gradients;  // in the order of their bytes
  /// Position of the last unit before the updates that touches one of them, or
  /// one of an earlier bucket: buckets are sent in order. -1: none does.
  int ready_after = -1;
  /// Position of the first update unit that reads one; the end: none does.
  int needed_before = 0;
};

/// What a bucket is called after: "head/weights ... stem/biases".
std::string first_and_last(std::span<const std::string_view> parameters);

/// What is trained, in the order in which the gradients become ready.
std::vector<TensorIndex> order_of_readiness(const Assembled& assembled);
/// The gradients of `tensors`, as far as there are some.
std::vector<ValueId> gradients_of(const Assembled& assembled,
                                  const std::vector<TensorIndex>& tensors);

/// Neighbours go together, up to `bytes`; one that is larger goes alone.
template <class SizeOf>
std::vector<std::vector<ValueId>> group_gradients(
    const std::vector<ValueId>& gradients, std::size_t bytes,
    const SizeOf& size_of) {
  std::vector<std::vector<ValueId>> groups;
  std::size_t room = 0;
  for (const ValueId gradient : gradients) {
    const std::size_t size = size_of(gradient);
    if (groups.empty() || size > room) {
      groups.emplace_back();
      room = bytes;
    }
    room -= std::min(room, size);
    groups.back().push_back(gradient);
  }
  return groups;
}

/// Neighbours share a bucket of at most `bytes`; a gradient that is larger has
/// one to itself. `order`, by phases, gets its update units sorted by the last
/// bucket that each of them needs. Shared statistics come before all buckets.
std::vector<Bucket> make_buckets(const LoweredProgram& lowered,
                                 const std::vector<ValueId>& gradients,
                                 std::size_t bytes, std::vector<UnitId>& order);

}  // namespace traingraph
