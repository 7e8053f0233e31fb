// SPDX-License-Identifier: MIT
// The CPU's kernel table against its kernels: every case with its floats stored
// in 16 bits is lowered as it is, without casts. It must be refused where the
// table says so, and only there: else a kernel can never be chosen, or one is
// chosen that is not there. half_cases_test.cpp has the numbers.
#include "cpu/kernel_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/passes/upcast.h"
#include "cpu/cpu_target.h"
#include "cpu/native_types.h"
#include "ops/case_program.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

constexpr DataType kHalves[] = {DataType::BFloat16, DataType::Float16};

/// The case as nothing but its node and what comes before it.
struct HalfCase {
  OpCase stored;
  CaseProgram built;
  DataType type;

  HalfCase(const OpCase& op_case, DataType half)
      : stored(stored_as(op_case, half)), built(build(stored)), type(half) {}

  const Node& node() const { return built.program.node(built.node); }
  bool has_halves() const {
    const Program& program = built.program;
    const auto is_it = [&](ValueId id) {
      return id != kNoValue && !program.value(id).is_opaque &&
             program.desc(id).data_type == type;
    };
    return std::ranges::any_of(node().inputs, is_it) ||
           std::ranges::any_of(node().outputs, is_it);
  }
  /// Has a forward op before it, which makes its state.
  bool has_one_node() const { return built.program.nodes().size() == 1; }
};

template <class Use>
void for_each_case(Use use) {
  for (const OpCase& op_case : op_cases()) {
    for (const DataType type : kHalves) {
      HalfCase half(op_case, type);
      if (!half.has_halves()) continue;
      SCOPED_TRACE(describe(half.stored) + " in " +
                   std::string(to_string(type)));
      use(half);
    }
  }
}

int num_casts(const Program& program) {
  return static_cast<int>(std::ranges::count_if(
      program.nodes(),
      [](const Node& node) { return node.op->kind == OpKind::Cast; }));
}

/// Casts that upcast() puts around the op.
int num_casts_around(OpKind op, const Attributes& attrs, const Shape& shape,
                     DataType type) {
  Program program;
  const ValueId x = program.add_value(Role::Input, {shape, type}, "x");
  program.append(op, attrs, {x}, "node");
  upcast(cpu::CpuTarget(/*num_threads=*/1), program);
  return num_casts(program);
}

TEST(KernelTable, HasTheKernelsThatAreThere) {
  const cpu::CpuTarget target(/*num_threads=*/1);
  for_each_case([&](const HalfCase& half) {
    const Program& program = half.built.program;
    const bool is_taken = cpu::takes_half(program, half.node(), half.type);
    // A rule may leave out what is there, but slow or wrong on a processor.
    const bool has_rule = cpu::kernel_of(half.node().op->kind).takes != nullptr;
    if (!half.has_one_node() || (!is_taken && has_rule)) return;
    const auto lower = [&] {
      target.lower(program, {.kept = half.built.results});
    };
    if (is_taken) {
      EXPECT_NO_THROW(lower());
    } else {
      EXPECT_THROW(lower(), UnsupportedError);
    }
  });
}

TEST(KernelTable, SaysWhereCastsAre) {
  for_each_case([](HalfCase& half) {
    Program& program = half.built.program;
    const bool computes =
        std::ranges::all_of(program.nodes(), [&](const Node& node) {
          return cpu::takes_half(program, node, half.type);
        });
    const int own = num_casts(program);
    try {
      upcast(cpu::CpuTarget(/*num_threads=*/1), program);
    } catch (const UnsupportedError&) {
      EXPECT_FALSE(computes);  // it changes a variable
      return;
    }
    EXPECT_EQ(num_casts(program) == own, computes);
  });
}

TEST(KernelTable, MovesBytesWithoutCasts) {
  const PadAttrs zeros{.type = PaddingType::Zero, .before = {1}, .after = {2}};
  const PadAttrs mirrored{
      .type = PaddingType::Reflect, .before = {1}, .after = {2}};
  const SliceGradientAttrs slice{
      .start = {1}, .end = {9}, .stride = {}, .shape = {11}};
  for (const DataType type : kHalves) {
    EXPECT_EQ(num_casts_around(OpKind::PadGradient, zeros, {8}, type), 0);
    EXPECT_EQ(num_casts_around(OpKind::PadGradient, mirrored, {8}, type), 0);
    EXPECT_EQ(num_casts_around(OpKind::SliceGradient, slice, {8}, type), 0);
    EXPECT_EQ(
        num_casts_around(OpKind::Reduce, ReduceAttrs{ReductionType::None, {0}},
                         {8}, type),
        0);
  }
}

TEST(KernelTable, ChoosesTheSquaredNormOfBFloat16) {
  EXPECT_EQ(
      num_casts_around(OpKind::SquaredNorm, NoAttrs{}, {8}, DataType::BFloat16),
      0);
  EXPECT_EQ(
      num_casts_around(OpKind::SquaredNorm, NoAttrs{}, {8}, DataType::Float16),
      1);
}

TEST(KernelTable, DependsOnTheProcessor) {
  Program program;
  const auto value = [&](const Shape& shape) {
    return program.add_value(Role::Input, {shape, DataType::BFloat16}, "x");
  };
  program.append(OpKind::Convolution2d, Convolution2dAttrs{},
                 {value({1, 2, 5, 5}), value({3, 2, 2, 2}), kNoValue}, "node");
  const Node& node = program.node(0);
  EXPECT_EQ(cpu::takes_half(program, node, DataType::BFloat16),
            cpu::has_convolutions(DataType::BFloat16));
  EXPECT_EQ(cpu::takes_half(program, node, DataType::Float16),
            cpu::has_convolutions(DataType::Float16));
}

}  // namespace
}  // namespace traingraph::testing
