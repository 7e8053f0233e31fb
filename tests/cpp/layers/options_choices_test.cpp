// SPDX-License-Identifier: MIT
// Options of types that share a descriptor: activations, losses, optimizers.
#include <gtest/gtest.h>

#include "graph/attributes.h"
#include "layers/options.h"
#include "traingraph/layers.h"
#include "traingraph/losses.h"
#include "traingraph/optimizers.h"

namespace traingraph::testing {
namespace {

using namespace layers;  // NOLINT: tests
using Case = OptionCase;

std::vector<Case> activation_cases() {
  const auto activation = [](ActivationType type, float a, float b, float c) {
    return [=] {
      return lowered(
          std::make_shared<Activation>(ActivationDescriptor(type, a, b, c)),
          {2, 3});
    };
  };
  // What each takes: 0, 1 or 2 of a and b.
  const std::vector<std::pair<ActivationType, int>> types{
      {ActivationType::ReLU, 1},       {ActivationType::Linear, 2},
      {ActivationType::Sigmoid, 0},    {ActivationType::HardSigmoid, 2},
      {ActivationType::Tanh, 2},       {ActivationType::Absolute, 0},
      {ActivationType::SoftPlus, 2},   {ActivationType::SoftSign, 0},
      {ActivationType::ELU, 1},        {ActivationType::ReLUN, 2},
      {ActivationType::LogSigmoid, 0}, {ActivationType::SELU, 0},
      {ActivationType::CELU, 1},       {ActivationType::HardShrink, 1},
      {ActivationType::SoftShrink, 1}, {ActivationType::TanhShrink, 0},
      {ActivationType::Threshold, 2},  {ActivationType::GELU, 0},
      {ActivationType::HardSwish, 0},  {ActivationType::Clamp, 2},
      {ActivationType::GELUTanh, 0},   {ActivationType::SiLU, 0},
      {ActivationType::Mish, 0},       {ActivationType::None, 0}};
  std::vector<Case> cases;
  for (const auto& [type, count] : types) {
    const ActivationDescriptor d(type);
    const std::string name(to_string(type));
    const auto without = activation(type, d.a, d.b, d.c);
    cases.push_back({name + "_a",
                     activation(type, d.a * 0.5f + 0.125f, d.b, d.c), without,
                     count > 0 ? "" : "a is"});
    cases.push_back({name + "_b", activation(type, d.a, d.b + 0.5f, d.c),
                     without, count > 1 ? "" : "b is"});
    cases.push_back(
        {name + "_c", activation(type, d.a, d.b, 2), without, "c is"});
  }
  return cases;
}

std::vector<Case> loss_cases() {
  const auto loss = [](const LossDescriptor& descriptor) {
    return [=] {
      Graph graph;
      const Tensor y({.shape = {4, 3}}, "y"), t({.shape = {4, 3}}, "t");
      graph.node(std::make_shared<losses::Loss>(descriptor), y,
                 {.loss_labels = {t}});
      return graph.state()->program.to_string();
    };
  };
  std::vector<Case> cases;
  for (int number = 0; number < 10; ++number) {
    const auto type = static_cast<LossType>(number);
    const std::string name(to_string(type));
    const bool has_classes = type == LossType::SoftmaxCrossEntropy ||
                             type == LossType::CategoricalCrossEntropy;
    const bool smooths = has_classes || type == LossType::SigmoidCrossEntropy;
    const LossDescriptor unset{.loss_type = type};
    const auto add = [&](const char* field, auto member, auto value,
                         bool is_used, const char* refused) {
      LossDescriptor changed = unset;
      changed.*member = value;
      cases.push_back({name + "_" + field, loss(changed), loss(unset),
                       is_used ? "" : refused});
    };
    using D = LossDescriptor;
    add("reduction", &D::reduction_type, ReductionType::Sum, true, "");
    add("weight", &D::weight, 2.0f, true, "");
    add("label_smoothing", &D::label_smoothing, 0.5f, smooths,
        "label_smoothing");
    // Without smoothing it says how many classes there are.
    add("class_count", &D::class_count, 7, false, "class_count");
    add("epsilon", &D::epsilon, 0.5f, type == LossType::Log, "epsilon");
    add("delta", &D::delta, 2.0f, type == LossType::Huber, "delta");
    // Labels of these cases hold a share of each class.
    add("ignore_index", &D::ignore_index, 2, false, "ignore_index");
    if (!has_classes) continue;
    LossDescriptor smoothed{.loss_type = type, .label_smoothing = 0.5f};
    LossDescriptor counted = smoothed;
    counted.class_count = 7;
    cases.push_back(
        {name + "_smoothed_class_count", loss(counted), loss(smoothed), ""});
  }
  cases.push_back(
      {"named_loss_type",
       [] { return losses::Huber({.loss_type = LossType::Hinge}).name(); },
       [] { return losses::Huber().name(); }, "loss_type"});
  return cases;
}

std::vector<Case> optimizer_cases() {
  using D = OptimizerDescriptor;
  using enum GradientClippingType;
  const auto adam = [](const D& descriptor) {
    return [=] { return to_string(optimizers::Adam(descriptor).attributes()); };
  };
  const auto adamw = [](const D& descriptor) {
    return
        [=] { return to_string(optimizers::AdamW(descriptor).attributes()); };
  };
  const auto sgd = [](float momentum, bool nesterov) {
    return [=] {
      return to_string(optimizers::SGD(0.1f, momentum, nesterov).attributes());
    };
  };
  const auto rmsprop = [](float momentum, bool is_centered) {
    return [=] {
      return to_string(
          optimizers::RMSProp(0.1f, momentum, 0.9f, 1e-8f, is_centered)
              .attributes());
    };
  };
  const D decayed{.regularization_type = RegularizationType::L2,
                  .regularization_scale = 0.1f};
  const D norm{.gradient_clipping_type = ByNorm};
  const D global{.gradient_clipping_type = ByGlobalNorm};
  const auto with = [](D descriptor, auto member, auto value) {
    descriptor.*member = value;
    return descriptor;
  };
  return {
      {"rescale", adam({.gradient_rescale = 2}), adam({}), ""},
      {"clip_max", adam({.gradient_clip_max = 2}), adam({}), ""},
      {"clip_min", adam({.gradient_clip_min = -2}), adam({}), ""},
      {"clip_max_by_norm", adam(with(norm, &D::gradient_clip_max, 2.0f)),
       adam(norm), "gradient_clip_max"},
      {"clip_min_by_global_norm",
       adam(with(global, &D::gradient_clip_min, -2.0f)), adam(global),
       "gradient_clip_min"},
      {"norm_by_value", adam({.maximum_clipping_norm = 2}), adam({}),
       "maximum_clipping_norm"},
      {"global_norm_by_value", adam({.custom_global_norm = 2}), adam({}),
       "custom_global_norm"},
      {"global_norm_by_norm", adam(with(norm, &D::custom_global_norm, 2.0f)),
       adam(norm), "custom_global_norm"},
      {"regularization", adam(decayed), adam({}), ""},
      {"scale_alone", adam({.regularization_scale = 0.1f}), adam({}),
       "regularization_scale"},
      {"decoupled_scale", adamw({.regularization_scale = 0.1f}), adamw({}), ""},
      {"decoupled_type", adamw(decayed), adamw({}), "regularization_type"},
      {"sgd_momentum", sgd(0.5f, false), sgd(0, false), ""},
      {"sgd_nesterov", sgd(0.5f, true), sgd(0.5f, false), ""},
      {"sgd_nesterov_alone", sgd(0, true), sgd(0, false), "momentum_scale"},
      {"rmsprop_momentum", rmsprop(0.5f, false), rmsprop(0, false), ""},
      {"rmsprop_centered", rmsprop(0, true), rmsprop(0, false), ""},
      {"amsgrad",
       [] {
         return to_string(
             optimizers::Adam(0.1f, 0.9f, 0.99f, 1e-8f, true).attributes());
       },
       [] {
         return to_string(
             optimizers::Adam(0.1f, 0.9f, 0.99f, 1e-8f).attributes());
       },
       ""},
  };
}

INSTANTIATE_TEST_SUITE_P(Activations, Options,
                         ::testing::ValuesIn(activation_cases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Losses, Options, ::testing::ValuesIn(loss_cases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Optimizers, Options,
                         ::testing::ValuesIn(optimizer_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace traingraph::testing
