// SPDX-License-Identifier: MIT
// The recurrent ops on MPSGraph: by its own LSTM, GRU and single gate where
// these mean the same, else composed step by step.
#pragma once

#import "metal/graph_builder.h"

namespace traingraph::metal {

// Inputs of lstm, results of both, inputs of lstm_gradient.
struct LstmInput {
  enum { X, Weights, State, Cell, Peephole, Mask, Lengths };
};
struct LstmResult {
  enum { Hidden, Cells, Gates, LastHidden, LastCell };
};
struct LstmGradientInput {
  enum {
    Gates,
    Cells,
    Hidden,
    Weights,
    State,
    Cell,
    Peephole,
    Mask,
    Lengths,
    HiddenGradient,
    CellsGradient,
    GatesGradient,
    LastHiddenGradient,
    LastCellGradient
  };
};
struct LstmGradientResult {
  enum { X, Weights, Peephole, State, Cell, Mask };
};

struct GruInput {
  enum { X, Weights, State, Mask, SecondaryBias, Lengths };
};
struct GruResult {
  enum { Hidden, Gates, LastHidden };
};
struct GruGradientInput {
  enum {
    Gates,
    Hidden,
    Weights,
    State,
    Mask,
    SecondaryBias,
    Lengths,
    HiddenGradient,
    GatesGradient,
    LastHiddenGradient
  };
};
struct GruGradientResult {
  enum { X, Weights, State, Mask, SecondaryBias };
};

struct SingleGateInput {
  enum { X, Weights, State, Mask, Lengths };
};
struct SingleGateGradientInput {
  enum {
    Gates,
    Weights,
    State,
    Mask,
    Lengths,
    HiddenGradient,
    GatesGradient,
    LastHiddenGradient
  };
};
struct SingleGateGradientResult {
  enum { X, Weights, State, Mask };
};

struct RnnSize {
  std::int64_t steps, samples, hidden;

  Shape state() const { return {samples, hidden}; }
  Shape states() const { return {steps, samples, hidden}; }
  Shape gates(std::int64_t count) const {
    return {steps, samples, count * hidden};
  }
};
/// From the shapes of the gates and the recurrent weights.
RnnSize rnn_size(const Shape& gates, const Shape& weights);

/// An input, or zeros where it is absent.
T input_or_zeros(GraphBuilder& b, int input, const Shape& shape);
T input_or_nil(GraphBuilder& b, int input);
/// Of MPSGraph's five.
MPSGraphRNNActivation mps_activation(const ActivationAttrs& f);
/// A step of the states.
T row_of(GraphBuilder& b, T states, const RnnSize& size, std::int64_t step);
/// Each step's value of the step before, and `first` for the first step.
T shifted(GraphBuilder& b, T states, T first, const RnnSize& size,
          bool is_reverse);
/// x of all steps times weights, as states.
T product_of_steps(GraphBuilder& b, T x, T weights, const RnnSize& size);

/// Of the mask, which MPSGraph gives none of, where it multiplies what one
/// product reads: from the gradient of the gates and the states `before`.
T mask_gradient(GraphBuilder& b, T dx, T weights, T before,
                const RnnSize& size);

void compose_lstm(GraphBuilder& b);
void compose_lstm_gradient(GraphBuilder& b);
void compose_gru(GraphBuilder& b);
void compose_gru_gradient(GraphBuilder& b);
void compose_single_gate(GraphBuilder& b);
void compose_single_gate_gradient(GraphBuilder& b);

}  // namespace traingraph::metal
