// SPDX-License-Identifier: MIT
// gru_steps_gradient: arguments and memory of the cells in
// rnn_gru_back_cells.h.
//
// With the reset gate after the recurrent product, the gradients that go back
// through that product are those of the gates' arguments but for the candidate,
// whose is times the reset gate: they have memory of their own. What the reset
// gate multiplied is not saved; one product over all steps gives it again.
#include "cpu/float_types.h"
#include "cpu/ops/rnn_arguments.h"
#include "cpu/ops/rnn_gru_back_cells.h"

namespace traingraph::cpu {
namespace {

enum Input {
  kGates,
  kHidden,
  kWeights,
  kInitialState,
  kMask,
  kSecondaryBias,
  kLengths,
  kHiddenGradient,
  kGatesGradient,
  kLastHiddenGradient,
  kNumInputs
};
enum Result {
  kDx,
  kDWeights,
  kDInitialState,
  kDMask,
  kDSecondaryBias,
  kNumResults
};

/// The arguments of one node, and what is made of them for both cells.
struct Arguments {
  GruAttrs attrs;
  RecurrentSteps steps;
  std::array<int, kNumInputs> in;
  std::array<int, kNumResults> out;
  int products, dstate, dmask;

  explicit Arguments(NodeLowering& lowering)
      : attrs(lowering.attrs<GruAttrs>()),
        steps(recurrent_steps(lowering, kGates, kWeights, attrs.reverse)),
        in(read_all<kNumInputs>(lowering)),
        out(write_gradients<kNumResults>(lowering)),
        products(float_scratch(lowering, steps.size())),
        dstate(float_scratch(lowering, steps.size())),
        dmask(out[kDMask] >= 0 ? float_scratch(lowering, steps.size()) : -1) {
    lowering.may_run_in_place(kDx, kGates);
  }

  bool has_weights() const { return out[kDWeights] >= 0; }
  /// Are the states before all steps those of the sequence?
  bool is_shifted() const { return in[kInitialState] < 0 && in[kMask] < 0; }

  template <class T>
  BackwardArgs<T> bind(std::span<std::byte* const> at) const {
    const auto input = [&](Input i) { return address<const T>(at, in[i]); };
    const auto result = [&](Result r) { return address<T>(at, out[r]); };
    return {.gates = input(kGates),
            .initial_state = input(kInitialState),
            .mask = input(kMask),
            .lengths = address<std::int32_t>(at, in[kLengths]),
            .hidden_gradient = input(kHiddenGradient),
            .gates_gradient = input(kGatesGradient),
            .last_hidden_gradient = input(kLastHiddenGradient),
            .dx = result(kDx),
            .dinitial_state = result(kDInitialState),
            .dmask = result(kDMask),
            .states = nullptr,
            .product = floats(at[products]),
            .dstate = floats(at[dstate]),
            .dmask_sum = address<float>(at, dmask)};
  }
};

/// What the recurrent product of each step has multiplied, of all steps.
template <class T>
void fill_states(const RecurrentSteps& s, const BackwardArgs<T>& args,
                 const T* hidden, T* states) {
  for (std::int64_t step = 0; step < s.steps; ++step) {
    s.for_each_place(step, args.lengths, [&](const Place& p) {
      if (p.step >= p.length) {
        std::fill_n(states + p.at, p.n, T{});
        return;
      }
      const std::int64_t row = s.row_before(p);
      GateRow buffer;
      const float* const h =
          floats_of(row < 0 ? offset(args.initial_state, p.state)
                            : hidden + row * s.hidden + p.column,
                    buffer, p.n);
      multiply_row(h, offset(args.mask, p.state), states + p.at, p.n);
    });
  }
}

/// Memory for (steps, samples, hidden); -1: not needed.
template <class T>
int sequence_scratch(NodeLowering& lowering, const RecurrentSteps& steps,
                     std::int64_t width = 1, bool is_needed = true) {
  if (!is_needed) return -1;
  return lowering.scratch(
      checked_bytes<T>(steps.steps * steps.size() * width, "scratch"));
}

template <class T>
void emit_reset_after(NodeLowering& lowering, const Arguments& a,
                      DataType type) {
  const RecurrentSteps& steps = a.steps;
  const std::int64_t hidden = steps.hidden, width = kNumGruGates * hidden;
  const bool is_shifted = a.is_shifted();
  const std::int64_t skipped = is_shifted ? steps.samples : 0;
  const std::int64_t rows = steps.steps * steps.samples - skipped;
  const StepProduct main(lowering, MatrixView::plain(steps.samples, width),
                         MatrixView::plain(width, hidden), type);
  std::optional<WeightsGradient> weights;
  if (a.has_weights()) {
    weights.emplace(lowering, steps, width, width, is_shifted, type);
  }
  std::shared_ptr<const EngineProduct> again;
  if (rows > 0) {
    // What is repeated is float32, as in the forward op.
    again = make_engine_product(
        lowering, MatrixView::plain(rows, hidden),
        MatrixView::plain(hidden, hidden).transposed(), type,
        is_exact<T> ? ProductUse::Once : ProductUse::Repeated);
  }
  const int states = sequence_scratch<T>(lowering, steps, 1, !is_shifted);
  const int products = sequence_scratch<float>(lowering, steps);
  const int dproducts = sequence_scratch<T>(lowering, steps, kNumGruGates);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    const BackwardArgs<T> args = a.bind<T>(at);
    T* const own = address<T>(at, a.in[kHidden]);
    T* const to_fill = address<T>(at, states);
    T* const multiplied = is_shifted ? own : to_fill;
    BackwardProducts<T> all{
        .main =
            main.bind(at, at[dproducts], at[a.in[kWeights]], at[a.products]),
        .rows = typed<T>(at[dproducts]),
        .inner = {},
        .stride = steps.samples * width,
        .weights = {}};
    if (weights) {
      weights->add_to(all, at, all.rows, multiplied,
                      {address<T>(at, a.out[kDWeights]),
                       static_cast<std::size_t>(width * hidden)});
    }
    std::shared_ptr<BoundProduct> product;
    if (again) {
      // Where they are shifted: see WeightsGradient.
      const std::int64_t moved = skipped * hidden;
      T* const from = multiplied + (steps.is_reverse ? moved : 0);
      float* const to = floats(at[products]) + (steps.is_reverse ? 0 : moved);
      T* const candidate =
          typed<T>(at[a.in[kWeights]]) + kCandidate * hidden * hidden;
      product = again->bind(at, reinterpret_cast<std::byte*>(from),
                            reinterpret_cast<std::byte*>(candidate),
                            reinterpret_cast<std::byte*>(to));
    }
    const ResetAfterBackCell<T> cell(
        a.attrs, steps, args,
        {.hidden = own,
         .secondary_bias = address<T>(at, a.in[kSecondaryBias]),
         .dsecondary_bias = address<T>(at, a.out[kDSecondaryBias]),
         .products = floats(at[products]),
         .dproducts = typed<T>(at[dproducts]),
         .reset = nullptr,
         .dreset = nullptr});
    return [=, backward = RecurrentBackward<ResetAfterBackCell<T>>(
                   steps, args, cell, std::move(all))]() mutable {
      if (to_fill) fill_states(steps, args, own, to_fill);
      if (product) {
        product->pack();
        product->run();
      }
      backward();
    };
  });
}

template <class T>
void emit_reset_before(NodeLowering& lowering, const Arguments& a,
                       DataType type) {
  const RecurrentSteps& steps = a.steps;
  const std::int64_t hidden = steps.hidden, width = kNumGruGates * hidden;
  const std::int64_t first = width - hidden;  // update and reset gate
  const bool is_shifted = a.is_shifted();
  const auto product_of = [&](std::int64_t columns) {
    return StepProduct(lowering, MatrixView{steps.samples, columns, width, 1},
                       MatrixView::plain(columns, hidden), type);
  };
  const StepProduct main = product_of(first), inner = product_of(hidden);
  std::optional<WeightsGradient> weights, candidate_weights;
  if (a.has_weights()) {
    weights.emplace(lowering, steps, first, width, is_shifted, type);
    candidate_weights.emplace(lowering, steps, hidden, width,
                              /*is_shifted=*/false, type);
  }
  const int states =
      sequence_scratch<T>(lowering, steps, 1, a.has_weights() && !is_shifted);
  const int reset = sequence_scratch<T>(lowering, steps, 1, a.has_weights());
  const int dreset = float_scratch(lowering, steps.size());
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    BackwardArgs<T> args = a.bind<T>(at);
    args.states = address<T>(at, states);
    T* const own = address<T>(at, a.in[kHidden]);
    T* const candidate = args.dx + first;
    const auto bytes = [](T* address) {
      return reinterpret_cast<std::byte*>(address);
    };
    T* const matrix = typed<T>(at[a.in[kWeights]]);
    BackwardProducts<T> all{
        .main = main.bind(at, bytes(args.dx), bytes(matrix), at[a.products]),
        .rows = args.dx,
        .inner = inner.bind(at, bytes(candidate),
                            bytes(matrix + first * hidden), at[dreset]),
        .inner_rows = candidate,
        .stride = steps.samples * width,
        .weights = {}};
    if (weights) {
      T* const to = address<T>(at, a.out[kDWeights]);
      weights->add_to(all, at, args.dx, is_shifted ? own : args.states,
                      {to, static_cast<std::size_t>(first * hidden)});
      candidate_weights->add_to(
          all, at, candidate, typed<T>(at[reset]),
          {to + first * hidden, static_cast<std::size_t>(hidden * hidden)});
    }
    const ResetBeforeBackCell<T> cell(
        a.attrs, steps, args,
        {.hidden = own,
         .secondary_bias = nullptr,
         .dsecondary_bias = address<T>(at, a.out[kDSecondaryBias]),
         .products = nullptr,
         .dproducts = nullptr,
         .reset = address<T>(at, reset),
         .dreset = floats(at[dreset])});
    return RecurrentBackward<ResetBeforeBackCell<T>>(steps, args, cell,
                                                     std::move(all));
  });
}

}  // namespace

void lower_gru_steps_gradient(NodeLowering& lowering) {
  const Arguments arguments(lowering);
  const DataType type = lowering.input_desc(kGates).data_type;
  visit_any_float(lowering, type, [&]<class T>(T) {
    if (arguments.attrs.reset_after) {
      emit_reset_after<T>(lowering, arguments, type);
    } else {
      emit_reset_before<T>(lowering, arguments, type);
    }
  });
}

}  // namespace traingraph::cpu
