// SPDX-License-Identifier: MIT
#include "compiler/distribution/shard_optimizer.h"

#include "compiler/assemble.h"

namespace traingraph {

void shard_optimizer(Merged& merged, const Target& target, int rank,
                     int num_ranks) {
  MergedGraph& graph = merged.graph;
  // Parameters without a gradient must not count: whole layers may be frozen.
  const Assembled assembled = assemble(graph, {}, graph.batch, target);
  std::vector<std::int64_t> sizes;
  for (const TensorIndex tensor : graph.trainable) {
    const bool is_trained = assembled.find_trained(tensor) != nullptr;
    sizes.push_back(is_trained ? graph.tensors[tensor].desc.shape.num_elements()
                               : 0);
  }
  graph.shards.emplace(std::move(sizes), rank, num_ranks);
  set_optimizer(merged, merged.objects.optimizer, /*keeps_host_data=*/true);
}

}  // namespace traingraph
