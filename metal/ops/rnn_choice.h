// SPDX-License-Identifier: MIT
// Which engine an LSTM gets: plain C++, tested everywhere.
#pragma once

#include "traingraph/op_attrs.h"

namespace traingraph::metal {

/// Does MPSGraph's LSTM mean the same as a node with these attributes?
bool has_mps_lstm(const LstmAttrs& attrs, bool has_peephole, bool has_lengths);

}  // namespace traingraph::metal
