// SPDX-License-Identifier: MIT
// Products of 16-bit floats, and convolutions where the engine has them: sums
// in float32, one rounding, and none where a cast to float32 follows.
#include "cpu/cpu_target.h"
#include "cpu/half_case.h"
#include "cpu/native_types.h"
#include "graph/op_def.h"
#include "support/native_products.h"

namespace traingraph::testing {
namespace {

struct ProductCase {
  std::int64_t rows, depth, columns;
  bool transposes_x = false, transposes_y = false;
  float alpha = 1;
  bool has_bias = false, has_relu = false;
};

// Loops of ours, and the engine beyond 2^18 multiplications; the last two have
// several blocks of either operand where it multiplies float32.
const ProductCase kProducts[] = {
    {5, 7, 3},
    {1, 300, 20, false, true, 1, true},
    {17, 33, 18, true, false, 0.5f, true, true},
    {33, 129, 131},
    {65, 100, 257, true, true, 0.5f, true, true},
    {70, 513, 31, false, true, 1, true, true},
    {256, 10, 300, true, false},
    {250, 600, 230, true, false, 0.5f, true},
    {230, 600, 250, false, true},
};

template <class T>
class HalfProducts : public ::testing::Test {
 protected:
  struct Nodes {
    HalfCase<T> test;
    ValueId product, y;
    Exacts exact;
  };

  static Nodes make(const ProductCase& c) {
    Nodes nodes;
    auto& [test, product, y, exact] = nodes;
    std::vector<ValueId> inputs{
        test.input(c.transposes_x ? Shape{c.depth, c.rows}
                                  : Shape{c.rows, c.depth}),
        test.input(c.transposes_y ? Shape{c.columns, c.depth}
                                  : Shape{c.depth, c.columns})};
    if (c.has_bias) inputs.push_back(test.input({c.columns}));
    product = y = test.program.append_one(
        OpKind::MatMul, MatMulAttrs{c.alpha, c.transposes_x, c.transposes_y},
        inputs);
    if (c.has_relu) {
      y = test.program.append_one(OpKind::Activation,
                                  ActivationAttrs{ActivationType::ReLU}, {y});
    }
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.columns; ++j) {
        exact.push_back(element(c, test, i, j));
      }
    }
    return nodes;
  }

  static Exact element(const ProductCase& c, const HalfCase<T>& test,
                       std::int64_t i, std::int64_t j) {
    Exact sum;
    for (std::int64_t k = 0; k < c.depth; ++k) {
      const double x =
          test[0][c.transposes_x ? k * c.rows + i : i * c.depth + k];
      const double y =
          test[1][c.transposes_y ? j * c.depth + k : k * c.columns + j];
      sum.add(c.alpha * x * y);
    }
    if (c.has_bias) sum.add(test[2][j]);
    if (c.has_relu) sum.value = std::max(sum.value, 0.0);
    return sum;
  }
};

TYPED_TEST_SUITE(HalfProducts, HalfTypes);

TYPED_TEST(HalfProducts, AreRoundedOnce) {
  for (const ProductCase& each : kProducts) {
    SCOPED_TRACE(std::to_string(each.rows) + " x " +
                 std::to_string(each.depth) + " x " +
                 std::to_string(each.columns));
    auto nodes = this->make(each);
    expect_rounded_once(nodes.test.result(nodes.y), nodes.exact);
  }
}

// A gradient of float32 weights: float32 sums, no unit for the cast.
TYPED_TEST(HalfProducts, ACastBehindTakesTheSums) {
  for (const ProductCase& each : kProducts) {
    if (each.has_relu) continue;
    auto nodes = this->make(each);
    const ValueId wide = nodes.test.program.append_one(
        OpKind::Cast, CastAttrs{DataType::Float32}, {nodes.product});
    const ProgramRun run = nodes.test.run({wide});
    EXPECT_EQ(run.lowered().units.size(), 1u);
    expect_rounded_once(run.get<float>(wide), nodes.exact);
  }
}

// Where somebody else reads the 16 bits, both are written.
TYPED_TEST(HalfProducts, ACastBehindIsApartWhereBothAreRead) {
  auto nodes = this->make(kProducts[3]);
  const ValueId wide = nodes.test.program.append_one(
      OpKind::Cast, CastAttrs{DataType::Float32}, {nodes.product});
  const ProgramRun run = nodes.test.run({nodes.product, wide});
  const auto narrow = run.get<TypeParam>(nodes.product);
  expect_rounded_once(narrow, nodes.exact);
  const auto same = run.get<float>(wide);
  for (std::size_t i = 0; i < same.size(); ++i) ASSERT_EQ(same[i], narrow[i]);
}

struct ConvolutionCase {
  Shape x, w;
  Convolution2dAttrs attrs;
};

// Channels that fill no block, images, strides, dilation, groups.
const ConvolutionCase kConvolutions[] = {
    {{2, 16, 9, 7}, {32, 16, 3, 3}, {.padding = {1, 1, 1, 1}}},
    {{2, 3, 10, 9}, {20, 3, 3, 3}, {.padding = {1, 1, 1, 1}}},
    {{3, 12, 8, 8}, {17, 12, 1, 1}, {.strides = {2, 2}}},
    {{2, 20, 9, 9},
     {16, 20, 3, 3},
     {.strides = {2, 1}, .padding = {1, 0, 2, 1}}},
    {{1, 16, 12, 12}, {16, 16, 3, 3}, {.dilation_rates = {2, 3}}},
    {{2, 16, 7, 7}, {16, 1, 3, 3}, {.padding = {1, 1, 1, 1}, .groups = 16}},
    {{2, 12, 7, 7}, {24, 4, 3, 3}, {.padding = {1, 1, 1, 1}, .groups = 3}},
};

Shape result_shape(const ConvolutionCase& c) {
  const auto size = [&](int i) {
    const auto& a = c.attrs;
    const std::int64_t span = (c.w[2 + i] - 1) * a.dilation_rates[i] + 1;
    return (c.x[2 + i] + a.padding[2 * i] + a.padding[2 * i + 1] - span) /
               a.strides[i] +
           1;
  };
  return {c.x[0], c.w[0], size(0), size(1)};
}

/// visit(index in x, index in w, index in y) for all terms.
template <class Visit>
void for_each_term(const ConvolutionCase& c, Visit visit) {
  const auto& a = c.attrs;
  const Shape y = result_shape(c);
  const std::int64_t per_group = c.w[0] / a.groups;
  std::int64_t at_y = 0;
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for (std::int64_t o = 0; o < y[1]; ++o) {
      for (std::int64_t i = 0; i < y[2]; ++i) {
        for (std::int64_t j = 0; j < y[3]; ++j, ++at_y) {
          for (std::int64_t k = 0; k < c.w.num_elements() / c.w[0]; ++k) {
            const std::int64_t channel = k / (c.w[2] * c.w[3]);
            const std::int64_t row = i * a.strides[0] - a.padding[0] +
                                     k / c.w[3] % c.w[2] * a.dilation_rates[0];
            const std::int64_t column = j * a.strides[1] - a.padding[2] +
                                        k % c.w[3] * a.dilation_rates[1];
            if (row < 0 || row >= c.x[2]) continue;
            if (column < 0 || column >= c.x[3]) continue;
            const std::int64_t of_x = o / per_group * c.w[1] + channel;
            visit(((n * c.x[1] + of_x) * c.x[2] + row) * c.x[3] + column,
                  o * (c.w.num_elements() / c.w[0]) + k, at_y);
          }
        }
      }
    }
  }
}

template <class T>
class HalfConvolutions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!runs_convolutions(kTypeOf<T>)) {
      GTEST_SKIP() << "the engine has no convolutions of this type";
    }
  }
  static Convolution2dGradientAttrs gradient_of(const ConvolutionCase& c,
                                                const Shape& shape) {
    return {c.attrs.strides, c.attrs.dilation_rates, c.attrs.padding,
            c.attrs.groups, shape};
  }
};

TYPED_TEST_SUITE(HalfConvolutions, HalfTypes);

TYPED_TEST(HalfConvolutions, AreRoundedOnce) {
  for (const ConvolutionCase& c : kConvolutions) {
    SCOPED_TRACE(c.x.to_string() + " * " + c.w.to_string());
    HalfCase<TypeParam> test;
    const ValueId x = test.input(c.x), w = test.input(c.w);
    const ValueId bias = test.input({c.w[0]});
    const ValueId y =
        test.program.append_one(OpKind::Convolution2d, c.attrs, {x, w, bias});
    const Shape shape = result_shape(c);
    Exacts exact(shape.num_elements());
    for_each_term(c, [&](auto x, auto w, auto y) {
      exact[y].add(double{test[0][x]} * test[1][w]);
    });
    for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
      exact[i].add(test[2][i / (shape[2] * shape[3]) % shape[1]]);
    }
    expect_rounded_once(test.result(y), exact);
  }
}

TYPED_TEST(HalfConvolutions, InputGradientsAreRoundedOnce) {
  for (const ConvolutionCase& c : kConvolutions) {
    SCOPED_TRACE(c.x.to_string() + " * " + c.w.to_string());
    HalfCase<TypeParam> test;
    const ValueId g = test.input(result_shape(c)), w = test.input(c.w);
    const ValueId dx = test.program.append_one(
        OpKind::Convolution2dInputGradient, this->gradient_of(c, c.x), {g, w});
    Exacts exact(c.x.num_elements());
    for_each_term(c, [&](auto x, auto w, auto y) {
      exact[x].add(double{test[0][y]} * test[1][w]);
    });
    expect_rounded_once(test.result(dx), exact);
  }
}

// Convolutions are one unit with their casts and the gradient of the bias, but
// for layouts.
TYPED_TEST(HalfConvolutions, WeightsGradientsAreFloat32BehindACast) {
  for (const ConvolutionCase& c : kConvolutions) {
    SCOPED_TRACE(c.x.to_string() + " * " + c.w.to_string());
    HalfCase<TypeParam> test;
    Program& program = test.program;
    const ValueId g = test.input(result_shape(c)), x = test.input(c.x);
    const CastAttrs to_float{DataType::Float32};
    const ValueId dw = program.append_one(
        OpKind::Cast, to_float,
        {program.append_one(OpKind::Convolution2dWeightsGradient,
                            this->gradient_of(c, c.w), {g, x})});
    const ValueId sum = program.append_one(
        OpKind::Reduce, ReduceAttrs{ReductionType::Sum, {0, 2, 3}}, {g});
    const ValueId flat =
        program.append_one(OpKind::Reshape, ShapeAttrs{Shape{c.w[0]}}, {sum});
    const ValueId db = program.append_one(OpKind::Cast, to_float, {flat});
    Exacts weights(c.w.num_elements()), bias(c.w[0]);
    for_each_term(c, [&](auto x, auto w, auto y) {
      weights[w].add(double{test[0][y]} * test[1][x]);
    });
    const Shape y = result_shape(c);
    for (std::int64_t i = 0; i < y.num_elements(); ++i) {
      bias[i / (y[2] * y[3]) % y[1]].add(test[0][i]);
    }
    const ProgramRun run = test.run({dw, db});
    int num_units = 0;
    for (const Unit& unit : run.lowered().units) num_units += !unit.is_reorder;
    EXPECT_EQ(num_units, 1);
    expect_rounded_once(run.get<float>(dw), weights);
    expect_rounded_once(run.get<float>(db), bias);
  }
}

// oneDNN with AMX leaves the gradient of taps that read only padding as it was,
// and ends the process where a window does.
TYPED_TEST(HalfConvolutions, AreFloat32WhereSomethingReadsOnlyPadding) {
  const auto computes = [&](const ConvolutionCase& c) {
    HalfCase<TypeParam> test;
    Program& program = test.program;
    const ValueId x = test.input(c.x), w = test.input(c.w),
                  g = test.input(result_shape(c));
    program.append(OpKind::Convolution2d, c.attrs, {x, w});
    program.append(OpKind::Convolution2dInputGradient,
                   this->gradient_of(c, c.x), {g, w});
    program.append(OpKind::Convolution2dWeightsGradient,
                   this->gradient_of(c, c.w), {g, x});
    int num_computed = 0;
    for (const Node& node : program.nodes()) {
      num_computed += cpu::CpuTarget(1).computes(program, node);
    }
    return num_computed;
  };
  for (const ConvolutionCase& c : kConvolutions) EXPECT_EQ(computes(c), 3);
  const ConvolutionCase column{{4, 32, 7, 1},
                               {32, 32, 3, 3},
                               {.strides = {2, 2}, .padding = {1, 1, 1, 1}}};
  EXPECT_EQ(computes(column), 0);
  const ConvolutionCase missed{
      {1, 16, 1, 8},
      {16, 16, 2, 1},
      {.dilation_rates = {3, 1}, .padding = {2, 2, 0, 0}}};
  EXPECT_EQ(computes(missed), 0);
}

// Weights of float32: one reorder rounds them and brings them into blocks.
TYPED_TEST(HalfConvolutions, CastsOfWeightsAreReorders) {
  if (!cpu::has_products(kTypeOf<TypeParam>)) {
    GTEST_SKIP() << "the processor has no products of this type";
  }
  Program program;
  const ValueId x =
      program.add_value(Role::Input, {{2, 16, 8, 8}, kTypeOf<TypeParam>}, "x");
  const ValueId w = program.add_value(Role::Variable,
                                      {{32, 16, 3, 3}, DataType::Float32}, "w");
  const ValueId low =
      program.append_one(OpKind::Cast, CastAttrs{kTypeOf<TypeParam>}, {w});
  const ValueId y =
      program.append_one(OpKind::Convolution2d,
                         Convolution2dAttrs{.padding = {1, 1, 1, 1}}, {x, low});
  const LoweredProgram lowered =
      cpu::CpuTarget(1).lower(program, {.kept = {y}});
  int num_reading = 0;
  for (const Unit& unit : lowered.units) {
    EXPECT_NE(program.node(unit.nodes[0]).op->kind, OpKind::Cast);
    num_reading += std::ranges::count(unit.reads, lowered.storage_of[w]);
  }
  EXPECT_EQ(num_reading, 1);
}

template <class T>
class HalfNotes : public ::testing::Test {
 protected:
  /// The notes on a program of one product and, perhaps, a convolution, whose
  /// casts the compiler would have added.
  static std::vector<std::string> notes(bool convolves) {
    HalfCase<T> test;
    Program& program = test.program;
    const CastAttrs to_float{DataType::Float32};
    std::vector<ValueId> results{
        program.append_one(OpKind::MatMul, MatMulAttrs{},
                           {test.input({8, 8}), test.input({8, 8})})};
    if (convolves) {
      std::vector<ValueId> wide;
      for (const Shape& shape : {Shape{1, 4, 5, 5}, Shape{4, 4, 3, 3}}) {
        wide.push_back(
            program.append_one(OpKind::Cast, to_float, {test.input(shape)}));
      }
      results.push_back(program.append_one(OpKind::Convolution2d,
                                           Convolution2dAttrs{}, wide));
    }
    return cpu::CpuTarget(/*num_threads=*/1)
        .lower(program, {.kept = results})
        .notes;
  }
};

TYPED_TEST_SUITE(HalfNotes, HalfTypes);

// Nobody should take casts for what the processor does by itself.
TYPED_TEST(HalfNotes, SayWhatIsCast) {
  constexpr DataType kType = kTypeOf<TypeParam>;
  const bool multiplies = cpu::has_products(kType);
  EXPECT_EQ(this->notes(/*convolves=*/false).empty(), multiplies);
  const auto notes = this->notes(/*convolves=*/true);
  EXPECT_EQ(notes.empty(), multiplies && cpu::has_convolutions(kType));
  if (!notes.empty()) {
    EXPECT_EQ(notes.size(), 1u);
    EXPECT_NE(notes[0].find("convolutions"), std::string::npos) << notes[0];
  }
}

}  // namespace
}  // namespace traingraph::testing
