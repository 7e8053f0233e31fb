// SPDX-License-Identifier: MIT
// Float16 and BFloat16 in the emulated MPSGraph: every result is rounded once,
// to nearest even; constants as well; types do not mix.
#include "ops_support.h"

#include <bit>
#include <cmath>
#include <limits>

#include "element_types.h"
#include "emulator/hardware_faults.h"
#include "traingraph/half_types.h"

namespace {

using traingraph::bfloat16;
using traingraph::float16;

struct Half {
  MPSDataType type;
  double (*rounded)(float);
};

const Half kHalves[] = {
    {MPSDataTypeFloat16, [](float x) -> double { return float16(x); }},
    {MPSDataTypeBFloat16, [](float x) -> double { return bfloat16(x); }}};

/// Rounds to numbers that the type holds.
Values rounded(const Half& half, Values values) {
  for (double& x : values) x = half.rounded(static_cast<float>(x));
  return values;
}

TEST_F(OpsTest, HalvesHaveTheBitsOfTheValueTypes) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto stored = static_cast<std::uint16_t>(bits);
    double half, bfloat;
    emulator::decode(MPSDataTypeFloat16, &stored, 1, &half);
    emulator::decode(MPSDataTypeBFloat16, &stored, 1, &bfloat);
    float16 expected_half;
    bfloat16 expected_bfloat;
    expected_half.bits = expected_bfloat.bits = stored;
    if (!std::isnan(half)) ASSERT_EQ(half, double{float{expected_half}});
    if (!std::isnan(bfloat)) ASSERT_EQ(bfloat, double{float{expected_bfloat}});
  }
  // All exponents, and numbers half way between two of either type.
  for (std::uint32_t bits = 0; bits < 0x7f800000; bits += 0x7ff) {
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      const float x = std::bit_cast<float>(bits | sign);
      for (const Half& half : kHalves) {
        ASSERT_EQ(emulator::round_to_type(half.type, x), half.rounded(x)) << x;
      }
    }
  }
  for (const float x : {1 + 0x1p-8F, 1 + 0x3p-8F, 1 + 0x1p-11F, 1 + 0x3p-11F,
                        65519.F, 65520.F, 0x1p-24F, 0x1p-25F, 0x3p-26F,
                        0x1.fep127F, 0x1.ffp127F, 0x1p-133F, 0x1p-134F}) {
    for (const Half& half : kHalves) {
      EXPECT_EQ(emulator::round_to_type(half.type, x), half.rounded(x)) << x;
    }
  }
}

TEST_F(OpsTest, HalfArithmeticRoundsOnce) {
  const Values a = scattered(64, 1), b = scattered(64, 2);
  for (const Half& half : kHalves) {
    const Values x = rounded(half, a), y = rounded(half, b);
    MPSGraphTensor* sum =
        [graph additionWithPrimaryTensor:feed({64}, x, half.type)
                         secondaryTensor:feed({64}, y, half.type)
                                    name:nil];
    MPSGraphTensor* root =
        [graph squareRootWithTensor:[graph absoluteWithTensor:sum name:nil]
                               name:nil];
    const auto got = run_all(@[ sum, root ]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(got[0][i], half.rounded(static_cast<float>(x[i] + y[i])));
      ASSERT_EQ(
          got[1][i],
          half.rounded(static_cast<float>(std::sqrt(std::abs(got[0][i])))));
    }
  }
}

TEST_F(OpsTest, HalfProductsAndSumsRoundOnce) {
  // 63 ones beside 2048: a sum in either type would stay where it is.
  Values x(64, 1);
  x[0] = 2048;
  const Values ones(64, 1);
  for (const Half& half : kHalves) {
    MPSGraphTensor* row = feed({1, 64}, x, half.type);
    MPSGraphTensor* product = [graph
        matrixMultiplicationWithPrimaryTensor:row
                              secondaryTensor:feed({64, 1}, ones, half.type)
                                         name:nil];
    MPSGraphTensor* sum = [graph reductionSumWithTensor:row
                                                   axes:numbers({1})
                                                   name:nil];
    const auto got = run_all(@[ product, sum ]);
    EXPECT_EQ(got[0].at(0), half.rounded(2111));
    EXPECT_EQ(got[1].at(0), half.rounded(2111));
  }
}

TEST_F(OpsTest, HalfConstantsAreRounded) {
  for (const Half& half : kHalves) {
    MPSGraphTensor* tenth = [graph constantWithScalar:0.1
                                                shape:numbers({1})
                                             dataType:half.type];
    MPSGraphTensor* tiny = [graph constantWithScalar:1e-12
                                               shape:numbers({1})
                                            dataType:half.type];
    MPSGraphTensor* large = [graph constantWithScalar:-1e5
                                                shape:numbers({1})
                                             dataType:half.type];
    MPSGraphTensor* one = feed({1}, {1}, half.type);
    NSMutableArray* products = [NSMutableArray array];
    for (MPSGraphTensor* constant in @[ tenth, tiny, large ]) {
      [products addObject:[graph multiplicationWithPrimaryTensor:one
                                                 secondaryTensor:constant
                                                            name:nil]];
    }
    const auto got = run_all(products);
    EXPECT_EQ(got[0].at(0), half.rounded(0.1F));
    EXPECT_EQ(got[1].at(0), half.rounded(1e-12F));
    EXPECT_EQ(got[2].at(0), half.rounded(-1e5F));
  }
}

TEST_F(OpsTest, HalfOperandsDoNotMix) {
  MPSGraphTensor* single = feed({2, 2}, {1, 2, 3, 4});
  for (const Half& half : kHalves) {
    MPSGraphTensor* x = feed({2, 2}, {1, 2, 3, 4}, half.type);
    EXPECT_NE(refusal([&] {
                [graph additionWithPrimaryTensor:x
                                 secondaryTensor:single
                                            name:nil];
              }),
              "");
    EXPECT_NE(refusal([&] {
                [graph matrixMultiplicationWithPrimaryTensor:single
                                             secondaryTensor:x
                                                        name:nil];
              }),
              "");
    EXPECT_NE(refusal([&] {
                [graph concatTensors:@[ x, single ] dimension:0 name:nil];
              }),
              "");
  }
}

TEST_F(OpsTest, BFloatIsNotThereBeforeMacOs14) {
  const emulator::Imitation imitation({.lacks_bfloat16 = true});
  const auto placeholder = [&](MPSDataType type) {
    return refusal([&] {
      [graph placeholderWithShape:numbers({1}) dataType:type name:nil];
    });
  };
  EXPECT_NE(placeholder(MPSDataTypeBFloat16), "");
  EXPECT_EQ(placeholder(MPSDataTypeFloat16), "");
  EXPECT_NE(refusal([&] {
              [graph castTensor:feed({1}) toType:MPSDataTypeBFloat16 name:nil];
            }),
            "");
}

}  // namespace
