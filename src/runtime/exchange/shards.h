// SPDX-License-Identifier: MIT
// What each process updates of the parameters, and the memory in which it goes
// to the others: in pieces, as parameters lie anywhere, and shards are not of
// one size.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/memory/placement.h"
#include "runtime/plans/linked_parts.h"

namespace traingraph {

/// Bytes that are one after the other for the exchange alone.
using ByteSpans = std::vector<std::span<std::byte>>;

/// As far as there are bytes behind `begin`.
void copy_from(const ByteSpans& spans, std::size_t begin,
               std::span<std::byte> to);
void copy_to(const ByteSpans& spans, std::size_t begin,
             std::span<const std::byte> from);

struct BoundShards {
  std::vector<ByteSpans> of_rank;
  std::vector<Location> parameters;  // that they are parts of
  std::shared_ptr<const DeviceContext> context;
  std::size_t longest_bytes = 0;
};

/// Empty when the optimizer is not sharded, and without parameters whose
/// update is left out.
BoundShards bind_shards(const MergedGraph& graph, const Placement& placement,
                        const LinkedParts& linked = {});

}  // namespace traingraph
