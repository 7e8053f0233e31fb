// SPDX-License-Identifier: MIT
#include "metal/kernels/statistics.h"

#include <span>

namespace traingraph::metal {
namespace {

template <class Params>
KernelLaunch launch(Kernel kernel, const Params& params) {
  const auto bytes = std::as_bytes(std::span(&params, 1));
  return {.kernel = kernel,
          .num_threads = params.count,
          .params = {bytes.begin(), bytes.end()}};
}

}  // namespace

KernelLaunch launch_move_statistics(const MoveParams& params) {
  return launch(Kernel::MoveStatistics, params);
}

KernelLaunch launch_sum_rows(const SumParams& params) {
  return launch(Kernel::SumRows, params);
}

}  // namespace traingraph::metal
