// SPDX-License-Identifier: MIT
#include "cpu/cblas/bias_gradient.h"

#include <algorithm>

#include "cpu/parallel.h"
#include "traingraph/error.h"

namespace traingraph::cpu {
namespace {

/// Terms of a sum in float32 before it joins one in double.
constexpr std::int64_t kTerms = 1024;

double sum_of(const float* x, std::int64_t n) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kTerms) {
    const std::int64_t end = std::min(begin + kTerms, n);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i) sum += x[i];
    total += sum;
  }
  return total;
}

}  // namespace

int fuse_bias_gradient(UnitBuilder& unit) {
  const auto bias = unit.fusion().write_bias_gradient();
  if (!bias) return -1;
  if (bias->data_type != DataType::Float32) {
    throw InternalError(
        ErrorInfo{.op = unit.node().op->name,
                  .node = unit.node().name,
                  .what = "a bias gradient of float32 was expected",
                  .got = std::string(to_string(bias->data_type))});
  }
  return bias->arg;
}

void add_up_channels(const ConvolutionSizes& s, const float* gradient,
                     float* to) {
  if (!to) return;
  const std::int64_t channels = s.groups * s.out, size = s.out_size();
  parallel_for(
      channels, std::max<std::int64_t>(1, kCheapGrain / (s.images * size)),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t channel = begin; channel < end; ++channel) {
          double sum = 0;
          for (std::int64_t n = 0; n < s.images; ++n) {
            sum += sum_of(gradient + (n * channels + channel) * size, size);
          }
          to[channel] = static_cast<float>(sum);
        }
      },
      /*multiple=*/1);
}

}  // namespace traingraph::cpu
