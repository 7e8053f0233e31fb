// SPDX-License-Identifier: MIT
// The arguments of compile() that concern other processes.
#pragma once

#include <optional>
#include <string>

#include "collective.h"
#include "traingraph/data_parallel.h"

namespace traingraph::python {

using BucketHook = Named<
    "collections.abc.Callable[[int, numpy.typing.NDArray[numpy.float32], "
    "list[str]], object]">;
using RankGradients = Named<"typing.Literal['by_loss', 'sum', 'mean']">;

/// What Python says of data-parallel training.
struct RankArguments {
  std::optional<CollectiveLike> collective;
  RankGradients gradients_of_ranks;
  std::size_t bucket_bytes;
  bool shard_optimizer;
  bool reduce_losses;
  bool synchronize_batch_norm;
  double collective_timeout;
  std::optional<BucketHook> on_bucket;
};

DataParallel to_data_parallel(const RankArguments& arguments);

}  // namespace traingraph::python
