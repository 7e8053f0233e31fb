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

/// Is the activation one of MPSGraphRNNActivation?
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

bool is_reliable(const Attributes& attrs) {
  if (std::holds_alternative<LstmAttrs>(attrs)) return kMpsLstmIsReliable;
  if (std::holds_alternative<GruAttrs>(attrs)) return kMpsGruIsReliable;
  return kMpsSingleGateIsReliable;
}

}  // namespace

bool has_mps_rnn(const Attributes& attrs, bool has_peephole, bool has_lengths) {
  const auto* lstm = std::get_if<LstmAttrs>(&attrs);
  const bool reads_new_cell =
      lstm && has_peephole && lstm->output_peephole_reads_new_cell;
  return is_reliable(attrs) && !has_lengths && !reads_new_cell &&
         std::ranges::all_of(gate_activations(attrs), is_known);
}

}  // namespace traingraph::metal
