// SPDX-License-Identifier: MIT
// Numbers do not depend on the thread that compiles or executes, whatever it
// has set for itself.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "support/training.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace traingraph {
namespace {

using namespace testing;

using Compile = std::function<void()>;

/// What three steps of a convolution with batch normalization leave behind.
/// `in` compiles.
Floats trained(const std::function<void(const Compile&)>& in) {
  const Shape shape{8, 16, 14, 14};
  const Floats x_data = random_floats(shape.num_elements(), 1);
  const Floats label_data = random_floats(shape.num_elements(), 2);
  const Floats w_data = random_floats(16 * 16 * 3 * 3, 3);
  Tensor x({shape}, "x"), label({shape}, "label");
  const Tensor w({{16, 16, 3, 3}}, view(w_data), "w");
  Graph graph;
  const Tensor y =
      graph.node(std::make_shared<layers::Convolution>(
                     ConvolutionDescriptor{.kernel_size = {3, 3},
                                           .input_feature_channel_count = 16,
                                           .output_feature_channel_count = 16},
                     WeightOptions{.weights = w, .uses_biases = false}),
                 x);
  const auto norm = std::make_shared<layers::BatchNormalization>(16);
  graph.node(norm, y);
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(0.1f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  in([&] { t.compile(Device::cpu()); });
  for (int step = 0; step < 3; ++step) {
    t.execute({{"x", view(x_data)}}, {{"label", view(label_data)}}).wait();
  }
  Floats values = read(w);
  const Floats mean = read(norm->mean());
  values.insert(values.end(), mean.begin(), mean.end());
  return values;
}

TEST(CompilingThread, DoesNotChangeTheNumbers) {
  const Floats expected = trained([](const Compile& compile) { compile(); });
  const Floats elsewhere =
      trained([](const Compile& compile) { std::thread(compile).join(); });
  EXPECT_EQ(elsewhere, expected);
}

#if defined(__x86_64__)
#define HAS_FLOAT_CONTROL 1
constexpr unsigned kFlushesToZero = 0x8040;  // also denormals that are read

unsigned float_control() { return _mm_getcsr(); }
void set_float_control(unsigned control) { _mm_setcsr(control); }
#elif defined(__aarch64__)
#define HAS_FLOAT_CONTROL 1
constexpr std::uint64_t kFlushesToZero = 1 << 24;

std::uint64_t float_control() {
  std::uint64_t control = 0;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
  return control;
}
void set_float_control(std::uint64_t control) {
  __asm__ __volatile__("msr fpcr, %0" : : "r"(control));
}
#endif

#ifdef HAS_FLOAT_CONTROL
void flush_to_zero(bool flushes) {
  const auto others = float_control() & ~kFlushesToZero;
  set_float_control(flushes ? others | kFlushesToZero : others);
}

TEST(CallingThread, KeepsDenormals) {
  constexpr std::int64_t kSize = 1 << 16;  // for the whole thread pool
  const Tensor x({{kSize}}, "x");
  Graph graph;
  const Tensor y = graph.node(
      std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add), {x, x});
  InferenceGraph inference({graph});
  inference.add_inputs({{"x", x}});
  inference.add_outputs({{"y", y}});
  inference.compile(Device::cpu());
  const Floats denormal(kSize, 0x1p-130f), doubled(kSize, 0x1p-129f);
  flush_to_zero(true);
  const Execution run =
      inference.execute({{"x", view(denormal)}}, {.synchronous = true});
  EXPECT_EQ(float_control() & kFlushesToZero, kFlushesToZero);
  flush_to_zero(false);
  EXPECT_EQ(floats_of(run.result().output("y")), doubled);
}
#endif

}  // namespace
}  // namespace traingraph
