// SPDX-License-Identifier: MIT
// Is the GPU at least as fast as max_gpu_ms takes it to be? The best of
// several runs, because clocks have to come up first.

#include "metal/gpu_limits.h"
#import "tests/metal_probes/half_lab.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

std::string compare(double rate, double assumed, const char* unit) {
  return std::string(rate >= assumed ? "at least" : "less than") +
         " as assumed: " + text(static_cast<float>(rate / 1e9)) + " of " +
         text(static_cast<float>(assumed / 1e9)) + " G" + unit + "/s";
}

std::string flops() {
  constexpr std::int64_t kSide = 2048;
  Lab lab;
  const Numbers ones(kSide * kSide, 1);
  T product = [lab.graph()
      matrixMultiplicationWithPrimaryTensor:lab.input(ones, {kSide, kSide})
                            secondaryTensor:lab.input(ones, {kSide, kSide})
                                       name:@"product"];
  const double work = 2.0 * kSide * kSide * kSide;
  return compare(work / lab.best_seconds(product, 20),
                 GpuLimits{}.flops_per_second, "flop");
}

double seconds_of_product(MPSDataType type) {
  constexpr std::int64_t kSide = 2048;
  Lab lab;
  const Numbers ones(kSide * kSide, 1);
  T product = [lab.graph()
      matrixMultiplicationWithPrimaryTensor:lab.input(ones, {kSide, kSide},
                                                      type)
                            secondaryTensor:lab.input(ones, {kSide, kSide},
                                                      type)
                                       name:@"product"];
  return lab.best_seconds(product, 20);
}

std::string product_speed(MPSDataType type) {
  const double single = seconds_of_product(MPSDataTypeFloat32);
  return text(static_cast<float>(single / seconds_of_product(type))) +
         " times that of float32";
}

std::string bytes() {
  constexpr std::int64_t kCount = 16 << 20;
  Lab lab;
  T x = lab.input(Numbers(kCount, 1)), y = lab.input(Numbers(kCount, 2));
  T sum = [lab.graph() additionWithPrimaryTensor:x
                                 secondaryTensor:y
                                            name:@"sum"];
  const double work = 3.0 * kCount * sizeof(float);
  return compare(work / lab.best_seconds(sum, 20), GpuLimits{}.bytes_per_second,
                 "byte");
}

}  // namespace

std::vector<Probe> speed_probes() {
  return {
      {.name = "flops",
       .question = "speed of matrix products",
       .answer = flops,
       .weight = Weight::Reliance,
       .expected = {"at least"},
       .remedy = {.constant = "flops_per_second",
                  .value = "the smaller number of the answer"}},
      {.name = "bytes",
       .question = "speed of reading and writing",
       .answer = bytes,
       .weight = Weight::Reliance,
       .expected = {"at least"},
       .remedy = {.constant = "bytes_per_second",
                  .value = "the smaller number of the answer"}},
      {.name = "half_speed",
       .question = "speed of matrix products of float16",
       .answer = of_half<product_speed>},
      {.name = "bfloat_speed",
       .question = "speed of matrix products of bfloat16",
       .answer = of_bfloat<product_speed>,
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
