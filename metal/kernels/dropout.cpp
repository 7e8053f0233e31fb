// SPDX-License-Identifier: MIT
#include "metal/kernels/dropout.h"

#include <span>

namespace traingraph::metal {

float kept_scale(const DropoutAttrs& attrs) { return 1 / (1 - attrs.rate); }

DropoutParams dropout_params(const DropoutAttrs& attrs, std::int64_t count) {
  const auto seed = static_cast<std::uint64_t>(attrs.seed);
  DropoutParams params{};
  params.seed_lo = static_cast<std::uint32_t>(seed);
  params.seed_hi = static_cast<std::uint32_t>(seed >> 32);
  params.stream = static_cast<std::uint32_t>(attrs.stream);
  params.rate = attrs.rate;
  params.scale = kept_scale(attrs);
  params.count = static_cast<std::uint32_t>(count);
  return params;
}

KernelLaunch launch_dropout(Kernel kernel, const DropoutAttrs& attrs,
                            std::int64_t count) {
  const DropoutParams params = dropout_params(attrs, count);
  const auto bytes = std::as_bytes(std::span(&params, 1));
  return {.kernel = kernel,
          .num_threads = static_cast<std::size_t>((count + 3) / 4),
          .params = {bytes.begin(), bytes.end()}};
}

}  // namespace traingraph::metal
