// SPDX-License-Identifier: MIT
// Random ops on random shapes, larger than those of the table (cases.h) and
// with means far from 0, against the float64 reference. Every case prints its
// seed when it fails. TRAINGRAPH_SWEEP_CASES sets how many there are,
// TRAINGRAPH_TEST_SEED which.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "ops/case_program.h"

namespace traingraph::testing {
namespace {

/// An op that is linear in each input, up to signs. The size of a sum's terms,
/// which its rounding errors grow with, is the op of the magnitudes.
struct Draw {
  OpCase op_case;
  double num_terms = 1;
};

Domain around(double mean) {
  return [=](const Shape& shape, const RefTensors&, Random& random) {
    std::normal_distribution<double> normal(mean, 1);
    RefTensor x = zeros(shape);
    for (double& each : x.data) each = static_cast<float>(normal(random));
    return x;
  };
}

double draw_mean(Random& random) {
  const double means[] = {0, 0, 1, -10, 1e3, 1e4};
  return means[pick(random, 0, 5)];
}

CaseInput input(const Shape& shape, Random& random) {
  return {.shape = shape, .domain = around(draw_mean(random))};
}

/// Mostly small axes, at times a long one.
Shape draw_shape(Random& random, int rank) {
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    shape.push_back(pick(random, 1, rank < 4 ? 9 : 6));
  }
  if (pick(random, 0, 1) == 0) {
    shape[static_cast<int>(pick(random, 0, rank - 1))] =
        pick(random, 1, rank < 3 ? 20'000 : 100);
  }
  return shape;
}

Draw draw_reduce(Random& random) {
  const Shape shape = draw_shape(random, static_cast<int>(pick(random, 1, 5)));
  Shape axes;
  double num_terms = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (pick(random, 0, 1) == 0) continue;
    axes.push_back(axis);
    num_terms *= static_cast<double>(shape[axis]);
  }
  if (axes.empty()) return draw_reduce(random);
  const ReductionType types[] = {ReductionType::Sum, ReductionType::Mean,
                                 ReductionType::L1Norm, ReductionType::Max,
                                 ReductionType::Min};
  return {{.op = OpKind::Reduce,
           .attrs = ReduceAttrs{types[pick(random, 0, 4)], axes},
           .inputs = {input(shape, random)}},
          num_terms};
}

Draw draw_squared_norm(Random& random) {
  const Shape shape = draw_shape(random, static_cast<int>(pick(random, 1, 4)));
  return {{.op = OpKind::SquaredNorm,
           .attrs = NoAttrs{},
           .inputs = {input(shape, random)}},
          static_cast<double>(shape.num_elements())};
}

Draw draw_binary(Random& random) {
  const Shape shape = draw_shape(random, static_cast<int>(pick(random, 1, 5)));
  Shape other = random_broadcastable(random, shape);
  const ArithmeticOperation operations[] = {
      ArithmeticOperation::Add, ArithmeticOperation::Subtract,
      ArithmeticOperation::Multiply, ArithmeticOperation::Max};
  OpCase op_case{.op = OpKind::Binary,
                 .attrs = ArithmeticAttrs{operations[pick(random, 0, 3)]},
                 .inputs = {input(shape, random), input(other, random)}};
  if (pick(random, 0, 1)) std::swap(op_case.inputs[0], op_case.inputs[1]);
  return {op_case, 2};
}

Draw draw_matmul(Random& random) {
  const std::int64_t rows = pick(random, 1, 20), columns = pick(random, 1, 20);
  const bool is_long = pick(random, 0, 3) == 0;
  const std::int64_t inner = pick(random, 1, is_long ? 5000 : 200);
  const MatMulAttrs attrs{1, pick(random, 0, 1) == 1, pick(random, 0, 1) == 1};
  Shape x, y;
  if (pick(random, 0, 2) == 0) x.push_back(pick(random, 1, 4));
  if (!x.empty() && pick(random, 0, 1) == 0) y.push_back(x[0]);
  x.push_back(attrs.transposes_x ? inner : rows);
  x.push_back(attrs.transposes_x ? rows : inner);
  y.push_back(attrs.transposes_y ? columns : inner);
  y.push_back(attrs.transposes_y ? inner : columns);
  OpCase op_case{.op = OpKind::MatMul,
                 .attrs = attrs,
                 .inputs = {input(x, random), input(y, random)}};
  if (pick(random, 0, 1)) op_case.inputs.push_back(input({columns}, random));
  return {op_case, static_cast<double>(inner)};
}

struct Window {
  Pair kernel, strides, dilations;
  Padding padding;
  Shape x, y;  // height and width

  Window(Random& random, std::int64_t largest) {
    for (int i = 0; i < 2; ++i) {
      const bool is_large = pick(random, 0, 4) == 0;
      kernel[i] = pick(random, 1, is_large ? largest : 4);
      strides[i] = pick(random, 1, 3);
      dilations[i] = pick(random, 1, 2);
      for (int side = 0; side < 2; ++side) {
        padding[2 * i + side] = pick(random, 0, kernel[i] / 2);
      }
      const std::int64_t span = (kernel[i] - 1) * dilations[i] + 1;
      x.push_back(span + pick(random, 0, 12));
      const std::int64_t room =
          x[i] + padding[2 * i] + padding[2 * i + 1] - span;
      y.push_back(room / strides[i] + 1);
    }
  }
};

Draw draw_average(Random& random) {
  const Window w(random, 12);
  const std::int64_t n = pick(random, 1, 3), c = pick(random, 1, 20);
  const bool counts_padding = pick(random, 0, 1) == 1;
  const Shape x{n, c, w.x[0], w.x[1]}, y{n, c, w.y[0], w.y[1]};
  const auto num_terms = static_cast<double>(w.kernel[0] * w.kernel[1]);
  if (pick(random, 0, 1)) {
    return {{.op = OpKind::AveragePool2d,
             .attrs = AveragePool2dAttrs{w.kernel, w.strides, w.dilations,
                                         w.padding, counts_padding},
             .inputs = {input(x, random)}},
            num_terms};
  }
  return {{.op = OpKind::AveragePool2dGradient,
           .attrs = AveragePool2dGradientAttrs{w.kernel, w.strides, w.dilations,
                                               w.padding, counts_padding, x},
           .inputs = {input(y, random)}},
          num_terms};
}

Draw draw_upsample(Random& random) {
  const bool has_rows = pick(random, 0, 3) != 0,
             is_long = pick(random, 0, 4) == 0;
  const std::int64_t largest = is_long ? 2000 : 40;
  Shape x{pick(random, 1, 3), pick(random, 1, 20)}, y = x, small, large;
  for (int i = 0; i < (has_rows ? 2 : 1); ++i) {
    small.push_back(pick(random, 1, 30));
    large.push_back(pick(random, 1, i == 0 ? largest : 40));
    x.push_back(small.back());
    y.push_back(large.back());
  }
  const auto mode =
      pick(random, 0, 2) == 0 ? SampleMode::Nearest : SampleMode::Linear;
  const bool aligns = mode == SampleMode::Linear && pick(random, 0, 1) == 1;
  if (pick(random, 0, 1)) {
    return {{.op = OpKind::Upsample,
             .attrs = UpsampleAttrs{large, mode, aligns},
             .inputs = {input(x, random)}},
            4};
  }
  double num_terms = 4;
  for (int i = 0; i < small.rank(); ++i) {
    const std::int64_t ratio = large[i] / small[i];
    num_terms *= 1 + static_cast<double>(ratio);
  }
  return {{.op = OpKind::UpsampleGradient,
           .attrs = UpsampleAttrs{small, mode, aligns},
           .inputs = {input(y, random)}},
          num_terms};
}

Draw draw_convolution(Random& random) {
  const Window w(random, 5);
  const std::int64_t groups = pick(random, 1, 3), depth = pick(random, 1, 6);
  const Shape x{pick(random, 1, 3), groups * depth, w.x[0], w.x[1]};
  const Shape weights{groups * pick(random, 1, 6), depth, w.kernel[0],
                      w.kernel[1]};
  const Shape y{x[0], weights[0], w.y[0], w.y[1]};
  const auto attrs_to = [&](const Shape& shape) {
    return Convolution2dGradientAttrs{w.strides, w.dilations, w.padding, groups,
                                      shape};
  };
  const auto per_output =
      static_cast<double>(depth * w.kernel[0] * w.kernel[1]);
  switch (pick(random, 0, 2)) {
    case 0: {
      OpCase op_case{.op = OpKind::Convolution2d,
                     .attrs = Convolution2dAttrs{w.strides, w.dilations,
                                                 w.padding, groups},
                     .inputs = {input(x, random), input(weights, random)}};
      if (pick(random, 0, 1)) {
        op_case.inputs.push_back(input({weights[0]}, random));
      }
      return {op_case, per_output};
    }
    case 1:
      return {{.op = OpKind::Convolution2dInputGradient,
               .attrs = attrs_to(x),
               .inputs = {input(y, random), input(weights, random)}},
              per_output * static_cast<double>(weights[0])};
    default:
      return {
          {.op = OpKind::Convolution2dWeightsGradient,
           .attrs = attrs_to(weights),
           .inputs = {input(y, random), input(x, random)}},
          static_cast<double>(y.num_elements()) / static_cast<double>(y[1])};
  }
}

Draw draw_case(Random& random) {
  switch (pick(random, 0, 6)) {
    case 0:
      return draw_reduce(random);
    case 1:
      return draw_squared_norm(random);
    case 2:
      return draw_binary(random);
    case 3:
      return draw_matmul(random);
    case 4:
      return draw_average(random);
    case 5:
      return draw_upsample(random);
    default:
      return draw_convolution(random);
  }
}

void check(const Draw& draw) {
  SCOPED_TRACE(describe(draw.op_case));
  const CaseProgram built = build(draw.op_case);
  ProgramRun run(built.program, {built.results[0]});
  set_inputs(run, built);
  run.run();
  ASSERT_TRUE(run.has_intact_guards());
  const RefTensor got = get_tensor(run, built.program, built.results[0]);
  const auto reference = [&](bool of_magnitudes) {
    RefTensors inputs = built.contents;
    for (RefTensor& x : inputs) {
      for (double& each : x.data) each = of_magnitudes ? std::fabs(each) : each;
    }
    const Node& node = built.program.node(built.node);
    return evaluate(node, inputs).at(0);
  };
  const RefTensor expected = reference(false), sizes = reference(true);
  ASSERT_EQ(got.shape, expected.shape);
  // Rounding errors of a sequential sum walk at random.
  constexpr double kHalfUnit = 1.0 / (1 << 24);
  const double units = 4 + 2 * std::sqrt(draw.num_terms);
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double size = std::fabs(sizes.data[i]) + std::fabs(expected.data[i]);
    ASSERT_LE(std::fabs(got.data[i] - expected.data[i]),
              units * kHalfUnit * size)
        << "at " << i << ": expected " << expected.data[i] << ", got "
        << got.data[i];
  }
}

TEST(Sweep, RandomOpsOfAnyMeanMatchTheReference) {
  const char* text = std::getenv("TRAINGRAPH_SWEEP_CASES");
  const int count = text == nullptr ? 60 : std::atoi(text);
  Random seeds(cases_seed());
  for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    const std::uint64_t seed = seeds();
    SCOPED_TRACE("case " + std::to_string(i) + " with seed " +
                 std::to_string(seed));
    Random random(seed);
    Draw draw = draw_case(random);
    draw.op_case.seed = random();
    check(draw);
  }
}

}  // namespace
}  // namespace traingraph::testing
