// SPDX-License-Identifier: MIT
// Upsampling on the CPU: in the layouts of convolutions, with infinities, and
// with long sums; the cases of the table are plain and small.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/attributes.h"
#include "support/reference.h"
#include "support/run_op.h"

namespace traingraph::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<float> as_floats(const Values& values) {
  return {values.begin(), values.end()};
}

/// Upsamples between two convolutions, which choose the layout; forward and
/// back.
void compare_between_convolutions(std::int64_t channels,
                                  const UpsampleAttrs& attrs) {
  SCOPED_TRACE(to_string(Attributes(attrs)) + " " + std::to_string(channels));
  const Shape image{2, channels, 7, 6}, kernel{channels, channels, 1, 1};
  const std::int64_t height = attrs.shape.rank() == 2 ? attrs.shape[0] : 7;
  Program program;
  const ValueId x = program.add_value(Role::Input, {image}, "x");
  const ValueId w = program.add_value(Role::Variable, {kernel}, "w");
  const ValueId seed = program.add_value(
      Role::Input, {{2, channels, height, attrs.shape.back()}}, "seed");
  const auto convolved = [&](ValueId from) {
    return program.append_one(OpKind::Convolution2d, Convolution2dAttrs{},
                              {from, w});
  };
  const ValueId up =
      program.append_one(OpKind::Upsample, attrs, {convolved(x)});
  const ValueId y = convolved(up);
  UpsampleAttrs back = attrs;
  back.shape = attrs.shape.rank() == 2 ? Shape{7, 6} : Shape{6};
  const ValueId down =
      program.append_one(OpKind::UpsampleGradient, back, {convolved(seed)});
  const ValueId dx = convolved(down);
  RefValues given{{x, {image, random_values(image.num_elements(), 1)}},
                  {w, {kernel, random_values(kernel.num_elements(), 2)}},
                  {seed,
                   {program.shape(seed),
                    random_values(program.shape(seed).num_elements(), 3)}}};
  for (auto& [id, tensor] : given) {
    for (double& each : tensor.data) each = static_cast<float>(each);
  }
  ProgramRun run(program, {y, dx});
  for (const auto& [id, tensor] : given) run.set(id, as_floats(tensor.data));
  run.run();
  EXPECT_TRUE(run.has_intact_guards());
  const RefValues expected = evaluate_program(program, given);
  for (const ValueId id : {y, dx}) {
    const std::vector<float> got = run.get(id);
    expect_near({got.begin(), got.end()}, expected.at(id).data, 1e-3);
  }
}

TEST(UpsampleKernels, RunInTheLayoutOfConvolutions) {
  for (const std::int64_t channels : {3, 16, 32, 40}) {
    for (const Shape& shape : {Shape{14, 12}, Shape{3, 17}, Shape{9}}) {
      compare_between_convolutions(channels, {shape});
      compare_between_convolutions(channels, {shape, SampleMode::Linear});
      compare_between_convolutions(channels, {shape, SampleMode::Linear, true});
    }
  }
}

TEST(UpsampleKernels, ASampleWithoutWeightDoesNotCount) {
  OpRun up(OpKind::Upsample, UpsampleAttrs{{5}, SampleMode::Linear, true});
  up.input({1, 1, 3}, {1, kInfinity, 3}).run();
  expect_near(up.result(), {1, kInfinity, kInfinity, kInfinity, 3}, 0);
  OpRun down(OpKind::UpsampleGradient,
             UpsampleAttrs{{3}, SampleMode::Linear, true});
  down.input({1, 1, 5}, {kInfinity, 1, 1, 1, 2}).run();
  expect_near(down.result(), {kInfinity, 2, 2.5}, 0);
}

/// One sample becomes a million: its gradient is a sum of as many.
TEST(UpsampleKernels, LongSumsAreAccurate) {
  const Shape large{1, 1, 1000, 1000};
  Values gradient = random_values(large.num_elements(), 4);
  double sum = 0;
  for (double& each : gradient) {
    each = static_cast<float>(each + 10);
    sum += each;
  }
  for (const SampleMode mode : {SampleMode::Nearest, SampleMode::Linear}) {
    OpRun run(OpKind::UpsampleGradient, UpsampleAttrs{{1, 1}, mode});
    run.input(large, gradient).run();
    EXPECT_NEAR(run.result()[0] / sum, 1, 2e-6);
  }
}

}  // namespace
}  // namespace traingraph::testing
