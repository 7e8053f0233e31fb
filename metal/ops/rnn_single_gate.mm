// SPDX-License-Identifier: MIT
// single_gate_steps and its gradient: by MPSGraph's single gate RNN, or step by
// step of plain ops.
#include "metal/assumptions.h"
#import "metal/ops/elementwise_activation.h"
#import "metal/ops/rnn_call.h"
#include "metal/ops/rnn_choice.h"
#import "metal/ops/rnn_unrolled.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

using Result = GruResult;  // the same three

class Forward : UnrolledSteps {
 public:
  using In = SingleGateInput;

  explicit Forward(GraphBuilder& b)
      : UnrolledSteps(
            b, rnn_size(b.input_shape(In::X), b.input_shape(In::Weights)),
            b.attrs<SingleGateAttrs>().reverse, In::Mask, In::Lengths),
        f_(single_gate_activation(b.attrs<SingleGateAttrs>())) {}

  void run() {
    T weights = b_.transpose_matrix(b_.input(In::Weights));
    T h = input_or_zeros(b_, In::State, size_.state());
    const auto count = static_cast<std::size_t>(size_.steps);
    std::vector<T> hidden(count), gates(count);
    for (std::int64_t i = 0; i < size_.steps; ++i) {
      const std::int64_t step = at(i);
      T u = b_.add(step_of(b_.input(In::X), step), product(masked(h), weights));
      T next = activation_value(b_, f_, u);
      T takes_part = has_step(step);
      const auto s = static_cast<std::size_t>(step);
      hidden[s] = where(takes_part, next);
      gates[s] = where(takes_part, u);
      h = where(takes_part, next, h);
    }
    b_.set(join_steps(hidden, size_.states()), Result::Hidden);
    b_.set(join_steps(gates, size_.states()), Result::Gates);
    b_.set(h, Result::LastHidden);
  }

 private:
  const ActivationAttrs f_;
};

class Backward : UnrolledSteps {
 public:
  using In = SingleGateGradientInput;
  using Out = SingleGateGradientResult;

  explicit Backward(GraphBuilder& b)
      : UnrolledSteps(
            b, rnn_size(b.input_shape(In::Gates), b.input_shape(In::Weights)),
            b.attrs<SingleGateAttrs>().reverse, In::Mask, In::Lengths),
        f_(single_gate_activation(b.attrs<SingleGateAttrs>())) {}

  void run() {
    T dh = input_or_zeros(b_, In::LastHiddenGradient, size_.state());
    T dweights = nil, dmask = nil;
    std::vector<T> dx(static_cast<std::size_t>(size_.steps));
    for (std::int64_t i = size_.steps - 1; i >= 0; --i) {
      const std::int64_t step = at(i);
      T takes_part = has_step(step);
      T total = sum(dh, step_of(In::HiddenGradient, step));
      T u = step_of(b_.input(In::Gates), step);
      T a = b_.mul(total, activation_slope(b_, f_, u));
      a = where(takes_part, sum(a, step_of(In::GatesGradient, step)));
      dx[static_cast<std::size_t>(step)] = a;
      T h = state_before(i);
      T dk = product(a, b_.input(In::Weights));
      dh = where(takes_part, masked(dk), dh);
      dmask = sum(dmask, b_.mul(dk, h));
      dweights = sum(dweights, product(b_.transpose_matrix(a), masked(h)));
    }
    b_.set(join_steps(dx, size_.states()), Out::X);
    b_.set(dweights, Out::Weights);
    b_.set(dh, Out::State);
    b_.set(dmask, Out::Mask);
  }

 private:
  T state_before(std::int64_t i) {
    return before(i, input_or_zeros(b_, In::State, size_.state()),
                  [&](std::int64_t step) {
                    T u = step_of(b_.input(In::Gates), step);
                    return activation_value(b_, f_, u);
                  });
  }

  const ActivationAttrs f_;
};

MPSGraphSingleGateRNNDescriptor* descriptor_of(const SingleGateAttrs& attrs,
                                               const RnnCall& call) {
  MPSGraphSingleGateRNNDescriptor* descriptor =
      [MPSGraphSingleGateRNNDescriptor descriptor];
  [descriptor setReverse:call.is_reverse()];
  [descriptor setBidirectional:call.has_both()];
  [descriptor setTraining:YES];
  [descriptor setActivation:mps_activation(single_gate_activation(attrs))];
  return descriptor;
}

}  // namespace

void compose_single_gate(GraphBuilder& b) { Forward(b).run(); }
void compose_single_gate_gradient(GraphBuilder& b) { Backward(b).run(); }

void lower_single_gate_steps(GraphBuilder& b) {
  using In = SingleGateInput;
  const auto& attrs = b.attrs<SingleGateAttrs>();
  if (!has_mps_single_gate(attrs, b.has(In::Lengths))) {
    return compose_single_gate(b);
  }
  RnnCall call(b, b.input_shape(In::X), In::Weights, attrs.reverse);
  NSArray<MPSGraphTensor*>* results =
      [b.graph() singleGateRNNWithSourceTensor:call.input(In::X)
                               recurrentWeight:call.input(In::Weights)
                                   inputWeight:nil
                                          bias:nil
                                     initState:call.input(In::State)
                                          mask:call.input(In::Mask)
                                    descriptor:descriptor_of(attrs, call)
                                          name:b.name()];
  call.for_each_node([&](int direction) {
    T hidden = call.part([results objectAtIndex:0], direction);
    b.set(hidden, Result::Hidden);
    b.set(call.part([results objectAtIndex:1], direction), Result::Gates);
    b.set(call.last_row(hidden, b.attrs<SingleGateAttrs>().reverse),
          Result::LastHidden);
  });
}

void lower_single_gate_steps_gradient(GraphBuilder& b) {
  using In = SingleGateGradientInput;
  using Out = SingleGateGradientResult;
  const auto& attrs = b.attrs<SingleGateAttrs>();
  if (b.has(In::GatesGradient) || !kRnnGradientsIgnoreTheSource ||
      !has_mps_single_gate(attrs, b.has(In::Lengths))) {
    return compose_single_gate_gradient(b);
  }
  RnnCall call(b, b.input_shape(In::Gates), In::Weights, attrs.reverse);
  const RnnSize& size = call.size();
  T gates = call.input(In::Gates);
  T state = call.input_or_zeros(In::State, size.state());
  T of_states = call.input_or_zeros(In::HiddenGradient, size.states());
  NSArray<MPSGraphTensor*>* results = [b.graph()
      singleGateRNNGradientsWithSourceTensor:gates
                             recurrentWeight:call.input(In::Weights)
                              sourceGradient:of_states
                                      zState:gates
                               stateGradient:call.input(In::LastHiddenGradient)
                                 inputWeight:nil
                                        bias:nil
                                   initState:state
                                        mask:call.input(In::Mask)
                                  descriptor:descriptor_of(attrs, call)
                                        name:b.name()];
  call.for_each_node([&](int direction) {
    T dx = call.part([results objectAtIndex:0], direction);
    b.set(dx, Out::X);
    b.set(call.part_of_weights([results objectAtIndex:1], direction,
                               b.input_shape(In::Weights)),
          Out::Weights);
    b.set(b.reshape(call.part([results objectAtIndex:2], direction),
                    size.state()),
          Out::State);
    const bool is_reverse = b.attrs<SingleGateAttrs>().reverse;
    T hidden =
        activation_value(b, single_gate_activation(attrs), b.input(In::Gates));
    b.set(mask_gradient(
              b, dx, b.input(In::Weights),
              shifted(b, hidden, call.part(state, direction), size, is_reverse),
              size),
          Out::Mask);
  });
}

}  // namespace traingraph::metal
