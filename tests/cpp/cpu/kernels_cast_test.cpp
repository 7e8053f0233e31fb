// SPDX-License-Identifier: MIT
// Conversions and constants, worked out by hand.
#include <cmath>

#include "cpu/kernel_case.h"
#include "support/run_op.h"

namespace traingraph::testing {
namespace {

TEST(CastKernel, SaturatesAndKeepsBooleans) {
  Case test;
  const ValueId x = test.input({4});
  test.data[0].second = {-2.7f, 0, 3e9f, std::nanf("")};
  const auto cast = [&](DataType type) {
    return test.program.append_one(OpKind::Cast, CastAttrs{type}, {x});
  };
  const ValueId integer = cast(DataType::Int32), large = cast(DataType::Int64),
                boolean = cast(DataType::Boolean);
  const ProgramRun run = test.run({integer, large, boolean});
  EXPECT_EQ(run.get<std::int32_t>(integer),
            (std::vector<std::int32_t>{-2, 0, 2147483647, 0}));
  EXPECT_EQ(run.get<std::int64_t>(large),
            (std::vector<std::int64_t>{-2, 0, 3000000000, 0}));
  EXPECT_EQ(run.get<std::uint8_t>(boolean),
            (std::vector<std::uint8_t>{1, 0, 1, 1}));
}

TEST(CastKernel, TakesEveryByteForABoolean) {
  OpRun run(OpKind::Cast, CastAttrs{DataType::Float32});
  run.input({4}, {0, 1, 2, 255}, DataType::Boolean).run();
  EXPECT_EQ(run.result(), (Values{0, 1, 1, 1}));
}

TEST(FillKernel, WritesEveryElement) {
  Case test;
  const ValueId ones = test.program.append_one(
      OpKind::Fill, FillAttrs{{130, 131}, 1.5f, DataType::Float32}, {});
  const ProgramRun run = test.run({ones});
  EXPECT_EQ(run.get(ones), Floats(130 * 131, 1.5f));
}

}  // namespace
}  // namespace traingraph::testing
