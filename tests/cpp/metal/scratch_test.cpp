// SPDX-License-Identifier: MIT
// The estimate of what an engine keeps for values inside a unit.
#include "metal/scratch.h"

#include <gtest/gtest.h>

namespace traingraph::metal {
namespace {

TEST(Scratch, IsWhatIsNeededAtOneTime) {
  Program program;
  const ValueId x = program.add_value(Role::Input, {{10}}, "x");
  const auto relu = [&](ValueId of) {
    return program.append_one(OpKind::Activation,
                              ActivationAttrs{ActivationType::ReLU, 0}, {of});
  };
  const ValueId a = relu(x), b = relu(a), c = relu(b);
  const ValueId sum = program.append_one(
      OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Add}, {a, c});
  const ValueId y = relu(sum);
  GpuUnit unit;
  unit.nodes = {0, 1, 2, 3, 4};
  unit.feeds = {x};
  unit.targets = {y};
  // a, with b and c, and with c and the sum.
  EXPECT_EQ(scratch_bytes(program, unit), 3 * 40u);
  unit.targets = {b, y};
  EXPECT_EQ(scratch_bytes(program, unit), 3 * 40u);
  unit.targets = {a, b, y};
  EXPECT_EQ(scratch_bytes(program, unit), 2 * 40u);
  unit.nodes = {4};
  unit.targets = {y};
  EXPECT_EQ(scratch_bytes(program, unit), 0u);
}

}  // namespace
}  // namespace traingraph::metal
