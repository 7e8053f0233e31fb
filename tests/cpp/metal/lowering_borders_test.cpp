// SPDX-License-Identifier: MIT
// What enters and leaves an executable: results that are nothing but an input,
// a constant or each other; arguments in any order; types that MPSGraph does
// not mix.
#include <gtest/gtest.h>

#include <limits>

#include "metal/lowering_support.h"
#include "runtime/device/backend.h"

namespace traingraph::testing {
namespace {

using Values = std::vector<double>;
using Floats = std::vector<float>;

const Attributes kCopy = ReduceAttrs{ReductionType::None, {}};

TEST(Results, MayBeAnInput) {
  EXPECT_EQ(run_on_gpu(OpKind::Reduce, kCopy, {{{3}, {1, 2, 3}}}),
            (Values{1, 2, 3}));
}

TEST(Results, MayBeAConstant) {
  const FillAttrs attrs{.shape = {2}, .value = 7};
  EXPECT_EQ(run_on_gpu(OpKind::Fill, attrs, {}), (Values{7, 7}));
}

TEST(Results, MayBeTheSameTensor) {
  Program program;
  const ValueId x = program.add_value(Role::Input, {{3}}, "x");
  const ValueId y = program.append_one(
      OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Floor}, {x}, "y");
  const ValueId a = program.append_one(OpKind::Reduce, kCopy, {y}, "a");
  const ValueId b = program.append_one(OpKind::Reduce, kCopy, {y}, "b");
  const ValueId c = program.append_one(OpKind::Reduce, kCopy, {x}, "c");
  ProgramRun run(program, {y, a, b, c}, DeviceType::GPU);
  run.set(x, Floats{1.5, 2.5, -0.5});
  run.run();
  for (ValueId id : {y, a, b}) EXPECT_EQ(run.get(id), (Floats{1, 2, -1}));
  EXPECT_EQ(run.get(c), (Floats{1.5, 2.5, -0.5}));
}

// An executable has an order of its own; shapes do not tell these apart.
TEST(Arguments, AreMatchedByTensor) {
  Program program;
  std::vector<ValueId> inputs, results;
  for (int i = 0; i < 6; ++i) {
    inputs.push_back(program.add_value(Role::Input, {{2}}, "input"));
  }
  for (int i = 0; i + 1 < 6; ++i) {
    results.push_back(program.append_one(
        OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Subtract},
        {inputs[i], inputs[i + 1]}, "difference"));
  }
  ProgramRun run(program, results, DeviceType::GPU);
  float power = 1;
  for (ValueId input : inputs) run.set(input, Floats(2, power *= 2));
  run.run();
  power = 1;
  for (ValueId result : results) {
    EXPECT_EQ(run.get(result), Floats(2, -(power *= 2)));
  }
}

// MPSGraph promises nothing about memory that is read and written at once.
TEST(Variables, AreReadAndWrittenByOneUnit) {
  Program program;
  const ValueId p = program.add_value(Role::Variable, {{3}}, "p");
  const ValueId g = program.add_value(Role::Input, {{3}}, "g");
  const ValueId factors = program.add_value(Role::Input, {{2}}, "factors");
  for (int i = 0; i < 2; ++i) {
    program.append(OpKind::AccumulateGradient, NoAttrs{}, {p, g, factors},
                   "accumulate");
  }
  ProgramRun run(program, {p}, DeviceType::GPU);
  run.set(p, Floats{1, 2, 3});
  run.set(g, Floats{10, 20, 30});
  run.set(factors, Floats{2, 1});
  run.run();
  EXPECT_EQ(run.get(p), (Floats{34, 68, 102}));
}

TEST(Types, OfBooleansCompareAsNumbers) {
  const Operand x{{4}, {0, 0, 1, 1}, DataType::Boolean};
  const Operand y{{4}, {0, 1, 0, 1}, DataType::Boolean};
  using enum ComparisonOperation;
  EXPECT_EQ(run_on_gpu(OpKind::Compare, CompareAttrs{Less}, {x, y}),
            (Values{0, 1, 0, 0}));
  EXPECT_EQ(run_on_gpu(OpKind::Compare, CompareAttrs{Equal}, {x, y}),
            (Values{1, 0, 0, 1}));
  EXPECT_EQ(run_on_gpu(OpKind::Compare, CompareAttrs{LogicalXOR}, {x, y}),
            (Values{0, 1, 1, 0}));
}

TEST(Types, ConvertBetweenAll) {
  constexpr DataType kTypes[] = {DataType::Float32, DataType::Int32,
                                 DataType::Int64,   DataType::Int8,
                                 DataType::UInt8,   DataType::Boolean};
  for (DataType from : kTypes) {
    for (DataType to : kTypes) {
      SCOPED_TRACE(std::string(to_string(from)) + " to " +
                   std::string(to_string(to)));
      EXPECT_EQ(
          run_on_gpu(OpKind::Cast, CastAttrs{to}, {{{4}, {0, 1, 1, 0}, from}}),
          (Values{0, 1, 1, 0}));
    }
  }
}

TEST(Types, SelectTakesABoolean) {
  const Operand condition{{2, 1}, {1, 0}, DataType::Boolean};
  EXPECT_EQ(run_on_gpu(OpKind::Select, NoAttrs{},
                       {condition, {{2}, {1, 2}}, {{1}, {9}}}),
            (Values{1, 2, 9, 9}));
}

TEST(EmptyMemory, CanBeAllocated) {
  const auto buffer =
      find_device_context(DeviceType::GPU)->allocate(0, "nothing");
  EXPECT_EQ(buffer->size_bytes(), 0u);
}

}  // namespace
}  // namespace traingraph::testing
