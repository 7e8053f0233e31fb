// SPDX-License-Identifier: MIT
// Cases of activations, comparison, selection, conversion, constants and
// dropout. elementwise_arithmetic_cases.cpp has the arithmetic.
#include "ops/elementwise_arithmetic_cases.h"

namespace traingraph::testing {
namespace {

/// Enough elements for several threads, a multiple of no vector length.
Shape large_shape() { return {3, 17, 1031}; }

/// Parameters of an activation and where it has no derivative. Kinks at which
/// the function jumps are exact in float32.
struct Activation {
  ActivationAttrs attrs;
  std::vector<double> kinks = {};
};

std::vector<Activation> activations() {
  using enum ActivationType;
  return {{{None}},
          {{ReLU, 0}, {0}},
          {{ReLU, 0.1f}, {0}},
          {{Linear, 1.5f, -0.5f}},
          {{Sigmoid}},
          {{HardSigmoid, 0.25f, 0.5f}, {-2, 2}},
          {{Tanh, 1, 1}},
          {{Tanh, 1.7f, 0.6f}},
          {{Absolute}, {0}},
          {{SoftPlus, 1, 1}},
          {{SoftPlus, 0.5f, 2}},
          {{SoftSign}},
          {{ELU, 1}},
          {{ELU, 0.3f}, {0}},
          {{ReLUN, 0, 3}, {0, 3}},
          {{ReLUN, 0.25f, 1.5f}, {0, 1.5}},
          {{LogSigmoid}},
          {{SELU}, {0}},
          {{CELU, 1}},
          {{CELU, 0.5f}},
          {{HardShrink, 0.5f}, {-0.5, 0.5}},
          {{SoftShrink, 0.5f}, {-0.5, 0.5}},
          {{TanhShrink}},
          {{Threshold, 0.5f, -1}, {0.5}},
          {{GELU}},
          {{HardSwish}, {-3, 3}},
          {{Clamp, -1, 1.5f}, {-1, 1.5}},
          {{Clamp, 0, 1}, {0, 1}},
          {{GELUTanh}},
          {{SiLU}},
          {{Mish}}};
}

void add_activations(OpCases& cases) {
  constexpr double kLow = -4, kHigh = 4;
  std::size_t turn = 0;
  for (const Activation& f : activations()) {
    const Domain smooth = avoiding(f.kinks, kLow, kHigh);
    const Shape shape = common_shapes()[turn++ % common_shapes().size()];
    for (const Shape& s : {shape, Shape{2, 3, 11}}) {
      cases.push_back({.op = OpKind::Activation,
                       .attrs = f.attrs,
                       .inputs = {{s, smooth}},
                       .gradients = {0}});
      cases.push_back({.op = OpKind::ActivationGradient,
                       .attrs = f.attrs,
                       .inputs = {{s}, {s, smooth}}});
    }
    cases.push_back({.op = OpKind::Activation,
                     .attrs = f.attrs,
                     .inputs = {{large_shape(), uniform(-30, 30)}}});
    if (f.kinks.empty()) continue;
    // The value at a kink is defined even where the slope is not.
    cases.push_back({.op = OpKind::Activation,
                     .attrs = f.attrs,
                     .inputs = {{{2, 9}, values(f.kinks)}}});
  }
}

void add_logic(OpCases& cases, Random& random) {
  for (int i = 0; i <= static_cast<int>(ComparisonOperation::LogicalXOR); ++i) {
    const auto operation = static_cast<ComparisonOperation>(i);
    if (operation == ComparisonOperation::LogicalNOT) continue;
    const bool is_logical = operation >= ComparisonOperation::LogicalAND;
    for (DataType type : {DataType::Float32, DataType::Int32, DataType::Int64,
                          DataType::Boolean}) {
      if (is_logical && type != DataType::Boolean) continue;
      const Domain few =
          type == DataType::Boolean ? booleans() : integers(-2, 2);
      const Shape x = random_shape(random, 1 + i % 5, 5);
      const Shape y = random_broadcastable(random, x);
      for (const auto& [p, q] : {std::pair{x, x}, {x, y}, {y, x}}) {
        cases.push_back({.op = OpKind::Compare,
                         .attrs = CompareAttrs{operation},
                         .inputs = {{p, few, type}, {q, few, type}},
                         .tolerance = 0});
      }
    }
  }
  cases.push_back({.op = OpKind::Compare,
                   .attrs = CompareAttrs{ComparisonOperation::Less},
                   .inputs = {{large_shape()}, {{17, 1}}},
                   .tolerance = 0});
  for (const Shape& shape : common_shapes()) {
    cases.push_back({.op = OpKind::LogicalNot,
                     .attrs = NoAttrs{},
                     .inputs = {{shape, booleans(), DataType::Boolean}},
                     .tolerance = 0});
  }
}

void add_select(OpCases& cases, Random& random) {
  const auto add = [&](const Shape& condition, const Shape& x, const Shape& y) {
    cases.push_back(
        {.op = OpKind::Select,
         .attrs = NoAttrs{},
         .inputs = {{condition, booleans(), DataType::Boolean}, {x}, {y}},
         .gradients = {1, 2},
         .tolerance = 0});
  };
  for (const Shape& shape : common_shapes()) add(shape, shape, shape);
  add({3, 1, 2}, {4, 1}, {1});
  add({1}, {2, 3}, {3});
  add({5}, {1}, {2, 1, 1});
  for (int i = 0; i < 8; ++i) {
    const Shape shape = random_shape(random, 1 + i % 5, 5);
    add(random_broadcastable(random, shape), shape,
        random_broadcastable(random, shape));
  }
}

void add_conversions(OpCases& cases) {
  const DataType types[] = {DataType::Float32, DataType::Int32,
                            DataType::Int64,   DataType::Int8,
                            DataType::UInt8,   DataType::Boolean};
  for (DataType from : types) {
    // What every type can hold; fractions are cut off.
    const Domain domain = from == DataType::Boolean   ? booleans()
                          : from == DataType::Float32 ? uniform(0, 100)
                                                      : integers(0, 100);
    for (DataType to : types) {
      const bool is_float = from == to && to == DataType::Float32;
      cases.push_back(
          {.op = OpKind::Cast,
           .attrs = CastAttrs{to},
           .inputs = {{{3, 7}, domain, from}},
           .gradients = is_float ? std::vector{0} : std::vector<int>{},
           .tolerance = 0});
    }
  }
  cases.push_back({.op = OpKind::Cast,
                   .attrs = CastAttrs{DataType::Int32},
                   .inputs = {{{13}, values({-2.75, -0.5, 0, 0.5, 2.75})}},
                   .tolerance = 0});
  cases.push_back({.op = OpKind::Cast,
                   .attrs = CastAttrs{DataType::Float32},
                   .inputs = {{large_shape(), booleans(), DataType::Boolean}},
                   .tolerance = 0});
  for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{2, 1, 3, 1, 4}}) {
    for (DataType type : {DataType::Float32, DataType::Int32, DataType::Int64,
                          DataType::Boolean}) {
      for (float value : {0.0f, 1.0f}) {
        cases.push_back({.op = OpKind::Fill,
                         .attrs = FillAttrs{shape, value, type},
                         .tolerance = 0});
      }
    }
    cases.push_back(
        {.op = OpKind::Fill, .attrs = FillAttrs{shape, -2.5f}, .tolerance = 0});
  }
}

void add_dropout(OpCases& cases) {
  const auto add = [&](const Shape& shape, const DropoutAttrs& attrs,
                       std::vector<double> state) {
    cases.push_back(
        {.op = OpKind::Dropout,
         .attrs = attrs,
         .inputs = {{shape}, {{4}, values(std::move(state)), DataType::Int32}},
         .gradients = {0}});
  };
  std::int64_t stream = 0;
  for (float rate : {0.0f, 0.1f, 0.5f, 0.9f}) {
    for (const Shape& shape :
         {Shape{1}, Shape{13}, Shape{3, 7}, Shape{2, 3, 5, 7}}) {
      add(shape, {.rate = rate, .seed = 0, .stream = stream}, {7, -3, 2, 0});
      add(shape, {.rate = rate, .seed = 99, .stream = stream++}, {7, 3, 5, 1});
    }
  }
  add(large_shape(), {.rate = 0.3f}, {-1, 12345, -1, 3});
  add(large_shape(), {.rate = 0.3f, .seed = -5, .stream = 1LL << 20},
      {0, 0, 0, 0});
}

}  // namespace

void add_elementwise_cases(OpCases& cases, Random& random) {
  add_activations(cases);
  add_arithmetic_cases(cases, random);
  add_logic(cases, random);
  add_select(cases, random);
  add_conversions(cases);
  add_dropout(cases);
}

}  // namespace traingraph::testing
