// SPDX-License-Identifier: MIT
// What the kernel tests share: a program with random inputs that runs alone.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/run_program.h"

namespace traingraph::testing {

using Floats = std::vector<float>;

inline Floats random_floats(std::int64_t n, std::uint32_t seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats values(n);
  for (float& value : values) value = uniform(generator);
  return values;
}

/// A program with random inputs; keeps every result of the nodes it is told.
struct Case {
  Program program;
  std::vector<std::pair<ValueId, Floats>> data;

  ValueId input(Shape shape, Role role = Role::Input) {
    const auto seed = static_cast<std::uint32_t>(data.size() + 1);
    const ValueId id = program.add_value(role, {shape, DataType::Float32},
                                         "x" + std::to_string(data.size()));
    data.emplace_back(id, random_floats(shape.num_elements(), seed));
    return id;
  }
  const Floats& values(int input) const { return data[input].second; }

  ProgramRun run(std::vector<ValueId> kept, bool in_place = false) {
    ProgramRun run(program, std::move(kept));
    for (const auto& [id, contents] : data) run.set(id, contents);
    run.run(in_place);
    EXPECT_TRUE(run.has_intact_guards());
    return run;
  }
};

inline void expect_near(const Floats& got, const std::vector<double>& expected,
                        double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i])))
        << "element " << i;
  }
}

}  // namespace traingraph::testing
