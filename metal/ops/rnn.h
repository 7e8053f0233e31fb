// SPDX-License-Identifier: MIT
// lstm and lstm_gradient on MPSGraph: by its own LSTM where that means the
// same, else composed step by step.
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

struct LstmSize {
  std::int64_t steps, samples, hidden;

  Shape state() const { return {samples, hidden}; }
  Shape states() const { return {steps, samples, hidden}; }
  Shape gates() const { return {steps, samples, 4 * hidden}; }
};
/// From the shapes of the gates and the recurrent weights.
LstmSize lstm_size(const Shape& gates, const Shape& weights);

/// An input, or zeros where it is absent.
T input_or_zeros(GraphBuilder& b, int input, const Shape& shape);

void compose_lstm(GraphBuilder& b);
void compose_lstm_gradient(GraphBuilder& b);

}  // namespace traingraph::metal
