// SPDX-License-Identifier: MIT
#include "ops/elementwise_parameters.h"

#include <cmath>

#include "base/format.h"

namespace traingraph {
namespace {

std::optional<BadParameter> find_out_of_range(const ActivationAttrs& attrs) {
  const auto& [type, a, b, c] = attrs;
  switch (type) {
    case ActivationType::CELU:
      if (a != 0) return std::nullopt;
      return BadParameter{"a", "a number that is not 0", "0"};
    case ActivationType::HardShrink:
    case ActivationType::SoftShrink:
      if (a >= 0) return std::nullopt;
      return BadParameter{"a", "at least 0", format_value(a)};
    case ActivationType::Clamp:
      if (a <= b) return std::nullopt;
      return BadParameter{"a", "at most b",
                          format_value(a) + " > " + format_value(b),
                          "Clamp takes the minimum first."};
    default:
      return std::nullopt;
  }
}

}  // namespace

bool uses_b(ActivationType type) {
  switch (type) {
    case ActivationType::Linear:
    case ActivationType::HardSigmoid:
    case ActivationType::Tanh:
    case ActivationType::SoftPlus:
    case ActivationType::ReLUN:
    case ActivationType::Threshold:
    case ActivationType::Clamp:
      return true;
    default:
      return false;
  }
}

bool uses_a(ActivationType type) {
  switch (type) {
    case ActivationType::ReLU:
    case ActivationType::ELU:
    case ActivationType::CELU:
    case ActivationType::HardShrink:
    case ActivationType::SoftShrink:
      return true;
    default:
      return uses_b(type);
  }
}

float default_a(ActivationType type) {
  switch (type) {
    case ActivationType::ReLU:
      return 0;
    case ActivationType::HardSigmoid:
      return 0.2f;
    case ActivationType::HardShrink:
    case ActivationType::SoftShrink:
      return 0.5f;
    default:
      return 1;
  }
}

float default_b(ActivationType type) {
  switch (type) {
    case ActivationType::Linear:
      return 0;
    case ActivationType::HardSigmoid:
      return 0.5f;
    default:
      return 1;
  }
}

ActivationAttrs with_defaults(ActivationAttrs attrs) {
  if (is_of_type(attrs.a)) attrs.a = default_a(attrs.type);
  if (is_of_type(attrs.b)) attrs.b = default_b(attrs.type);
  return attrs;
}

ActivationAttrs without_unused(ActivationAttrs attrs) {
  if (!uses_a(attrs.type)) attrs.a = 0;
  if (!uses_b(attrs.type)) attrs.b = 0;
  attrs.c = 0;
  return attrs;
}

std::optional<BadParameter> find_bad_parameter(const ActivationAttrs& attrs,
                                               float unused) {
  const auto find = [&](const char* name, float value,
                        bool is_used) -> std::optional<BadParameter> {
    if (std::isnan(value)) return BadParameter{name, "a number", "nan"};
    if (is_used || value == unused) return std::nullopt;
    return BadParameter{name,
                        format_value(unused) + ": " +
                            std::string(to_string(attrs.type)) +
                            " does not use it",
                        format_value(value)};
  };
  if (auto bad = find("a", attrs.a, uses_a(attrs.type))) return bad;
  if (auto bad = find("b", attrs.b, uses_b(attrs.type))) return bad;
  if (auto bad = find("c", attrs.c, false)) return bad;
  return find_out_of_range(attrs);
}

}  // namespace traingraph
