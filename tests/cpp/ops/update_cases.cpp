// SPDX-License-Identifier: MIT
// Cases of the optimizer updates: every slot, clipping on and off, every
// regularisation. They have no results; the parameter and the slots count.
#include <cmath>
#include <limits>

#include "ops/cases.h"

namespace traingraph::testing {
namespace {

CaseInput hyperparameters(bool clips) {
  return {{4}, values({0.05, 0.03, clips ? 1.0 : 0.0, 0})};
}

CaseInput optional_scale(bool is_there) {
  return is_there ? CaseInput{{1}, values({0.625})} : absent();
}

CaseInput optional_slot(bool is_there, const Shape& shape, Domain domain) {
  return is_there ? CaseInput{shape, std::move(domain)} : absent();
}

/// Gradient preparation: clipping, rescaling and regularisation.
template <class Attrs>
std::vector<Attrs> prepared(const Attrs& plain) {
  std::vector<Attrs> all{plain};
  for (auto type : {RegularizationType::None, RegularizationType::L1,
                    RegularizationType::L2}) {
    for (bool clips : {false, true}) {
      Attrs attrs = plain;
      attrs.gradient_rescale = 0.5f;
      attrs.clips_by_value = clips;
      attrs.gradient_clip_min = -0.25f;
      attrs.gradient_clip_max = 0.5f;
      attrs.regularization_type = type;
      attrs.regularization_scale = 0.125f;
      attrs.lr_scale = clips ? 0.3f : 1;
      all.push_back(attrs);
    }
  }
  return all;
}

const Shape kSmall{3, 7};
const Shape kLarge{3, 61, 127};

void add_sgd(OpCases& cases, const SgdUpdateAttrs& attrs, const Shape& shape,
             bool has_slot, int turn) {
  cases.push_back({.op = OpKind::SgdUpdate,
                   .attrs = attrs,
                   .inputs = {{shape},
                              {shape},
                              optional_slot(has_slot, shape, uniform()),
                              hyperparameters(turn % 3 != 0),
                              optional_scale(turn % 2 == 0)}});
}

void add_sgds(OpCases& cases) {
  int turn = 0;
  for (const SgdUpdateAttrs& plain : prepared(SgdUpdateAttrs{})) {
    for (bool nesterov : {false, true}) {
      SgdUpdateAttrs attrs = plain;
      add_sgd(cases, attrs, kSmall, false, turn++);
      attrs.momentum_scale = 0.9f;
      attrs.uses_nesterov_momentum = nesterov;
      add_sgd(cases, attrs, kSmall, true, turn++);
      add_sgd(cases, attrs, kLarge, true, turn++);
    }
  }
  add_sgd(cases, {}, {1}, true, 0);
}

void add_adams(OpCases& cases) {
  int turn = 0;
  for (const AdamUpdateAttrs& plain : prepared(AdamUpdateAttrs{})) {
    for (int bits = 0; bits < 4; ++bits) {
      AdamUpdateAttrs attrs = plain;
      attrs.uses_amsgrad = (bits & 1) != 0;
      attrs.decoupled_decay = (bits & 2) != 0;
      attrs.epsilon = turn % 2 == 0 ? 1e-8f : 1e-3f;
      const Shape& shape = turn % 4 == 3 ? kLarge : kSmall;
      const Domain square = uniform(0.01, 1);
      cases.push_back(
          {.op = OpKind::AdamUpdate,
           .attrs = attrs,
           .inputs = {{shape},
                      {shape},
                      {shape},
                      {shape, square},
                      optional_slot(attrs.uses_amsgrad, shape, square),
                      hyperparameters(turn % 3 != 0),
                      optional_scale(turn % 2 == 1)}});
      ++turn;
    }
  }
}

void add_rmsprops(OpCases& cases) {
  int turn = 0;
  for (const RmspropUpdateAttrs& plain : prepared(RmspropUpdateAttrs{})) {
    for (int bits = 0; bits < 4; ++bits) {
      RmspropUpdateAttrs attrs = plain;
      const bool has_momentum = (bits & 1) != 0;
      attrs.momentum_scale = has_momentum ? 0.8f : 0;
      attrs.is_centered = (bits & 2) != 0;
      attrs.alpha = 0.9f;
      const Shape& shape = turn % 4 == 3 ? kLarge : kSmall;
      // The average of squares is above the square of the average.
      cases.push_back({.op = OpKind::RmspropUpdate,
                       .attrs = attrs,
                       .inputs = {{shape},
                                  {shape},
                                  {shape, uniform(0.5, 1)},
                                  optional_slot(has_momentum, shape, uniform()),
                                  optional_slot(attrs.is_centered, shape,
                                                uniform(-0.4, 0.4)),
                                  hyperparameters(turn % 3 != 0),
                                  optional_scale(turn % 2 == 1)}});
      ++turn;
    }
  }
}

void add_clip_scales(OpCases& cases) {
  const auto add = [&](const ClipScaleAttrs& attrs, bool clips,
                       std::vector<double> squares) {
    OpCase op_case{.op = OpKind::ClipScale, .attrs = attrs};
    op_case.inputs.push_back(hyperparameters(clips));
    for (double square : squares) {
      op_case.inputs.push_back({{1}, values({square})});
    }
    cases.push_back(op_case);
  };
  for (bool clips : {false, true}) {
    add({.maximum_norm = 1}, clips, {9});
    add({.maximum_norm = 1}, clips, {0.25});
    add({.maximum_norm = 1}, clips, {0});
    add({.maximum_norm = 2}, clips, {1, 2, 3, 4, 5});
    add({.maximum_norm = 0.5f, .custom_norm = 4}, clips, {0});
    add({.maximum_norm = 5, .custom_norm = 4}, clips, {100, 7});
  }
}

/// Updates that a loss scale leaves out: nothing changes, whatever arrives.
void add_left_out(OpCases& cases) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const CaseInput x{kSmall}, bad{{1, 1}, values({kNaN})},
      none{{1}, values({-1})};
  const CaseInput one{{1, 1}};
  cases.push_back({.op = OpKind::SgdUpdate,
                   .attrs = SgdUpdateAttrs{.momentum_scale = 0.9f},
                   .inputs = {one, bad, one, hyperparameters(true), none}});
  cases.push_back({.op = OpKind::AdamUpdate,
                   .attrs = AdamUpdateAttrs{.uses_amsgrad = true},
                   .inputs = {x,
                              x,
                              x,
                              {kSmall, uniform(0.01, 1)},
                              {kSmall, uniform(0.01, 1)},
                              hyperparameters(true),
                              none}});
  cases.push_back({.op = OpKind::RmspropUpdate,
                   .attrs = RmspropUpdateAttrs{},
                   .inputs = {one,
                              bad,
                              {{1, 1}, uniform(0.5, 1)},
                              absent(),
                              absent(),
                              hyperparameters(true),
                              none}});
}

void add_loss_scales(OpCases& cases) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const LossScaleAttrs adam{.interval = 3, .beta1 = 0.9f, .beta2 = 0.999f};
  const auto add = [&](const LossScaleAttrs& attrs, std::vector<double> state,
                       double step, std::vector<double> squares) {
    OpCase op_case{.op = OpKind::UpdateLossScale, .attrs = attrs};
    op_case.inputs.push_back({{4}, values(std::move(state))});
    op_case.inputs.push_back({{4}, values({0.05, 0.03, 1, step})});
    for (double square : squares) {
      op_case.inputs.push_back({{1}, values({square})});
    }
    cases.push_back(op_case);
  };
  const double largest = std::exp2(24), least = std::exp2(-24);
  for (const LossScaleAttrs& attrs : {LossScaleAttrs{.interval = 3}, adam}) {
    add(attrs, {1024, 0, 0, 0}, 1, {9, 0});
    add(attrs, {1024, 2, 0, 0}, 7, {9, 0});          // doubles
    add(attrs, {1024, 1, 2, 0}, 7, {9, kInfinity});  // halves
    add(attrs, {1024, 2, 6, 0}, 7, {kNaN, 9});
    add(attrs, {largest, 2, 1, 0}, 4000, {9});
    add(attrs, {least, 0, 5, 0}, 300, {kInfinity});
    add(attrs, {1024, 0, 1, 0}, 2, {0});  // 1 - beta^1
  }
}

void add_accumulations(OpCases& cases) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const Shape& shape : {Shape{1}, kSmall, kLarge}) {
    for (double keep : {0.0, 1.0, 0.75}) {
      for (double add : {1.0, 0.25}) {
        cases.push_back(
            {.op = OpKind::AccumulateGradient,
             .attrs = NoAttrs{},
             .inputs = {{shape}, {shape}, {{2}, values({keep, add})}}});
      }
    }
    // Keeping 0 overwrites whatever was there.
    cases.push_back(
        {.op = OpKind::AccumulateGradient,
         .attrs = NoAttrs{},
         .inputs = {{shape, values({kNaN})}, {shape}, {{2}, values({0, 1})}}});
  }
}

}  // namespace

void add_update_cases(OpCases& cases, Random&) {
  add_sgds(cases);
  add_adams(cases);
  add_rmsprops(cases);
  add_left_out(cases);
  add_loss_scales(cases);
  add_clip_scales(cases);
  add_accumulations(cases);
}

}  // namespace traingraph::testing
