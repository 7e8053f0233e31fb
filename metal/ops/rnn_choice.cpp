// SPDX-License-Identifier: MIT
// Which LSTMs MPSGraph's own can be. Its activations have no parameters, its
// peepholes read the cell of the step before, and it knows no lengths.
#include "metal/ops/rnn_choice.h"

#include <algorithm>

#include "metal/assumptions.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

/// Those of MPSGraphRNNActivation; the numbers of its hard sigmoid are not
/// documented.
bool is_known(const ActivationAttrs& f) {
  switch (f.type) {
    case ActivationType::None:
    case ActivationType::Sigmoid:
      return true;
    case ActivationType::ReLU:
      return f.a == 0;
    case ActivationType::Tanh:
      return f.a == 1 && f.b == 1;
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

}  // namespace traingraph::metal
