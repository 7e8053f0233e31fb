// SPDX-License-Identifier: MIT
#include "runtime/exchange/data_parallel.h"

#include "compiler/distribution/shard_optimizer.h"
#include "runtime/device/device_context.h"
#include "traingraph/error.h"

namespace traingraph {

void require_data_parallel(const Device& device, const DataParallel& options) {
  const auto fail = [](const char* option, const char* what, std::string got) {
    throw InvalidArgument(ErrorInfo{
        .op = "compile", .node = option, .what = what, .got = std::move(got)});
  };
  if (options.gradients_of_ranks == GradientAccumulation::None) {
    fail("gradients_of_ranks", "gradients of processes are summed or averaged",
         "none");
  }
  if (options.bucket_bytes == 0) fail("bucket_bytes", "must be positive", "0");
  if (!(options.collective_timeout > 0)) {
    fail("collective_timeout", "must be positive",
         std::to_string(options.collective_timeout));
  }
  if (options.collective) {
    const int rank = options.collective->rank();
    const int size = options.collective->size();
    if (rank < 0 || rank >= size) {
      fail("collective", "its rank is not below its size",
           std::to_string(rank) + " of " + std::to_string(size));
    }
  }
  const bool exchanges = options.collective || options.on_bucket;
  if (!exchanges || device.context()->reaches_marks()) return;
  throw UnsupportedError(
      ErrorInfo{.op = "compile",
                .node = options.collective ? "collective" : "on_bucket",
                .what = "this device exchanges no gradients",
                .expected = "Device \"cpu\""});
}

std::shared_ptr<Exchange> make_exchange(const DataParallel& options) {
  if (!options.collective && !options.on_bucket) return nullptr;
  return std::make_shared<Exchange>(options);
}

CollectiveOptions collective_options(const DataParallel& options) {
  if (!options.collective && !options.on_bucket) return {};
  return {.bucket_bytes = options.bucket_bytes,
          .synchronize_batch_norm = options.synchronize_batch_norm};
}

void take_shard(const Exchange* exchange, const Target& target,
                Merged& merged) {
  const bool is_asked = exchange && exchange->options().shard_optimizer;
  if (!is_asked || exchange->size() == 1) return;
  shard_optimizer(merged, target, exchange->rank(), exchange->size());
}

}  // namespace traingraph
