// SPDX-License-Identifier: MIT
#include "support/run_op.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace traingraph::testing {
namespace {

template <class F>
auto with_type(DataType type, F&& f) {
  switch (type) {
    case DataType::Int32:
      return f(std::int32_t{});
    case DataType::Int64:
      return f(std::int64_t{});
    case DataType::Int8:
      return f(std::int8_t{});
    case DataType::Boolean:
    case DataType::UInt8:
      return f(std::uint8_t{});
    default:
      return f(float{});
  }
}

Values read(const ProgramRun& run, const Program& program, ValueId id) {
  return with_type(program.desc(id).data_type, [&]<class T>(T) {
    const std::vector<T> values = run.get<T>(id);
    return Values(values.begin(), values.end());
  });
}

void expect_same_bits(const std::vector<Values>& a,
                      const std::vector<Values>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      const bool is_nan = std::isnan(a[i][k]) && std::isnan(b[i][k]);
      ASSERT_TRUE(is_nan || a[i][k] == b[i][k]) << i << " at " << k;
    }
  }
}

}  // namespace

OpRun& OpRun::add(Role role, Shape shape, const Values& values, DataType type) {
  inputs_.push_back(program_.add_value(role, {shape, type}, "input"));
  before_.push_back(values);
  return *this;
}

OpRun& OpRun::input(Shape shape, const Values& values, DataType type) {
  return add(Role::Input, shape, values, type);
}

OpRun& OpRun::variable(Shape shape, const Values& values, DataType type) {
  return add(Role::Variable, shape, values, type);
}

OpRun& OpRun::no_input() {
  inputs_.push_back(kNoValue);
  before_.emplace_back();
  return *this;
}

void OpRun::run() {
  const std::vector<ValueId> outputs =
      program_.append(op_, attrs_, inputs_, "node");
  ProgramRun run(program_, outputs);
  const auto once = [&](bool in_place) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == kNoValue) continue;
      with_type(program_.desc(inputs_[i]).data_type, [&]<class T>(T) {
        run.set(inputs_[i],
                std::vector<T>(before_[i].begin(), before_[i].end()));
      });
    }
    run.run(in_place);
    results_.clear();
    after_.clear();
    for (ValueId id : outputs) results_.push_back(read(run, program_, id));
    for (ValueId id : inputs_) {
      after_.push_back(id == kNoValue ? Values{} : read(run, program_, id));
    }
  };
  once(false);
  const auto first_results = results_, first_after = after_;
  once(false);
  expect_same_bits(first_results, results_);
  expect_same_bits(first_after, after_);
  once(true);
  expect_same_bits(first_results, results_);
  EXPECT_TRUE(run.has_intact_guards());
}

Values random_values(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Values values(count);
  // Multiples of 2^-10 are exact in float32.
  for (double& v : values) {
    v = static_cast<double>(generator() % 4096) / 1024 - 2;
  }
  return values;
}

void expect_near(const Values& got, const Values& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(expected[i])) {
      const bool same =
          std::isnan(expected[i]) ? std::isnan(got[i]) : got[i] == expected[i];
      EXPECT_TRUE(same) << "at " << i << ": " << got[i];
      continue;
    }
    const double allowed = tolerance * std::max(1.0, std::fabs(expected[i]));
    // NaN fails, as it must.
    ASSERT_LE(std::fabs(got[i] - expected[i]), allowed)
        << "at " << i << ": expected " << expected[i] << ", got " << got[i];
  }
}

Values derivative(const Values& x,
                  const std::function<double(const Values&)>& f) {
  constexpr double kStep = 1e-5;
  Values at = x, result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    at[i] = x[i] + kStep;
    const double above = f(at);
    at[i] = x[i] - kStep;
    result[i] = (above - f(at)) / (2 * kStep);
    at[i] = x[i];
  }
  return result;
}

}  // namespace traingraph::testing
