// SPDX-License-Identifier: MIT
// The batch size that a declaration compiles for.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/merge.h"

namespace traingraph {

/// Does a declared tensor follow the batch? Parameters and constants do not.
bool is_batched(const Declaration& declaration, const Tensor& tensor);

/// The smallest size on a batch axis among the declared inputs, labels and
/// weights; 0 when none of them has one.
std::int64_t declared_batch(const Declaration& declaration);

/// A hint for errors about a batch that is too large: names the tensor whose
/// size limits the batch, if that of other tensors is larger.
std::string explain_batch(const Declaration& declaration);

/// Finds where the batch is in a merged graph, or why it runs one size only.
/// User gradients follow the batch where the tensors that they are of do.
void derive_batch(const Declaration& declaration, Merged& merged);

}  // namespace traingraph
