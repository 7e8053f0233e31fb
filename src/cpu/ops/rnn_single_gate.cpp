// SPDX-License-Identifier: MIT
// single_gate_steps and its gradient: the cells, over the loops of rnn_steps.h
// and rnn_back_steps.h.
#include "cpu/float_types.h"
#include "cpu/ops/rnn_arguments.h"
#include "cpu/ops/rnn_steps.h"

namespace traingraph::cpu {
namespace {

/// What is saved is always the argument.
Gate gate_of(const SingleGateAttrs& attrs) {
  Gate gate(single_gate_activation(attrs));
  gate.saves_result = false;
  return gate;
}

template <class T>
struct SingleGateCell {
  using Element = T;
  static constexpr int kProducts = 1, kGates = 1;

  Gate gate;
  ForwardArgs<T> shared;

  void begin(const Place&, const float*) const {}
  void step(const Place& p, bool has_product, float* h) const {
    std::copy_n(shared.x + p.at, p.n, h);
    if (has_product) add_row(h, shared.product + p.state, p.n);
    gate.activate(h, offset(shared.gates, p.at), p.n);
  }
  void skip(const Place&) const {}
  void finish(const Place&) const {}
};

template <class T>
struct SingleGateBackCell {
  using Element = T;
  static constexpr int kGates = 1;
  static constexpr bool kHasInnerProduct = false;

  struct Rows {
    GateRow h, slope;
  };

  Gate gate;
  BackwardArgs<T> shared;

  void begin(const Place&) const {}
  const float* restore(const Place& p, Rows& r) const {
    GateRow buffer;
    gate.restore(floats_of(shared.gates + p.at, buffer, p.n), r.h, r.slope,
                 p.n);
    return r.h;
  }
  void differentiate(const Place& p, const Rows& r, float* dh,
                     float* direct) const {
    finish_gate(gate, shared, p.at, dh, r.slope, p.n);
    std::fill_n(direct, p.n, 0.0f);
  }
  void skip(const Place&) const {}
  void end(const Place&) const {}
  void add_up() const {}
};

}  // namespace

void lower_single_gate_steps(NodeLowering& lowering) {
  enum { kX, kWeights, kState, kMask, kLengths };
  enum { kHidden, kGates, kLastHidden };
  const auto& attrs = lowering.attrs<SingleGateAttrs>();
  const RecurrentSteps steps =
      recurrent_steps(lowering, kX, kWeights, attrs.reverse);
  const DataType type = lowering.input_desc(kX).data_type;
  const auto in = read_all<kLengths + 1>(lowering);
  const auto out = write_used<kLastHidden + 1>(lowering);
  if (out[kGates] >= 0) lowering.may_run_in_place(kGates, kX);
  const StepProduct product(
      lowering, MatrixView::plain(steps.samples, steps.hidden),
      MatrixView::plain(steps.hidden, steps.hidden).transposed(), type);
  const int products = float_scratch(lowering, steps.size());
  visit_any_float(lowering, type, [&]<class T>(T) {
    const int state =
        lowering.scratch(checked_bytes<T>(steps.size(), "scratch"));
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      const ForwardArgs<T> args{
          .x = address<T>(at, in[kX]),
          .initial_state = address<T>(at, in[kState]),
          .mask = address<T>(at, in[kMask]),
          .lengths = address<std::int32_t>(at, in[kLengths]),
          .hidden = address<T>(at, out[kHidden]),
          .gates = address<T>(at, out[kGates]),
          .last_hidden = address<T>(at, out[kLastHidden]),
          .product = floats(at[products]),
          .state = typed<T>(at[state])};
      return RecurrentForward<SingleGateCell<T>>(
          steps, args, {gate_of(attrs), args},
          {product.bind(at, at[state], at[in[kWeights]], at[products])});
    });
  });
}

void lower_single_gate_steps_gradient(NodeLowering& lowering) {
  enum {
    kGates,
    kWeights,
    kInitialState,
    kMask,
    kLengths,
    kHiddenGradient,
    kGatesGradient,
    kLastHiddenGradient,
    kNumInputs
  };
  enum { kDx, kDWeights, kDInitialState, kDMask, kNumResults };
  const auto& attrs = lowering.attrs<SingleGateAttrs>();
  const RecurrentSteps steps =
      recurrent_steps(lowering, kGates, kWeights, attrs.reverse);
  const std::int64_t hidden = steps.hidden;
  const DataType type = lowering.input_desc(kGates).data_type;
  const auto in = read_all<kNumInputs>(lowering);
  const auto out = write_gradients<kNumResults>(lowering);
  lowering.may_run_in_place(kDx, kGates);
  const StepProduct product(lowering, MatrixView::plain(steps.samples, hidden),
                            MatrixView::plain(hidden, hidden), type);
  const bool has_weights = out[kDWeights] >= 0;
  std::optional<WeightsGradient> weights;
  if (has_weights) {
    weights.emplace(lowering, steps, hidden, hidden, /*is_shifted=*/false,
                    type);
  }
  const int products = float_scratch(lowering, steps.size());
  const int dstate = float_scratch(lowering, steps.size());
  const int dmask =
      out[kDMask] >= 0 ? float_scratch(lowering, steps.size()) : -1;
  visit_any_float(lowering, type, [&]<class T>(T) {
    const int states = has_weights ? lowering.scratch(checked_bytes<T>(
                                         steps.steps * steps.size(), "scratch"))
                                   : -1;
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      const BackwardArgs<T> args{
          .gates = address<T>(at, in[kGates]),
          .initial_state = address<T>(at, in[kInitialState]),
          .mask = address<T>(at, in[kMask]),
          .lengths = address<std::int32_t>(at, in[kLengths]),
          .hidden_gradient = address<T>(at, in[kHiddenGradient]),
          .gates_gradient = address<T>(at, in[kGatesGradient]),
          .last_hidden_gradient = address<T>(at, in[kLastHiddenGradient]),
          .dx = address<T>(at, out[kDx]),
          .dinitial_state = address<T>(at, out[kDInitialState]),
          .dmask = address<T>(at, out[kDMask]),
          .states = address<T>(at, states),
          .product = floats(at[products]),
          .dstate = floats(at[dstate]),
          .dmask_sum = address<float>(at, dmask)};
      BackwardProducts<T> all{
          .main =
              product.bind(at, at[out[kDx]], at[in[kWeights]], at[products]),
          .rows = args.dx,
          .inner = {},
          .stride = steps.size(),
          .weights = {}};
      if (weights) {
        weights->add_to(all, at, args.dx, args.states,
                        {address<T>(at, out[kDWeights]),
                         static_cast<std::size_t>(hidden * hidden)});
      }
      return RecurrentBackward<SingleGateBackCell<T>>(
          steps, args, {gate_of(attrs), args}, std::move(all));
    });
  });
}

}  // namespace traingraph::cpu
