// SPDX-License-Identifier: MIT
#include "traingraph/optimizers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/time_steps.h"
#include "traingraph/error.h"
#include "traingraph/losses.h"

namespace traingraph {
namespace {

using namespace optimizers;
using Names = std::vector<std::string_view>;

TEST(Optimizers, SlotsAndOps) {
  EXPECT_EQ(SGD(0.1f).slots(), Names{});
  EXPECT_EQ(SGD(0.1f, 0.9f).slots(), Names{"momentum"});
  EXPECT_EQ(Adam().slots(), (Names{"momentum", "velocity"}));
  EXPECT_EQ(Adam(1e-3f, 0.9f, 0.999f, 1e-8f, true).slots(),
            (Names{"momentum", "velocity", "maximum_velocity"}));
  EXPECT_EQ(RMSProp(0.1f).slots(), Names{"square_average"});
  EXPECT_EQ(RMSProp(0.1f, 0.5f, 0.9f, 1e-8f, true).slots(),
            (Names{"square_average", "momentum", "gradient_average"}));
  EXPECT_EQ(AdamW().op(), OpKind::AdamUpdate);
  EXPECT_EQ(AdamW().name(), "adamw");
}

TEST(Optimizers, AttributesComeFromTheDescriptor) {
  const OptimizerDescriptor descriptor{
      .learning_rate = 0.5f,
      .gradient_rescale = 0.25f,
      .gradient_clip_max = 3,
      .gradient_clip_min = -2,
      .regularization_type = RegularizationType::L2,
      .regularization_scale = 0.125f};
  const auto sgd =
      std::get<SgdUpdateAttrs>(SGD(descriptor, 0.9f, true).attributes());
  EXPECT_EQ(sgd.gradient_rescale, 0.25f);
  EXPECT_TRUE(sgd.clips_by_value);  // the switch is in the hyperparameters
  EXPECT_EQ(sgd.gradient_clip_max, 3);
  EXPECT_EQ(sgd.gradient_clip_min, -2);
  EXPECT_EQ(sgd.regularization_type, RegularizationType::L2);
  EXPECT_EQ(sgd.regularization_scale, 0.125f);
  EXPECT_EQ(sgd.momentum_scale, 0.9f);
  EXPECT_TRUE(sgd.uses_nesterov_momentum);

  OptimizerDescriptor decay = descriptor;
  decay.regularization_type = RegularizationType::None;
  const auto adamw = std::get<AdamUpdateAttrs>(AdamW(decay).attributes());
  EXPECT_TRUE(adamw.decoupled_decay);
  EXPECT_EQ(adamw.regularization_type, RegularizationType::None);
  EXPECT_EQ(adamw.regularization_scale, 0.125f);
  const auto adam = std::get<AdamUpdateAttrs>(Adam(descriptor).attributes());
  EXPECT_FALSE(adam.decoupled_decay);
  EXPECT_EQ(adam.regularization_type, RegularizationType::L2);
  const auto rmsprop = std::get<RmspropUpdateAttrs>(
      RMSProp(descriptor, 0.5f, 0.9f, 1e-6f, true).attributes());
  EXPECT_EQ(rmsprop.alpha, 0.9f);
  EXPECT_EQ(rmsprop.epsilon, 1e-6f);
  EXPECT_TRUE(rmsprop.is_centered);

  OptimizerDescriptor by_norm;
  by_norm.applies_gradient_clipping = true;
  by_norm.gradient_clipping_type = GradientClippingType::ByNorm;
  EXPECT_FALSE(
      std::get<SgdUpdateAttrs>(SGD(by_norm).attributes()).clips_by_value);
}

TEST(Optimizers, OptionsOfClippingSwitchItOn) {
  using D = OptimizerDescriptor;
  using enum GradientClippingType;
  EXPECT_FALSE(SGD(0.1f).applies_gradient_clipping());
  EXPECT_FALSE(SGD(D{.gradient_rescale = 2}).applies_gradient_clipping());
  for (const D& descriptor :
       {D{.gradient_clipping_type = ByNorm},
        D{.gradient_clipping_type = ByGlobalNorm, .maximum_clipping_norm = 2},
        D{.gradient_clip_max = 2}, D{.gradient_clip_min = -2},
        D{.gradient_clipping_type = ByGlobalNorm, .custom_global_norm = 2}}) {
    EXPECT_TRUE(SGD(descriptor).applies_gradient_clipping());
    EXPECT_EQ(SGD(descriptor).descriptor().applies_gradient_clipping, true);
    D off = descriptor;  // for now
    off.applies_gradient_clipping = false;
    EXPECT_FALSE(SGD(off).applies_gradient_clipping());
  }
}

TEST(Optimizers, CompareAsValues) {
  const Adam adam(0.1f);
  EXPECT_EQ(adam, Adam(0.1f));
  EXPECT_EQ(adam, *adam.clone());
  EXPECT_FALSE(adam == Adam(0.2f));
  EXPECT_FALSE(adam == Adam(0.1f, 0.8f));
  EXPECT_FALSE(adam == AdamW(0.1f));
  EXPECT_FALSE(adam == Adam(OptimizerDescriptor{.learning_rate = 0.1f,
                                                .gradient_rescale = 2}));
  Adam later(0.1f), scheduled(0.1f), clipped(0.1f);
  later.set_time_step(2);
  scheduled.set_schedule(Schedule::constant(0.1f));
  clipped.set_applies_gradient_clipping(true);
  for (const Adam* other : {&later, &scheduled, &clipped}) {
    EXPECT_FALSE(adam == *other);
    EXPECT_EQ(*other, *other->clone());
  }
}

TEST(Optimizers, AdamCorrectsTheRate) {
  Adam adam(0.01f);
  EXPECT_EQ(adam.time_step(), 1u);
  // t = 1: lr sqrt(0.001) / 0.1, up to the rounding of the float betas.
  EXPECT_NEAR(adam.corrected_rate(), 0.01 * std::sqrt(0.001) / 0.1, 1e-7);
  adam.set_time_step(1000000);
  EXPECT_NEAR(adam.corrected_rate(), 0.01, 1e-9);
  SGD sgd(0.5f);
  sgd.set_learning_rate(0.25f);
  EXPECT_EQ(sgd.corrected_rate(), 0.25f);
  EXPECT_EQ(sgd.descriptor().learning_rate, 0.5f);
}

TEST(Optimizers, ClonesShareNothing) {
  AdamW adamw(0.1f);
  adamw.set_time_step(5);
  adamw.set_applies_gradient_clipping(true);
  const auto clone = adamw.clone();
  adamw.set_time_step(9);
  adamw.set_learning_rate(1);
  EXPECT_EQ(clone->name(), "adamw");
  EXPECT_EQ(clone->time_step(), 5u);
  EXPECT_EQ(clone->learning_rate(), 0.1f);
  EXPECT_TRUE(clone->applies_gradient_clipping());
}

TEST(Optimizers, RefuseBadHyperParameters) {
  EXPECT_THROW(SGD(-1), InvalidArgument);
  EXPECT_THROW(SGD(NAN), InvalidArgument);
  EXPECT_NO_THROW(SGD(0));
  EXPECT_THROW(SGD(0.1f, -1), InvalidArgument);
  EXPECT_THROW(Adam(0.1f, 1), InvalidArgument);
  EXPECT_THROW(Adam(0.1f, 0.9f, -0.1f), InvalidArgument);
  EXPECT_THROW(Adam(0.1f, 0.9f, 0.9f, 0), InvalidArgument);
  EXPECT_THROW(Adam(0.1f, 0.9f, 0.9f, 1e-8f, false, 0), InvalidArgument);
  EXPECT_THROW(RMSProp(0.1f, 0, 1), InvalidArgument);
  OptimizerDescriptor descriptor;
  descriptor.gradient_clip_min = 2;
  EXPECT_THROW(SGD{descriptor}, InvalidArgument);
  descriptor = {};
  descriptor.maximum_clipping_norm = 0;
  EXPECT_THROW(SGD{descriptor}, InvalidArgument);
  SGD sgd(0.1f);
  EXPECT_THROW(sgd.set_learning_rate(INFINITY), InvalidArgument);
  EXPECT_THROW(sgd.set_time_step(0), InvalidArgument);
  sgd.set_time_step(kMaxTimeSteps);
  EXPECT_THROW(sgd.set_time_step(kMaxTimeSteps + 1), InvalidArgument);
}

}  // namespace
}  // namespace traingraph
