// SPDX-License-Identifier: MIT
#include "runtime/exchange/shards.h"

#include <algorithm>
#include <cstring>

namespace traingraph {
namespace {

/// Calls copy(bytes of a span, their place in the piece).
template <class Copy>
void for_each_part(const ByteSpans& spans, std::size_t begin, std::size_t size,
                   const Copy& copy) {
  std::size_t place = 0;
  for (std::span<std::byte> span : spans) {
    if (begin >= span.size()) {
      begin -= span.size();
      continue;
    }
    span = span.subspan(begin);
    begin = 0;
    span = span.first(std::min(span.size(), size - place));
    copy(span, place);
    place += span.size();
    if (place == size) return;
  }
}

}  // namespace

void copy_from(const ByteSpans& spans, std::size_t begin,
               std::span<std::byte> to) {
  for_each_part(spans, begin, to.size(),
                [&](std::span<std::byte> span, std::size_t place) {
                  std::memcpy(to.data() + place, span.data(), span.size());
                });
}

void copy_to(const ByteSpans& spans, std::size_t begin,
             std::span<const std::byte> from) {
  for_each_part(spans, begin, from.size(),
                [&](std::span<std::byte> span, std::size_t place) {
                  std::memcpy(span.data(), from.data() + place, span.size());
                });
}

BoundShards bind_shards(const MergedGraph& graph, const Placement& placement,
                        const LinkedParts& linked) {
  BoundShards shards;
  if (!graph.shards || !graph.update) return shards;
  shards.context = placement.context();
  for (const TensorIndex tensor : graph.trainable) {
    shards.parameters.push_back(placement.of(tensor)->locate());
  }
  for (int rank = 0; rank < graph.shards->num_ranks(); ++rank) {
    ByteSpans& spans = shards.of_rank.emplace_back();
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < graph.trainable.size(); ++i) {
      const ElementRange range = graph.shards->of(i, rank);
      if (range.empty()) continue;
      const TensorIndex tensor = graph.trainable[i];
      if (linked.skips_update(tensor)) continue;
      const std::size_t size = size_of(graph.tensors[tensor].desc.data_type);
      std::byte* const begin =
          placement.context()->host_view(placement.of(tensor)->locate());
      spans.push_back({begin + static_cast<std::size_t>(range.begin) * size,
                       static_cast<std::size_t>(range.size()) * size});
      bytes += spans.back().size();
    }
    shards.longest_bytes = std::max(shards.longest_bytes, bytes);
  }
  return shards;
}

}  // namespace traingraph
