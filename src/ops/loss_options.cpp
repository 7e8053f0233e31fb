// SPDX-License-Identifier: MIT
#include "ops/loss_options.h"

#include <tuple>

#include "base/format.h"
#include "ops/loss_shapes.h"

namespace traingraph {

LossAttrs without_unused(LossAttrs attrs) {
  const LossAttrs unset;
  const bool has_classes = sums_over_classes(attrs.type);
  if (!has_classes) {
    attrs.class_count = unset.class_count;
    attrs.ignore_index = unset.ignore_index;
  }
  if (!has_classes && attrs.type != LossType::SigmoidCrossEntropy) {
    attrs.label_smoothing = unset.label_smoothing;
  }
  if (attrs.type != LossType::Log) attrs.epsilon = unset.epsilon;
  if (attrs.type != LossType::Huber) attrs.delta = unset.delta;
  return attrs;
}

std::optional<UnusedOption> find_unused_option(const LossAttrs& attrs) {
  const LossAttrs used = without_unused(attrs);
  std::optional<UnusedOption> found;
  const auto look = [&](const auto& field) {
    const auto value = attrs.*field.member, expected = used.*field.member;
    if (found || value == expected) return;
    found = {field.name,
             format_value(expected) + ": " +
                 std::string(to_string(attrs.type)) + " does not use it",
             format_value(value)};
  };
  std::apply([&](const auto&... field) { (look(field), ...); },
             LossAttrs::fields());
  return found;
}

}  // namespace traingraph
