// SPDX-License-Identifier: MIT
// Updates of parameters that are stored in 16 bits: computed in float32 from
// the upcast values, and rounded once.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "cpu/ops/update_loops.h"
#include "ops/update.h"
#include "traingraph/half_types.h"

namespace traingraph::cpu {
namespace {

using Floats = std::vector<float>;
constexpr formulas::Hyperparameters kNow{
    .learning_rate = 0.05f, .corrected_rate = 0.03f, .clips = 1};

/// No multiple of a vector or a tile, and of more than one thread.
constexpr std::int64_t kSizes[] = {1, 37, kUpdateTile, 3 * kUpdateTile + 5,
                                   (1 << 15) + 3};

Floats random_floats(std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(static_cast<std::size_t>(n));
  for (float& value : values) value = normal(random);
  return values;
}

template <class T>
constexpr DataType type_of() {
  return std::is_same_v<T, bfloat16> ? DataType::BFloat16 : DataType::Float16;
}

/// What an update changes.
template <class T, class Step>
struct State {
  std::vector<T> p;
  std::vector<Floats> slots;

  explicit State(std::int64_t n) {
    const Floats values = random_floats(n, 1);
    p.assign(values.begin(), values.end());
    for (std::size_t i = 0; i < formulas::kMaxUpdateSlots; ++i) {
      slots.push_back(random_floats(n, static_cast<std::uint32_t>(2 + i)));
      for (float& value : slots.back()) value = std::fabs(value) + 1;
    }
  }
  void update(const Step& step, DataType type, const float* gradient) {
    Slots at{};
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = slots[i].data();
    update_all(step, static_cast<std::int64_t>(p.size()),
               {reinterpret_cast<std::byte*>(p.data()), type}, {gradient}, at);
  }
};

template <class T, class Step>
void expect_one_rounding(const Step& step, std::int64_t n) {
  const Floats gradient = random_floats(n, 9);
  State<T, Step> stored(n);
  State<float, Step> wide(n);
  wide.p.assign(stored.p.begin(), stored.p.end());
  stored.update(step, type_of<T>(), gradient.data());
  wide.update(step, DataType::Float32, gradient.data());
  for (std::size_t i = 0; i < stored.p.size(); ++i) {
    ASSERT_EQ(stored.p[i].bits, T(wide.p[i]).bits) << "at " << i;
  }
  // Slots never leave float32.
  ASSERT_EQ(stored.slots, wide.slots);
}

template <class Attrs>
Attrs with_decay(Attrs attrs) {
  attrs.gradient_rescale = 0.5f;
  attrs.regularization_type = RegularizationType::L2;
  attrs.regularization_scale = 0.125f;
  return attrs;
}

/// Every step of the attributes, in both types and all sizes.
template <template <class> class Step>
void expect_all(const Attributes& attrs, bool has_momentum) {
  const formulas::UpdateParams params = update_params(attrs, has_momentum);
  with_step<Step>(params.options, [&]<class Fixed>(std::type_identity<Fixed>) {
    const Fixed step(params, kNow, /*scale=*/0.75f, {});
    for (const std::int64_t n : kSizes) {
      expect_one_rounding<bfloat16>(step, n);
      expect_one_rounding<float16>(step, n);
    }
  });
}

TEST(StoredParameters, Sgd) {
  SgdUpdateAttrs attrs = with_decay(SgdUpdateAttrs{});
  attrs.momentum_scale = 0.75f;
  expect_all<formulas::SgdStep>(attrs, /*has_momentum=*/false);
  expect_all<formulas::SgdStep>(attrs, /*has_momentum=*/true);
  attrs.uses_nesterov_momentum = true;
  expect_all<formulas::SgdStep>(attrs, /*has_momentum=*/true);
}

TEST(StoredParameters, Adam) {
  AdamUpdateAttrs attrs = with_decay(AdamUpdateAttrs{});
  expect_all<formulas::AdamStep>(attrs, /*has_momentum=*/true);
  attrs.uses_amsgrad = true;
  expect_all<formulas::AdamStep>(attrs, /*has_momentum=*/true);
  attrs.decoupled_decay = true;
  expect_all<formulas::AdamStep>(attrs, /*has_momentum=*/true);
}

TEST(StoredParameters, Rmsprop) {
  RmspropUpdateAttrs attrs = with_decay(RmspropUpdateAttrs{});
  attrs.momentum_scale = 0.5f;
  for (const bool is_centered : {false, true}) {
    attrs.is_centered = is_centered;
    expect_all<formulas::RmspropStep>(attrs, /*has_momentum=*/false);
    expect_all<formulas::RmspropStep>(attrs, /*has_momentum=*/true);
  }
}

// Against double: half a unit in the last place, and what float32 adds.
template <class T>
void expect_near_double(double unit_roundoff) {
  constexpr std::int64_t kCount = 1000;
  const AdamUpdateAttrs attrs = with_decay(AdamUpdateAttrs{});
  using Step = formulas::AdamStep<FixedOptions<formulas::kL2>>;
  State<T, Step> state(kCount);
  const State<T, Step> before(kCount);
  const Floats gradient = random_floats(kCount, 9);
  const auto params = update_params(attrs, /*has_momentum=*/true);
  state.update(Step(params, kNow, /*scale=*/1, {}), type_of<T>(),
               gradient.data());
  for (std::size_t i = 0; i < kCount; ++i) {
    const double p = before.p[i], b1 = attrs.beta1, b2 = attrs.beta2;
    const double g = 0.5 * gradient[i] + 0.125 * p;
    const double m = b1 * before.slots[0][i] + (1 - b1) * g;
    const double v = b2 * before.slots[1][i] + (1 - b2) * g * g;
    const double exact = p - static_cast<double>(kNow.corrected_rate) * m /
                                 (std::sqrt(v) + attrs.epsilon);
    // Terms that cancel are of the size of p and of the step.
    const double floats = 4e-7 * (std::fabs(p) + std::fabs(m));
    ASSERT_NEAR(state.p[i], exact, unit_roundoff * std::fabs(exact) + floats)
        << "at " << i;
  }
}

TEST(StoredParameters, AdamAgainstDouble) {
  expect_near_double<bfloat16>(std::exp2(-8));
  expect_near_double<float16>(std::exp2(-11));
}

// A step that leaves the range is infinite, as it would be in float32.
TEST(StoredParameters, InfinityAndNaNStayThemselves) {
  const formulas::SgdStep<FixedOptions<0>> step(
      update_params(SgdUpdateAttrs{}, /*has_momentum=*/false), kNow,
      /*scale=*/1, {});
  std::vector<float16> p{float16(1), float16(65504)};
  const Floats gradient{std::nanf(""), -1e9f};
  update_all(step, 2,
             {reinterpret_cast<std::byte*>(p.data()), DataType::Float16},
             {gradient.data()}, {});
  EXPECT_TRUE(std::isnan(static_cast<float>(p[0])));
  EXPECT_TRUE(std::isinf(static_cast<float>(p[1])));
}

}  // namespace
}  // namespace traingraph::cpu
