// SPDX-License-Identifier: MIT
// Which engine a recurrent op gets: plain C++, tested everywhere.
#pragma once

#include "traingraph/op_attrs.h"

namespace traingraph::metal {

/// Does MPSGraph's own op mean the same as a node with these attributes?
bool has_mps_rnn(const Attributes& attrs, bool has_peephole, bool has_lengths);

}  // namespace traingraph::metal
