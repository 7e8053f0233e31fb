// SPDX-License-Identifier: MIT
// Fifty steps of the digits network on real scans: on the test device in one
// piece, on the CPU in phases, from the same parameters. How far they may come
// apart is in digits_tolerance.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "training/digits_net.h"
#include "training/digits_tolerance.h"

namespace traingraph::testing {
namespace {

/// What dropout let through, of what was not zero before.
std::vector<int> mask_of(const ExecutionResult& result) {
  const Floats before = floats_of(result.output("before"));
  const Floats after = floats_of(result.output("after"));
  std::vector<int> mask;
  for (std::size_t i = 0; i < before.size(); ++i) {
    mask.push_back(before[i] == 0 ? -1 : after[i] != 0);
  }
  return mask;
}

void expect_same_masks(const ExecutionResult& got,
                       const ExecutionResult& expected) {
  const auto one = mask_of(got), other = mask_of(expected);
  ASSERT_EQ(one.size(), other.size());
  int num_compared = 0, num_dropped = 0, num_different = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    // A ReLU may differ where its argument is nearly zero.
    if (one[i] < 0 || other[i] < 0) continue;
    ++num_compared;
    num_dropped += other[i] == 0;
    num_different += one[i] != other[i];
  }
  EXPECT_EQ(num_different, 0);
  EXPECT_NEAR(num_dropped, 0.25 * num_compared, 0.06 * num_compared);
}

/// Reads all elements of all tensors, one after the other.
Floats read_all(const std::vector<Tensor>& tensors) {
  Floats all;
  for (const Tensor& tensor : tensors) {
    const Floats values = read(tensor);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// How far two networks are apart, element by element; NaN counts as infinity.
struct Apart {
  Apart(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    const Floats x = read_all(a), y = read_all(b);
    Doubles all;
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double apart = std::abs(double{x[i]} - y[i]);
      all.push_back(std::isnan(apart) ? HUGE_VAL : apart);
      squares += all.back() * all.back();
    }
    std::ranges::sort(all);
    median = all.at(all.size() / 2);
    largest = all.back();
    root_mean_square = std::sqrt(squares / static_cast<double>(all.size()));
  }
  double median, root_mean_square, largest;
};

class DigitsTraining : public ::testing::Test {
 protected:
  /// What a step has on every device, whatever it computes.
  void expect_complete(const ExecutionResult& result, int step) {
    ASSERT_TRUE(result.has_loss());
    ASSERT_EQ(result.outputs().size(), 3u);
    const Shape hidden{kBatch, 64 * 2 * 2}, classes{kBatch, kClasses};
    EXPECT_EQ(result.output("before").descriptor.shape, hidden);
    EXPECT_EQ(result.output("after").descriptor.shape, hidden);
    EXPECT_EQ(result.output("logits").descriptor.shape, classes);
    EXPECT_EQ(net.t->random_step(), static_cast<std::uint64_t>(step));
    EXPECT_EQ(net.optimizer()->time_step(),
              static_cast<std::uint64_t>(step + 1));
    EXPECT_EQ(net.t->compile_count(), 1);
    const MemoryReport memory = net.t->memory();
    EXPECT_EQ(memory.allocated_bytes, predicted_bytes);
    EXPECT_EQ(memory.predicted_bytes, predicted_bytes);
  }

  void expect_zeros(const ExecutionResult& result) {
    EXPECT_EQ(result.loss(), 0);
    for (const OutputView& output : result.outputs()) {
      const Floats values = floats_of(output);
      EXPECT_EQ(values, Floats(values.size(), 0.0f)) << output.name;
    }
  }

  void expect_near_the_cpu(const ExecutionResult& got,
                           const ExecutionResult& expected, int step) {
    expect_same_masks(got, expected);
    const double loss = std::abs(double{got.loss()} - expected.loss());
    EXPECT_LE(loss, loss_tolerance(apart));
    const Apart now(net.parameters(), cpu.parameters());
    EXPECT_LE(now.median, median_tolerance(step));
    EXPECT_LE(now.root_mean_square, root_mean_square_tolerance(step));
    EXPECT_LE(now.largest, adam_bound(step));
    const Apart biases(net.biases_before_norms(), cpu.biases_before_norms());
    EXPECT_LE(biases.largest, adam_bound(step));
    const Apart variances(net.variances(), cpu.variances());
    EXPECT_LE(variances.largest, variance_tolerance(apart));
    std::printf("%2d: loss %.6f, apart %.1e (of %.1e); ", step, got.loss(),
                loss, loss_tolerance(apart));
    std::printf("median %.1e (%.1e), root mean square %.1e (%.1e), ",
                now.median, median_tolerance(step), now.root_mean_square,
                root_mean_square_tolerance(step));
    std::printf("largest %.1e and %.1e (%.1e), variances %.1e (%.1e)\n",
                now.largest, biases.largest, adam_bound(step),
                variances.largest, variance_tolerance(apart));
    apart = now.root_mean_square;
  }

  /// Scans of the batch that the network reads as labelled.
  int num_right(const ExecutionResult& result, int batch) {
    const auto read = classes_of(floats_of(result.output("logits")));
    const auto labelled = classes_of(data.labels(batch));
    int count = 0;
    for (int i = 0; i < kBatch; ++i) count += read[i] == labelled[i];
    return count;
  }

  const Digits data;
  DigitsNet cpu{Device::cpu()}, net{test_device(), &cpu};
  const std::size_t predicted_bytes =
      net.t->memory().total_bytes(/*with_step=*/true, /*with_phases=*/false,
                                  /*with_inference=*/false);
  double apart = 0;  // parameters after the last step, root mean square
};

TEST_F(DigitsTraining, FiftyStepsStayNearThoseOfTheCpu) {
  const Floats start = read_all(net.t->parameters());
  EXPECT_EQ(start, read_all(cpu.t->parameters()));
  int first = 0, last = 0;
  for (int step = 1; step <= kSteps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const int batch = step - 1;
    const ExecutionResult got = net.step(data, batch);
    expect_complete(got, step);
    if (!computes()) {
      expect_zeros(got);
      continue;
    }
    expect_near_the_cpu(got, cpu.step_in_phases(data, batch), step);
    // No batch comes twice: the network has not seen these scans before.
    if (step <= 10) first += num_right(got, batch);
    if (step > kSteps - 10) last += num_right(got, batch);
  }
  EXPECT_EQ(read_all(net.t->parameters()) != start, computes());
  std::printf("%d of 160 right, then %d\n", first, last);
  if (computes()) {
    EXPECT_GT(last, 2 * first);
  }
}

}  // namespace
}  // namespace traingraph::testing
