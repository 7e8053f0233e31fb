// SPDX-License-Identifier: MIT
// gru_steps and its gradient by MPSGraph's GRU; rnn_gru_steps.mm has the rest.
// The source is multiplied by its weights already, so there are no input
// weights and no bias here.
#include "metal/assumptions.h"
#import "metal/ops/layout_moves.h"
#import "metal/ops/rnn_call.h"
#include "metal/ops/rnn_choice.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

MPSGraphGRUDescriptor* descriptor_of(const GruAttrs& attrs,
                                     const RnnCall& call) {
  MPSGraphGRUDescriptor* descriptor = [MPSGraphGRUDescriptor descriptor];
  const auto gates = gru_gates(attrs);
  [descriptor setReverse:call.is_reverse()];
  [descriptor setBidirectional:call.has_both()];
  [descriptor setTraining:YES];
  [descriptor setResetGateFirst:attrs.reset_gate_first];
  [descriptor setResetAfter:attrs.reset_after];
  [descriptor setFlipZ:attrs.flip_z == kGruFlipsAsTheOpSays];
  [descriptor setUpdateGateActivation:mps_activation(gates[kUpdateGate])];
  [descriptor setResetGateActivation:mps_activation(gates[kResetGate])];
  [descriptor setOutputGateActivation:mps_activation(gates[kCandidate])];
  return descriptor;
}

/// What MPSGraph gives no gradient of: the mask, and a secondary bias that is
/// not there.
class MoreGradients {
 public:
  using In = GruGradientInput;

  MoreGradients(GraphBuilder& b, const RnnSize& size, T dx, T state)
      : b_(b), size_(size), attrs_(b.attrs<GruAttrs>()), dx_(dx) {
    reset_ = block(b.input(In::Gates), gru_blocks(attrs_)[kResetGate], 1);
    before_ = shifted(b, b.input(In::Hidden), state, size, attrs_.reverse);
  }

  /// Of what the mask makes of the states, times these.
  T mask() {
    T both = product(block(dx_, 0, 2), 0, 2);
    T candidate =
        attrs_.reset_after
            ? product(after_reset(), kCandidate, 1)
            : b_.mul(product(block(dx_, kCandidate, 1), kCandidate, 1), reset_);
    T all = b_.mul(b_.add(both, candidate), before_);
    return b_.reshape(b_.sum(all, size_.states(), {0}), size_.state());
  }

  T secondary_bias() {
    const Shape shape{size_.hidden};
    if (!attrs_.reset_after) {
      return b_.broadcast(b_.scalar(0, b_.compute_type()), shape);
    }
    return b_.reshape(b_.sum(after_reset(), size_.states(), {0, 1}), shape);
  }

 private:
  T block(T x, std::int64_t first, std::int64_t count) {
    return slice_axis(b_, x, 2, first * size_.hidden, count * size_.hidden);
  }
  T product(T x, std::int64_t first, std::int64_t count) {
    T rows = slice_axis(b_, b_.input(In::Weights), 0, first * size_.hidden,
                        count * size_.hidden);
    return product_of_steps(b_, x, rows, size_);
  }
  T after_reset() { return b_.mul(block(dx_, kCandidate, 1), reset_); }

  GraphBuilder& b_;
  const RnnSize size_;
  const GruAttrs attrs_;
  T dx_, reset_ = nil, before_ = nil;
};

}  // namespace

void lower_gru_steps(GraphBuilder& b) {
  using In = GruInput;
  using Out = GruResult;
  const auto& attrs = b.attrs<GruAttrs>();
  if (!has_mps_gru(attrs, b.has(In::Lengths))) return compose_gru(b);
  RnnCall call(b, b.input_shape(In::X), In::Weights, attrs.reverse);
  NSArray<MPSGraphTensor*>* results =
      [b.graph() GRUWithSourceTensor:call.input(In::X)
                     recurrentWeight:call.input(In::Weights)
                         inputWeight:nil
                                bias:nil
                           initState:call.input(In::State)
                                mask:call.input(In::Mask)
                       secondaryBias:call.input(In::SecondaryBias)
                          descriptor:descriptor_of(attrs, call)
                                name:b.name()];
  call.for_each_node([&](int direction) {
    T hidden = call.part([results objectAtIndex:0], direction);
    b.set(hidden, Out::Hidden);
    b.set(call.part([results objectAtIndex:1], direction), Out::Gates);
    b.set(call.last_row(hidden, b.attrs<GruAttrs>().reverse), Out::LastHidden);
  });
}

void lower_gru_steps_gradient(GraphBuilder& b) {
  using In = GruGradientInput;
  using Out = GruGradientResult;
  const auto& attrs = b.attrs<GruAttrs>();
  if (b.has(In::GatesGradient) || !kRnnGradientsIgnoreTheSource ||
      !has_mps_gru(attrs, b.has(In::Lengths))) {
    return compose_gru_gradient(b);
  }
  RnnCall call(b, b.input_shape(In::Gates), In::Weights, attrs.reverse);
  const RnnSize& size = call.size();
  T gates = call.input(In::Gates);
  T state = call.input_or_zeros(In::State, size.state());
  NSArray<MPSGraphTensor*>* results = [b.graph()
      GRUGradientsWithSourceTensor:gates
                   recurrentWeight:call.input(In::Weights)
                    sourceGradient:call.input_or_zeros(In::HiddenGradient,
                                                       size.states())
                            zState:gates
                         outputFwd:call.input(In::Hidden)
                     stateGradient:call.input(In::LastHiddenGradient)
                       inputWeight:nil
                              bias:nil
                         initState:state
                              mask:call.input(In::Mask)
                     secondaryBias:call.input(In::SecondaryBias)
                        descriptor:descriptor_of(attrs, call)
                              name:b.name()];
  // One for each of source, weights, state [and secondary bias], in this order.
  call.for_each_node([&](int direction) {
    const auto part = [&](NSUInteger i) {
      return call.part([results objectAtIndex:i], direction);
    };
    T dx = part(0);
    b.set(dx, Out::X);
    b.set(call.part_of_weights([results objectAtIndex:1], direction,
                               b.input_shape(In::Weights)),
          Out::Weights);
    b.set(b.reshape(part(2), size.state()), Out::State);
    MoreGradients more(b, size, dx, call.part(state, direction));
    b.set(more.mask(), Out::Mask);
    b.set(b.has(In::SecondaryBias) ? b.reshape(part(3), {size.hidden})
                                   : more.secondary_bias(),
          Out::SecondaryBias);
  });
}

}  // namespace traingraph::metal
