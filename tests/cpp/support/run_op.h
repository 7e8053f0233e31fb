// SPDX-License-Identifier: MIT
// One op on the CPU kernels, with values as doubles whatever the data type.
// Every op runs three times: on its own memory, in place where it may, and
// again, which must give the same bits.
#pragma once

#include <functional>
#include <vector>

#include "support/run_program.h"

namespace traingraph::testing {

using Values = std::vector<double>;

class OpRun {
 public:
  OpRun(OpKind op, Attributes attrs) : op_(op), attrs_(std::move(attrs)) {}

  OpRun& input(Shape shape, const Values& values,
               DataType type = DataType::Float32);
  OpRun& variable(Shape shape, const Values& values,
                  DataType type = DataType::Float32);
  OpRun& no_input();
  void run();

  Values result(int i = 0) const { return results_.at(i); }
  Shape result_shape(int i = 0) const {
    return program_.shape(program_.node(0).outputs.at(i));
  }
  /// Contents of a variable after the run.
  Values after(int input) const { return after_.at(input); }

 private:
  OpRun& add(Role role, Shape shape, const Values& values, DataType type);

  OpKind op_;
  Attributes attrs_;
  Program program_;
  std::vector<ValueId> inputs_;
  std::vector<Values> before_, after_, results_;
};

/// Reproducible values in [-2, 2).
Values random_values(std::int64_t count, std::uint64_t seed);

/// |got - expected| <= tolerance * max(1, |expected|) everywhere; NaN and
/// infinity must match.
void expect_near(const Values& got, const Values& expected, double tolerance);

/// Central differences of `f` at `x`.
Values derivative(const Values& x,
                  const std::function<double(const Values&)>& f);

}  // namespace traingraph::testing
