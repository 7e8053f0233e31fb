// SPDX-License-Identifier: MIT
// One of each kind of update, for tests of what all of them must keep to.
#pragma once

#include <memory>
#include <vector>

#include "support/training.h"

namespace traingraph::testing {

/// All optimizers have momentum, weight decay, and clipping by norm and by that
/// of all.
inline std::vector<OptimizerPtr> all_optimizers() {
  OptimizerDescriptor clipped{.learning_rate = 0.1f,
                              .applies_gradient_clipping = true};
  clipped.gradient_clipping_type = GradientClippingType::ByGlobalNorm;
  clipped.maximum_clipping_norm = 0.01f;
  OptimizerDescriptor one_by_one = clipped;
  one_by_one.gradient_clipping_type = GradientClippingType::ByNorm;
  OptimizerDescriptor decays{.learning_rate = 0.05f,
                             .regularization_type = RegularizationType::L2,
                             .regularization_scale = 0.1f};
  return {std::make_shared<optimizers::SGD>(0.1f),
          std::make_shared<optimizers::SGD>(decays, 0.9f),
          std::make_shared<optimizers::SGD>(clipped, 0.9f, true),
          std::make_shared<optimizers::SGD>(one_by_one, 0.9f),
          std::make_shared<optimizers::Adam>(0.01f),
          std::make_shared<optimizers::AdamW>(OptimizerDescriptor{
              .learning_rate = 0.01f, .regularization_scale = 0.1f}),
          std::make_shared<optimizers::RMSProp>(0.01f)};
}

inline void expect_all_near(const std::vector<Floats>& got,
                            const std::vector<Floats>& expected,
                            double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_near(got[i], expected[i], tolerance);
  }
}

}  // namespace traingraph::testing
