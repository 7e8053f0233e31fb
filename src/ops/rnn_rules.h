// SPDX-License-Identifier: MIT
// What the definitions of the recurrent ops share. Sequences are (steps,
// samples, any), states (samples, hidden), weights (gates * hidden, hidden).
#pragma once

#include <span>

#include "graph/batch_context.h"
#include "graph/op_def.h"

namespace traingraph::rnn {

/// Throws unless they are functions with finite parameters.
void require_activations(const ShapeContext& ctx,
                         std::span<const ActivationAttrs> activations);

struct Sizes {
  std::int64_t steps, samples, hidden;

  Shape state() const { return {samples, hidden}; }
  Shape states() const { return {steps, samples, hidden}; }
  Shape gates(std::int64_t count) const {
    return {steps, samples, count * hidden};
  }
};
/// Of `gates`, a sequence of all gates, and the recurrent `weights`; throws
/// unless they fit.
Sizes require_sizes(const ShapeContext& ctx, int gates, int weights,
                    std::int64_t num_gates);
/// An input that may be absent; of the type of `like` when it is a float.
void require_if_present(const ShapeContext& ctx, int input, const Shape& shape,
                        int like);

/// The axis of the samples in sequences, after checks that it is where the
/// samples are: axis 1 of sequences, axis 0 of states and lengths. Float
/// vectors and `weights` have a fixed size.
BatchAxis join_samples(BatchContext& ctx, int weights);
BatchAxis on_axis(BatchAxis batch, int axis);

InputDef optional(const char* name);
InputDef lengths();

/// An input of the node that is differentiated, none when it is absent.
ValueId input_of(GradContext& ctx, int input);

}  // namespace traingraph::rnn
