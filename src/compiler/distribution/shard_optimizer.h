// SPDX-License-Identifier: MIT
// An optimizer whose buffers several processes shard.
#pragma once

#include "compiler/merge.h"
#include "compiler/target.h"

namespace traingraph {

/// Makes `merged` update the shard of `rank` and have buffers for that alone.
/// All processes must have merged the same graph.
void shard_optimizer(Merged& merged, const Target& target, int rank,
                     int num_ranks);

}  // namespace traingraph
