// SPDX-License-Identifier: MIT
// gru_steps and its gradient by MPSGraph's GRU; rnn_gru_steps.mm has the rest.
// The source is multiplied by its weights already, so there are no input
// weights and no bias here.
#include "metal/assumptions.h"
#import "metal/ops/layout_moves.h"
#import "metal/ops/rnn.h"
#include "metal/ops/rnn_choice.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

MPSGraphGRUDescriptor* descriptor_of(const GruAttrs& attrs) {
  MPSGraphGRUDescriptor* descriptor = [MPSGraphGRUDescriptor descriptor];
  const auto gates = gru_gates(attrs);
  [descriptor setReverse:attrs.reverse];
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
      return b_.broadcast(b_.scalar(0, b_.result_desc().data_type), shape);
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
  const RnnSize size =
      rnn_size(b.input_shape(In::X), b.input_shape(In::Weights));
  NSArray<MPSGraphTensor*>* results =
      [b.graph() GRUWithSourceTensor:b.input(In::X)
                     recurrentWeight:b.input(In::Weights)
                         inputWeight:nil
                                bias:nil
                           initState:input_or_nil(b, In::State)
                                mask:input_or_nil(b, In::Mask)
                       secondaryBias:input_or_nil(b, In::SecondaryBias)
                          descriptor:descriptor_of(attrs)
                                name:b.name()];
  T hidden = [results objectAtIndex:0];
  b.set(hidden, Out::Hidden);
  b.set([results objectAtIndex:1], Out::Gates);
  b.set(row_of(b, hidden, size, attrs.reverse ? 0 : size.steps - 1),
        Out::LastHidden);
}

void lower_gru_steps_gradient(GraphBuilder& b) {
  using In = GruGradientInput;
  using Out = GruGradientResult;
  const auto& attrs = b.attrs<GruAttrs>();
  if (b.has(In::GatesGradient) || !kRnnGradientsIgnoreTheSource ||
      !has_mps_gru(attrs, b.has(In::Lengths))) {
    return compose_gru_gradient(b);
  }
  const RnnSize size =
      rnn_size(b.input_shape(In::Gates), b.input_shape(In::Weights));
  T state = input_or_zeros(b, In::State, size.state());
  NSArray<MPSGraphTensor*>* results = [b.graph()
      GRUGradientsWithSourceTensor:b.input(In::Gates)
                   recurrentWeight:b.input(In::Weights)
                    sourceGradient:input_or_zeros(b, In::HiddenGradient,
                                                  size.states())
                            zState:b.input(In::Gates)
                         outputFwd:b.input(In::Hidden)
                     stateGradient:input_or_nil(b, In::LastHiddenGradient)
                       inputWeight:nil
                              bias:nil
                         initState:state
                              mask:input_or_nil(b, In::Mask)
                     secondaryBias:input_or_nil(b, In::SecondaryBias)
                        descriptor:descriptor_of(attrs)
                              name:b.name()];
  // One for each of source, weights, state [and secondary bias], in this order.
  T dx = [results objectAtIndex:0];
  b.set(dx, Out::X);
  b.set(b.reshape([results objectAtIndex:1], b.input_shape(In::Weights)),
        Out::Weights);
  b.set(b.reshape([results objectAtIndex:2], size.state()), Out::State);
  MoreGradients more(b, size, dx, state);
  b.set(more.mask(), Out::Mask);
  b.set(b.has(In::SecondaryBias)
            ? b.reshape([results objectAtIndex : 3], { size.hidden })
            : more.secondary_bias(),
        Out::SecondaryBias);
}

}  // namespace traingraph::metal
