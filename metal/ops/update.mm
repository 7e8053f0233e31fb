// SPDX-License-Identifier: MIT
// Optimizer updates and what surrounds them. What changes between steps comes
// from the hyperparameters tensor, so nothing is compiled again for it.
#include <cmath>
#include <limits>

#include "formulas/loss_scale.h"
#include "formulas/run_time_scalars.h"
#include "formulas/update_steps.h"
#include "lowering/update_table.h"
#import "metal/graph_float.h"

namespace traingraph::metal {
namespace {

using formulas::AccumulationFactors;
using formulas::Hyperparameters;

/// The entry of a tensor of run-time scalars that is this member, shape (1).
template <class Scalars>
T entry(GraphBuilder& b, int input, float Scalars::* member) {
  const Scalars scalars;
  const auto* const first = reinterpret_cast<const float*>(&scalars);
  return b.entry(input, static_cast<int>(&(scalars.*member) - first));
}

struct GraphOptions {
  using Float = GraphFloat;
  std::uint32_t bits;
  bool has(std::uint32_t option) const { return (bits & option) != 0; }
};

/// Gives a parameter or slot its new contents, unless the step is skipped.
void change(GraphBuilder& b, int input, const GraphFloat& value, T is_skipped) {
  T tensor = value.tensor();
  if (is_skipped) tensor = b.select(is_skipped, b.input(input), tensor);
  b.update(input, tensor);
}

template <template <class> class Step>
void lower_update(GraphBuilder& b) {
  const auto inputs = update_inputs(b.node());
  const auto params = update_params(b.node());
  const GraphOptions options{params.options};
  const auto read = [&](int input) { return GraphFloat(b, b.input(input)); };
  const auto scalar = [&](float Hyperparameters::* member) {
    return GraphFloat(b, entry(b, inputs[kUpdateHyperparameters], member));
  };
  const formulas::HyperparametersOf<GraphFloat> now{
      .learning_rate = scalar(&Hyperparameters::learning_rate),
      .corrected_rate = scalar(&Hyperparameters::corrected_rate),
      .clips = scalar(&Hyperparameters::clips)};
  const bool is_scaled = options.has(formulas::kHasScale);
  const GraphFloat scale = is_scaled ? read(inputs[kUpdateScale]) : 1;
  T is_skipped = is_scaled ? b.less(b.input(inputs[kUpdateScale]), 0.0) : nil;

  const Step<GraphOptions> step(params, now, scale, options);
  const std::uint32_t slots = step.slots(options);
  formulas::UpdateElementOf<GraphFloat> e;
  e.parameter = read(inputs[kUpdatedParameter]);
  for (int i = 0; i < formulas::kMaxUpdateSlots; ++i) {
    if ((slots >> i & 1) != 0) e.slots[i] = read(inputs[kUpdateSlots + i]);
  }
  e = step(read(inputs[kUpdateGradient]), e);
  for (int i = 0; i < formulas::kMaxUpdateSlots; ++i) {
    if ((slots >> i & 1) == 0) continue;
    change(b, inputs[kUpdateSlots + i], e.slots[i], is_skipped);
  }
  change(b, inputs[kUpdatedParameter], e.parameter, is_skipped);
}

}  // namespace

#define UPDATE(Op, name, Step) \
  void lower_##name(GraphBuilder& b) { lower_update<formulas::Step>(b); }
TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE

namespace {

T sum_of(GraphBuilder& b, NSArray<MPSGraphTensor*>* entries) {
  T all = [b.graph() concatTensors:entries dimension:0 name:b.name()];
  return b.sum(all, {static_cast<std::int64_t>(entries.count)}, {0});
}

/// The norm of gradients from their `count` squared norms. Where float32 cannot
/// hold a square, that of the gradient by 2^64 is taken, and the others by
/// 2^128.
T norm_of(GraphBuilder& b, int first, int count, bool has_gradients) {
  constexpr double kMax = 3e38, kSmaller = 0x1p-64;
  NSMutableArray<MPSGraphTensor*>* squares = [NSMutableArray array];
  NSMutableArray<MPSGraphTensor*>* small = [NSMutableArray array];
  for (int i = first; i < first + count; ++i) {
    T square = b.input(i);
    [squares addObject:square];
    if (!has_gradients) continue;
    const Shape& shape = b.input_shape(i + count);
    T gradient = b.mul(b.input(i + count), kSmaller);
    T again = b.reshape(b.sum(b.square(gradient), shape, {0, 1}), {1});
    T scaled = b.mul(b.mul(square, kSmaller), kSmaller);
    [small addObject:b.select(b.greater(square, kMax), again, scaled)];
  }
  T sum = sum_of(b, squares);
  if (!has_gradients) return b.sqrt(sum);
  T large = b.div(b.sqrt(sum_of(b, small)), kSmaller);
  return b.select(b.greater(sum, kMax), large, b.sqrt(sum));
}

}  // namespace

void lower_clip_scale(GraphBuilder& b) {
  enum { kHyperparameters, kFirstSquare };
  const auto& attrs = b.attrs<ClipScaleAttrs>();
  // Norms and hyperparameters are float32 whatever the gradients are.
  T norm = b.scalar(attrs.custom_norm, DataType::Float32);
  const int last = b.num_inputs() - 1;
  if (attrs.custom_norm == 0 && last >= kFirstSquare) {
    const bool has_gradients = b.input_shape(last).rank() == 2;
    norm = norm_of(b, kFirstSquare, has_gradients ? last / 2 : last,
                   has_gradients);
  }
  // A norm that is NaN is not within, and makes NaN of all that it scales.
  T is_within = b.at_least(b.sub(double{attrs.maximum_norm}, norm), 0.0);
  T clips = b.both(
      b.greater(entry(b, kHyperparameters, &Hyperparameters::clips), 0.0),
      b.negate(is_within));
  T scale = b.div(double{attrs.maximum_norm}, norm);
  b.set(b.select(clips, scale, 1.0));
}

namespace {

/// e^x - 1 for x <= 0, with all digits near 0.
T expm1(GraphBuilder& b, T x) {
  T t = b.tanh(b.mul(x, 0.5));
  return b.div(b.mul(t, 2), b.sub(1, t));
}

/// Adam's rate of a step whose number does not count the skipped ones.
T corrected_rate(GraphBuilder& b, const LossScaleAttrs& attrs,
                 T skipped_steps) {
  enum { kLossScale, kHyperparameters };
  T given = entry(b, kHyperparameters, &Hyperparameters::corrected_rate);
  if (attrs.beta1 == 0 && attrs.beta2 == 0) return given;
  T step = b.max(b.sub(entry(b, kHyperparameters, &Hyperparameters::time_step),
                       skipped_steps),
                 1.0);
  const auto rest = [&](float beta) {  // 1 - beta^step
    if (beta == 0) return b.scalar_like(step, 1);
    return b.neg(expm1(b, b.mul(step, std::log(double{beta}))));
  };
  T rate = b.mul(entry(b, kHyperparameters, &Hyperparameters::learning_rate),
                 b.sqrt(rest(attrs.beta2)));
  return b.select(b.equal(skipped_steps, 0.0), given,
                  b.div(rate, rest(attrs.beta1)));
}

T joined(GraphBuilder& b, std::initializer_list<T> entries) {
  NSMutableArray<MPSGraphTensor*>* list = [NSMutableArray array];
  for (T each : entries) [list addObject:each];
  return [b.graph() concatTensors:list dimension:0 name:b.name()];
}

}  // namespace

void lower_update_loss_scale(GraphBuilder& b) {
  enum { kLossScale, kHyperparameters, kFirstSquare };
  const auto& attrs = b.attrs<LossScaleAttrs>();
  using formulas::LossScale;
  const auto scalar = [&](float LossScale::* member) {
    return GraphFloat(b, entry(b, kLossScale, member));
  };
  T is_finite = nil;
  for (int i = kFirstSquare; i < b.num_inputs(); ++i) {
    // A NaN is not below infinity either.
    T own = b.less(b.input(i), std::numeric_limits<double>::infinity());
    is_finite = is_finite ? b.both(is_finite, own) : own;
  }
  const auto next = formulas::next_loss_scale(
      formulas::LossScaleOf<GraphFloat>{
          .factor = scalar(&LossScale::factor),
          .growth_counter = scalar(&LossScale::growth_counter),
          .skipped_steps = scalar(&LossScale::skipped_steps),
          .unused = scalar(&LossScale::unused)},
      GraphFloat(b, is_finite), static_cast<float>(attrs.interval));
  T corrected = corrected_rate(b, attrs, next.skipped_steps.tensor());
  b.update(kLossScale,
           joined(b, {next.factor.tensor(), next.growth_counter.tensor(),
                      next.skipped_steps.tensor(), next.unused.tensor()}));
  b.set(b.select(is_finite, 1.0, -1.0, DataType::Float32), 0);
  b.set(
      joined(b, {entry(b, kHyperparameters, &Hyperparameters::learning_rate),
                 corrected, entry(b, kHyperparameters, &Hyperparameters::clips),
                 entry(b, kHyperparameters, &Hyperparameters::time_step)}),
      1);
}

void lower_accumulate_gradient(GraphBuilder& b) {
  enum { kAccumulator, kGradient, kFactors };
  T keep = entry(b, kFactors, &AccumulationFactors::keep);
  T add = entry(b, kFactors, &AccumulationFactors::add);
  // An accumulator that starts over may hold anything, NaN included.
  T kept =
      b.select(b.equal(keep, 0.0), 0.0, b.mul(b.input(kAccumulator), keep));
  b.update(kAccumulator, b.add(kept, b.mul(b.input(kGradient), add)));
}

}  // namespace traingraph::metal
