// SPDX-License-Identifier: MIT
// Sums of 10^4 to 10^7 numbers whose mean is far from 0, against double. The
// limit is twice the error that a pairwise float32 sum of the same terms makes,
// and never less than twice the half unit in the last place that any float32
// result may be off.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "autodiff/gradient.h"
#include "cpu/kernel_case.h"

namespace traingraph::testing {
namespace {

using Means = ::testing::TestWithParam<float>;

/// Every output is a function of a sum of `length` terms.
struct Sums {
  std::int64_t length;
  std::function<float(std::int64_t output, std::int64_t k)> term;
  std::function<double(double sum)> finish = [](double sum) { return sum; };
};

float pairwise(const float* x, std::int64_t n) {
  if (n == 1) return x[0];
  const std::int64_t half = n / 2;
  return pairwise(x, half) + pairwise(x + half, n - half);
}

void expect_pairwise(const Floats& got, const Sums& sums, const char* what) {
  SCOPED_TRACE(what);
  double error = 0, allowed = 0, largest = 0;
  Floats terms(sums.length);
  for (std::size_t o = 0; o < got.size(); ++o) {
    double sum = 0;
    for (std::int64_t k = 0; k < sums.length; ++k) {
      terms[k] = sums.term(static_cast<std::int64_t>(o), k);
      sum += terms[k];
    }
    const double expected = sums.finish(sum);
    const double other = sums.finish(pairwise(terms.data(), sums.length));
    ASSERT_TRUE(std::isfinite(got[o]));
    error = std::max(error, std::fabs(got[o] - expected));
    allowed = std::max(allowed, std::fabs(other - expected));
    largest = std::max(largest, std::fabs(expected));
  }
  constexpr double kHalfUnit = 1.0 / (1 << 24);
  EXPECT_LE(error, 2 * std::max(allowed, kHalfUnit * largest))
      << error / largest << " of the largest; pairwise " << allowed / largest;
}

/// The data of an input anew: standard normal around `mean`.
void fill(Case& test, float mean) {
  std::mt19937 engine(7);
  std::normal_distribution<float> normal(mean, 1);
  for (auto& [id, values] : test.data) {
    for (float& x : values) x = normal(engine);
  }
}

class ReduceAccuracy : public Means {};

TEST_P(ReduceAccuracy, IsThatOfAPairwiseSum) {
  struct Row {
    Shape shape, axes;
  };
  for (const Row& row :
       {Row{{1000, 1000}, {0}}, Row{{1000, 1000}, {1}}, Row{{10'000'000}, {0}},
        Row{{4, 3, 300, 300}, {0, 2, 3}}}) {
    const Shape &shape = row.shape, &axes = row.axes;
    Case test;
    const ValueId x = test.input(shape);
    fill(test, GetParam());
    std::vector<ValueId> results;
    for (auto type :
         {ReductionType::Sum, ReductionType::Mean, ReductionType::L1Norm}) {
      results.push_back(test.program.append_one(OpKind::Reduce,
                                                ReduceAttrs{type, axes}, {x}));
    }
    const ValueId norm =
        test.program.append_one(OpKind::SquaredNorm, NoAttrs{}, {x});
    std::vector<ValueId> kept = results;
    kept.push_back(norm);
    const ProgramRun run = test.run(kept);

    const std::int64_t inner = axes[0] == 0 && shape.rank() == 2 ? 1000
                               : shape.rank() == 4               ? 90'000
                                                                 : 1;
    const std::int64_t outputs = test.program.shape(results[0]).num_elements();
    const std::int64_t length = shape.num_elements() / outputs;
    const Floats& values = test.values(0);
    const auto at = [&](std::int64_t o, std::int64_t k) -> float {
      if (shape.rank() == 4) {
        return values[(k / inner * outputs + o) * inner + k % inner];
      }
      return inner == 1 ? values[o * length + k] : values[k * inner + o];
    };
    Sums sums{length, at};
    expect_pairwise(run.get(results[0]), sums, "sum");
    sums.finish = [&](double s) { return s / static_cast<double>(length); };
    expect_pairwise(run.get(results[1]), sums, "mean");
    const auto magnitude = [&](auto o, auto k) { return std::fabs(at(o, k)); };
    expect_pairwise(run.get(results[2]), {length, magnitude}, "L1 norm");
    const auto square = [&](auto, auto k) { return values[k] * values[k]; };
    expect_pairwise(run.get(norm), {shape.num_elements(), square},
                    "squared norm");
  }
}

class GradientAccuracy : public Means {};

/// d y / d inputs of `node`, from an incoming gradient that is an input too.
std::vector<ValueId> gradients_of(Case& test, ValueId y,
                                  const std::vector<ValueId>& wanted) {
  const ValueId seed = test.input(test.program.shape(y));
  test.program.position.phase = Phase::Gradient;
  const GradientMap map = differentiate(
      test.program, {.seeds = {{y, seed}}, .wanted = wanted, .stopped = {}});
  std::vector<ValueId> gradients;
  for (ValueId value : wanted) gradients.push_back(map.at(value));
  return gradients;
}

TEST_P(GradientAccuracy, SumsOverBroadcastAxes) {
  using enum ArithmeticOperation;
  constexpr std::int64_t kRows = 300'000, kColumns = 3;
  for (ArithmeticOperation operation : {Add, Subtract, Multiply}) {
    Case test;
    const ValueId x = test.input({kRows, kColumns});
    const ValueId row = test.input({kColumns});
    const ValueId y = test.program.append_one(
        OpKind::Binary, ArithmeticAttrs{operation}, {x, row});
    const ValueId gradient = gradients_of(test, y, {row})[0];
    fill(test, GetParam());
    const Floats got = test.run({gradient}).get(gradient);
    const Floats &a = test.values(0), &g = test.values(2);
    const auto term = [&](std::int64_t o, std::int64_t k) {
      const std::int64_t i = k * kColumns + o;
      return operation == Multiply ? g[i] * a[i]
             : operation == Add    ? g[i]
                                   : -g[i];
    };
    expect_pairwise(got, {kRows, term}, "broadcast");
  }
}

TEST_P(GradientAccuracy, OfFullyConnectedBiases) {
  constexpr std::int64_t kRows = 200'000, kOut = 4;
  Case test;
  const ValueId x = test.input({kRows, 2});
  const ValueId w = test.input({2, kOut}, Role::Variable);
  const ValueId b = test.input({kOut}, Role::Variable);
  const ValueId y =
      test.program.append_one(OpKind::MatMul, MatMulAttrs{}, {x, w, b});
  const auto gradients = gradients_of(test, y, {w, b});
  fill(test, GetParam());
  const ProgramRun run = test.run(gradients);
  const Floats& g = test.values(3);
  const auto of_bias = [&](auto o, auto k) { return g[k * kOut + o]; };
  expect_pairwise(run.get(gradients[1]), {kRows, of_bias}, "bias");
}

class PoolAccuracy : public Means {};

TEST_P(PoolAccuracy, OfLongAverages) {
  for (std::int64_t size : {7, 56, 500}) {
    Case test;
    const ValueId x = test.input({2, 3, size, size});
    const ValueId y = test.program.append_one(
        OpKind::AveragePool2d, AveragePool2dAttrs{{size, size}, {1, 1}}, {x});
    fill(test, GetParam());
    const Floats got = test.run({y}).get(y);
    const std::int64_t area = size * size;
    const auto term = [&](auto o, auto k) {
      return test.values(0)[o * area + k];
    };
    const auto mean = [&](double sum) {
      return sum / static_cast<double>(area);
    };
    expect_pairwise(got, {area, term, mean}, "average");
  }
}

class LossAccuracy : public Means {};

TEST_P(LossAccuracy, OfAMillionElements) {
  using enum LossType;
  constexpr std::int64_t kCount = 1'000'000;
  for (LossType type : {MeanAbsoluteError, MeanSquaredError, Huber, Hinge}) {
    Case test;
    const ValueId y = test.input({kCount}), t = test.input({kCount});
    const LossAttrs attrs{.type = type, .delta = 1};
    const ValueId loss = test.program.append_one(OpKind::Loss, attrs, {y, t});
    fill(test, GetParam());
    const auto term = [&](auto, auto k) {
      const float a = test.values(0)[k], b = test.values(1)[k];
      const float e = std::fabs(a - b);
      return type == MeanAbsoluteError  ? e
             : type == MeanSquaredError ? e * e
             : type == Hinge            ? std::max(0.0f, 1 - (2 * b - 1) * a)
             : e <= 1                   ? 0.5f * e * e
                                        : e - 0.5f;
    };
    const auto mean = [](double sum) { return sum / kCount; };
    expect_pairwise(test.run({loss}).get(loss), {kCount, term, mean},
                    std::string(to_string(type)).c_str());
  }
}

std::string name_of(const ::testing::TestParamInfo<float>& info) {
  return "mean_" + std::to_string(static_cast<int>(info.param));
}

const auto kMeans = ::testing::Values(0.0f, 1.0f, 10.0f, 1e3f, 1e4f);
INSTANTIATE_TEST_SUITE_P(All, ReduceAccuracy, kMeans, name_of);
INSTANTIATE_TEST_SUITE_P(All, GradientAccuracy, kMeans, name_of);
INSTANTIATE_TEST_SUITE_P(All, PoolAccuracy, kMeans, name_of);
INSTANTIATE_TEST_SUITE_P(All, LossAccuracy, kMeans, name_of);

struct SoftmaxLine {
  Shape shape;
  SoftmaxOperation operation;
};

class SoftmaxAccuracy
    : public ::testing::TestWithParam<std::tuple<SoftmaxLine, float>> {};

/// Largest difference as a part of the largest expected value.
double error_of(const Floats& got, const std::vector<double>& expected) {
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    // NaN must not pass for a small error.
    if (!std::isfinite(got[i])) return INFINITY;
    error = std::max(error, std::fabs(got[i] - expected[i]));
    largest = std::max(largest, std::fabs(expected[i]));
  }
  return error / largest;
}

TEST_P(SoftmaxAccuracy, IsTwiceThatOfPyTorchAtMost) {
  const auto& [line, mean] = GetParam();
  const bool is_log = line.operation == SoftmaxOperation::LogSoftmax;
  Case test;
  const ValueId x = test.input(line.shape);
  const ValueId y = test.program.append_one(
      OpKind::Softmax, SoftmaxAttrs{line.operation, 1}, {x});
  const ValueId dx = gradients_of(test, y, {x})[0];
  fill(test, mean);
  const ProgramRun run = test.run({y, dx});
  const Floats got = run.get(y);

  // Rows of `length`, or columns of it where an axis follows.
  const std::int64_t length = line.shape[1];
  const std::int64_t inner = line.shape.num_elements() / line.shape[0] / length;
  const Floats &in = test.values(0), &g = test.values(1);
  std::vector<double> values(in.size()), slopes(in.size());
  for (std::int64_t row = 0; row < line.shape[0] * inner; ++row) {
    const std::int64_t first = row / inner * length * inner + row % inner;
    const auto at = [&](std::int64_t k) { return first + k * inner; };
    double largest = -INFINITY, sum = 0, of_gradient = 0;
    for (std::int64_t k = 0; k < length; ++k) {
      largest = std::max(largest, double{in[at(k)]});
    }
    for (std::int64_t k = 0; k < length; ++k) {
      sum += std::exp(in[at(k)] - largest);
    }
    for (std::int64_t k = 0; k < length; ++k) {
      const double log_y = in[at(k)] - largest - std::log(sum);
      values[at(k)] = is_log ? log_y : std::exp(log_y);
      // The gradient op sees the result as float32; so does the reference.
      of_gradient += is_log ? double{g[at(k)]} : double{g[at(k)]} * got[at(k)];
    }
    for (std::int64_t k = 0; k < length; ++k) {
      const double each = got[at(k)];
      slopes[at(k)] = is_log ? g[at(k)] - std::exp(each) * of_gradient
                             : each * (g[at(k)] - of_gradient);
    }
  }
  // What PyTorch 2.13 is off by at (100000, 10), mean 0, as a part of the
  // largest result; with gradients of mean 1000 its slopes are off by 8e-4.
  const double value_of_pytorch = is_log ? 8e-8 : 2e-7;
  constexpr double kSlopeOfPyTorch = 1.7e-7;
  EXPECT_LE(error_of(got, values), 2 * value_of_pytorch);
  EXPECT_LE(error_of(run.get(dx), slopes), 2 * kSlopeOfPyTorch);
  if (!is_log) return;
  for (float each : got) ASSERT_LE(each, 0);
}

std::string name_of_line(
    const ::testing::TestParamInfo<SoftmaxAccuracy::ParamType>& info) {
  const auto& [line, mean] = info.param;
  return std::string(to_string(line.operation)) + "_" +
         std::to_string(line.shape[1]) + "_mean_" +
         std::to_string(static_cast<int>(mean)) + "_" +
         std::to_string(info.index);
}

using enum SoftmaxOperation;
const SoftmaxLine kLines[] = {
    {{32, 10}, Softmax},       {{32, 10}, LogSoftmax},
    {{5000, 64}, Softmax},     {{5000, 64}, LogSoftmax},
    {{4, 200'000}, Softmax},   {{4, 200'000}, LogSoftmax},
    {{4, 10, 5000}, Softmax},  {{4, 10, 5000}, LogSoftmax},
    {{2, 50'000, 3}, Softmax}, {{2, 50'000, 3}, LogSoftmax}};
INSTANTIATE_TEST_SUITE_P(All, SoftmaxAccuracy,
                         ::testing::Combine(::testing::ValuesIn(kLines),
                                            kMeans),
                         name_of_line);

}  // namespace
}  // namespace traingraph::testing
