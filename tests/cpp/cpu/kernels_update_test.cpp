// SPDX-License-Identifier: MIT
// Optimizer updates of what is no number, and clipping and accumulation worked
// out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "support/run_op.h"

namespace traingraph::testing {
namespace {

TEST(SgdUpdate, PassesNaNOn) {
  // A clipped NaN would hide that training has diverged.
  SgdUpdateAttrs attrs;
  attrs.clips_by_value = true;
  OpRun run(OpKind::SgdUpdate, attrs);
  run.variable({2}, {1, 1}).input({2}, {std::nan(""), 5}).no_input();
  run.input({4}, {0.5, 0, 1, 0}).no_input().run();
  expect_near(run.after(0), {std::nan(""), 0.5}, 0);
}

double clip_scale(ClipScaleAttrs attrs, bool clips, const Values& squares) {
  OpRun run(OpKind::ClipScale, attrs);
  run.input({4}, {0.05, 0.03, clips ? 1.0 : 0.0, 0});
  for (double square : squares) run.input({1}, {square});
  run.run();
  return run.result()[0];
}

TEST(ClipScale, ScalesOnlyWhatIsTooLarge) {
  EXPECT_EQ(clip_scale({.maximum_norm = 1}, true, {9, 16}), 0.2f);
  EXPECT_EQ(clip_scale({.maximum_norm = 5}, true, {9, 16}), 1);
  EXPECT_EQ(clip_scale({.maximum_norm = 1}, false, {9, 16}), 1);
  EXPECT_EQ(clip_scale({.maximum_norm = 1}, true, {0}), 1);
  EXPECT_EQ(clip_scale({.maximum_norm = 1, .custom_norm = 4}, true, {9}), 0.25);
}

Values accumulated(const Values& sum, const Values& gradient,
                   const Values& factors) {
  OpRun run(OpKind::AccumulateGradient, NoAttrs{});
  const Shape shape{static_cast<std::int64_t>(sum.size())};
  run.variable(shape, sum).input(shape, gradient).input({2}, factors).run();
  return run.after(0);
}

TEST(AccumulateGradient, AddsOrStartsOver) {
  expect_near(accumulated({1, 2}, {10, 20}, {1, 1}), {11, 22}, 0);
  expect_near(accumulated({1, 2}, {10, 20}, {0.5, 1}), {10.5, 21}, 0);
  expect_near(accumulated({1, 2}, {10, 20}, {0.5, 0.5}), {5.5, 11}, 0);
  expect_near(accumulated({std::nan(""), 2}, {10, 20}, {0, 1}), {10, 20}, 0);
}

}  // namespace
}  // namespace traingraph::testing
