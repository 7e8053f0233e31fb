// SPDX-License-Identifier: MIT
// Chains of element-wise nodes in one unit have the bits of single nodes,
// whatever their shapes, their layouts and what is among their elements.
#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/cpu_target.h"
#include "cpu/kernel_case.h"
#include "graph/op_def.h"

namespace traingraph::testing {
namespace {

using enum ArithmeticOperation;

/// A random program of element-wise nodes, which may follow a convolution.
class Chains {
 public:
  Chains(std::uint32_t seed, bool is_image) : random_(seed) {
    const Shape& shape = is_image ? image() : flat();
    if (is_image) {
      const std::int64_t channels = shape[1];
      const ValueId x = test.input(shape);
      const ValueId w = test.input({channels, channels, 1, 1}, Role::Variable);
      values_.push_back(test.program.append_one(OpKind::Convolution2d,
                                                Convolution2dAttrs{}, {x, w}));
    }
    for (int i = 0; i < 3; ++i) values_.push_back(test.input(shape));
    for (int i = 0; i < 3; ++i) {
      Shape repeated = shape;
      for (int axis = 0; axis < shape.rank(); ++axis) {
        if (pick(2) == 0) repeated[axis] = 1;
      }
      values_.push_back(test.input(repeated));
    }
    const int num_nodes = 4 + pick(24);
    for (int i = 0; i < num_nodes; ++i) append();
    for (auto& [id, floats] : test.data) sprinkle(floats);
  }

  /// Bit by bit; returns how many units fewer there are.
  int expect_bits_of_single_nodes() {
    std::vector<ValueId> all, ends;
    std::vector<bool> is_read(test.program.values().size());
    for (const Node& node : test.program.nodes()) {
      for (const ValueId input : node.inputs) {
        if (input != kNoValue) is_read[input] = true;
      }
    }
    for (const Node& node : test.program.nodes()) {
      all.push_back(node.outputs[0]);
      if (!is_read[node.outputs[0]]) ends.push_back(node.outputs[0]);
    }
    const ProgramRun single = test.run(all);
    int fewer = 0;
    for (const bool in_place : {false, true}) {
      const ProgramRun fused = test.run(ends, in_place);
      fewer = num_units(single) - num_units(fused);
      for (const ValueId end : ends) {
        EXPECT_EQ(bits(fused.get(end)), bits(single.get(end)))
            << test.program.to_string();
      }
    }
    return fewer;
  }

 private:
  static std::vector<std::uint32_t> bits(const Floats& floats) {
    std::vector<std::uint32_t> words(floats.size());
    std::memcpy(words.data(), floats.data(), floats.size() * sizeof(float));
    for (std::size_t i = 0; i < floats.size(); ++i) {
      // Which of two NaN wins is the processor's.
      if (std::isnan(floats[i])) words[i] = 0x7fc00000;
    }
    return words;
  }
  static int num_units(const ProgramRun& run) {
    return static_cast<int>(std::ranges::count_if(
        run.lowered().units,
        [](const Unit& unit) { return !unit.is_reorder; }));
  }

  int pick(int count) {
    return std::uniform_int_distribution<int>(0, count - 1)(random_);
  }
  const Shape& flat() {
    static const std::vector<Shape> kShapes{
        {1}, {7}, {3, 5}, {2, 511}, {5, 513}, {1300}, {2, 3, 640}, {4, 200, 9}};
    return kShapes[pick(static_cast<int>(kShapes.size()))];
  }
  const Shape& image() {
    static const std::vector<Shape> kShapes{
        {2, 12, 9, 7}, {1, 16, 12, 12}, {2, 3, 20, 20}, {1, 33, 5, 4}};
    return kShapes[pick(static_cast<int>(kShapes.size()))];
  }
  /// Late values rather than early ones, so that chains get long.
  ValueId value() {
    const int count = static_cast<int>(values_.size());
    const int back = std::min(pick(count), pick(count));
    return values_[count - 1 - back];
  }

  void append() {
    constexpr std::array kUnary{Floor, Sqrt, Rsqrt, Sin, Exp, Tanh, Log};
    constexpr std::array kBinary{Add,      Subtract,    Multiply, Divide, Min,
                                 Multiply, DivideNoNaN, Add,      Max};
    constexpr std::array kActivations{
        ActivationType::ReLU,      ActivationType::Linear,
        ActivationType::Sigmoid,   ActivationType::Tanh,
        ActivationType::GELU,      ActivationType::SiLU,
        ActivationType::HardSwish, ActivationType::SoftPlus};
    Program& program = test.program;
    const ValueId x = value();
    switch (pick(6)) {
      case 0:
        return add(OpKind::Unary, ArithmeticAttrs{kUnary[pick(7)]}, {x});
      case 1:
        return add(OpKind::Activation, activation(kActivations[pick(8)]), {x});
      case 2: {
        const ValueId y = value();
        if (program.shape(x) != program.shape(y)) return;
        return add(OpKind::ActivationGradient,
                   activation(kActivations[pick(8)]), {x, y});
      }
      default:
        return add(OpKind::Binary, ArithmeticAttrs{kBinary[pick(9)]},
                   {x, value()});
    }
  }
  static ActivationAttrs activation(ActivationType type) {
    ActivationAttrs attrs{.type = type};
    if (type == ActivationType::Linear) attrs.a = 1.5f, attrs.b = -0.25f;
    if (type == ActivationType::Tanh) attrs.a = attrs.b = 1;
    if (type == ActivationType::SoftPlus) attrs.a = attrs.b = 1;
    return attrs;
  }
  void add(OpKind op, Attributes attrs, std::vector<ValueId> inputs) {
    values_.push_back(
        test.program.append_one(op, std::move(attrs), std::move(inputs)));
  }
  /// Numbers that functions treat in a way of their own.
  void sprinkle(Floats& floats) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr std::array kOdd{
        0.0f,       -0.0f,  kInfinity,
        -kInfinity, 1e-40f, std::numeric_limits<float>::quiet_NaN()};
    for (float& x : floats) {
      if (pick(40) == 0) x = kOdd[pick(6)];
    }
  }

  Case test;
  std::mt19937 random_;
  std::vector<ValueId> values_;
};

TEST(Expressions, HaveTheBitsOfSingleNodes) {
  int fewer = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fewer +=
        Chains(seed, /*is_image=*/seed % 3 == 0).expect_bits_of_single_nodes();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(fewer, 300);
}

struct Units {
  Case test;
  std::size_t count(std::vector<ValueId> kept) const {
    return cpu::CpuTarget(2)
        .lower(test.program, {.kept = std::move(kept)})
        .units.size();
  }
  ValueId binary(ArithmeticOperation operation, ValueId x, ValueId y) {
    return test.program.append_one(OpKind::Binary, ArithmeticAttrs{operation},
                                   {x, y});
  }
};

TEST(Expressions, LeaveWhatSomebodyElseReads) {
  Units units;
  const ValueId x = units.test.input({4, 300});
  const ValueId y = units.binary(Add, x, x);
  const ValueId z = units.binary(Multiply, y, x);
  EXPECT_EQ(units.count({z}), 1u);
  EXPECT_EQ(units.count({y, z}), 2u);
  const ValueId w = units.binary(Multiply, y, y);
  EXPECT_EQ(units.count({z, w}), 3u);
}

TEST(Expressions, LeaveWhatRepeats) {
  Units units;
  const ValueId x = units.test.input({4, 300});
  const ValueId row = units.test.input({300});
  const ValueId once = units.binary(Add, row, row);
  const ValueId z = units.binary(Multiply, once, x);
  EXPECT_EQ(units.count({z}), 2u);  // else each row would compute it again
}

TEST(Expressions, LeaveShortRows) {
  Units units;
  const ValueId x = units.test.input({300, 4});
  const ValueId row = units.test.input({4});
  const ValueId y = units.binary(Add, x, row);
  EXPECT_EQ(units.count({units.binary(Multiply, y, x)}), 2u);
}

TEST(Expressions, ReadVariablesBeforeTheyChange) {
  Units units;
  const ValueId sum = units.test.input({300}, Role::Variable);
  const ValueId x = units.test.input({300});
  const ValueId factors = units.test.input({2});
  const ValueId y = units.binary(Add, sum, x);
  units.test.program.append(OpKind::AccumulateGradient, NoAttrs{},
                            {sum, x, factors});
  const ValueId z = units.binary(Multiply, y, x);
  EXPECT_EQ(units.count({z}), 3u);
}

TEST(Expressions, KeepNoMoreOperandsAlive) {
  Units units;
  Program& program = units.test.program;
  const auto softmax = [&](ValueId v) {
    return program.append_one(OpKind::Softmax, SoftmaxAttrs{.axis = 1}, {v});
  };
  // Inputs are in memory anyway, but not what these compute.
  const ValueId x = softmax(units.test.input({4, 300})),
                y = softmax(units.test.input({4, 300}));
  const ValueId sum = units.binary(Add, x, y);
  const ValueId z = units.binary(Multiply, sum, softmax(x));
  EXPECT_EQ(units.count({z}), 5u);
}

}  // namespace
}  // namespace traingraph::testing
