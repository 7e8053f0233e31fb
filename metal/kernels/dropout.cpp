// SPDX-License-Identifier: MIT
#include "metal/kernels/dropout.h"

#include <span>

namespace traingraph::metal {

float kept_scale(const DropoutAttrs& attrs) { return 1 / (1 - attrs.rate); }

formulas::DropoutCall dropout_call(const DropoutAttrs& attrs,
                                   std::int64_t count) {
  return {.seed = static_cast<std::uint64_t>(attrs.seed),
          .stream = static_cast<std::uint32_t>(attrs.stream),
          .rate = attrs.rate,
          .scale = kept_scale(attrs),
          .count = static_cast<std::uint32_t>(count)};
}

KernelLaunch launch_dropout(Kernel kernel, const DropoutAttrs& attrs,
                            std::int64_t count) {
  const formulas::DropoutCall call = dropout_call(attrs, count);
  const auto bytes = std::as_bytes(std::span(&call, 1));
  return {.kernel = kernel,
          .num_threads = static_cast<std::size_t>((count + 3) / 4),
          .params = {bytes.begin(), bytes.end()}};
}

}  // namespace traingraph::metal
