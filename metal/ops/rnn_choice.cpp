// SPDX-License-Identifier: MIT
// Which recurrent ops MPSGraph's own can be. Its activations have no
// parameters, its peepholes read the cell of the step before, and it knows no
// lengths.
#include "metal/ops/rnn_choice.h"

#include <algorithm>

#include "metal/assumptions.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

/// Those of MPSGraphRNNActivation.
bool is_known(const ActivationAttrs& f) {
  switch (f.type) {
    case ActivationType::None:
    case ActivationType::Sigmoid:
      return true;
    case ActivationType::ReLU:
      return f.a == 0;
    case ActivationType::Tanh:
      return f.a == 1 && f.b == 1;
    case ActivationType::HardSigmoid:
      return kRnnHardSigmoidIsKnown && f.a == 0.2f && f.b == 0.5f;
    default:
      return false;
  }
}

}  // namespace

bool has_mps_lstm(const LstmAttrs& attrs, bool has_peephole, bool has_lengths) {
  const bool reads_new_cell =
      has_peephole && attrs.output_peephole_reads_new_cell;
  return kMpsLstmIsReliable && !has_lengths && !reads_new_cell &&
         std::ranges::all_of(lstm_gates(attrs), is_known) &&
         is_known(lstm_activation(attrs));
}

bool has_mps_gru(const GruAttrs& attrs, bool has_lengths) {
  return kMpsGruIsReliable && !has_lengths &&
         std::ranges::all_of(gru_gates(attrs), is_known);
}

bool has_mps_single_gate(const SingleGateAttrs& attrs, bool has_lengths) {
  return kMpsSingleGateIsReliable && !has_lengths &&
         is_known(single_gate_activation(attrs));
}

}  // namespace traingraph::metal
