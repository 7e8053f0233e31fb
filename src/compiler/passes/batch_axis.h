// SPDX-License-Identifier: MIT
// Other batch sizes than the declared one. Batch axes go from the declared
// inputs through the nodes, by the batch rule of each op; then every size on a
// batch axis, of values and of attributes, becomes factor * batch.
//
//   before: x (8, 3), y = reshape(x, (2, 4, 3))    batch 8: refused, names y
//   before: x (8, 3), y = reshape(x, (24))         batch 8: y = 3 * batch
//   after:  x (5, 3), y = reshape(x, (15))         batch 5
#pragma once

#include <cstdint>
#include <optional>

#include "graph/program.h"
#include "traingraph/error.h"

namespace traingraph {

/// Fills Value::batch of a forward program at the declared batch size, given
/// the axes of its inputs. Returns why it runs no smaller batch: the first node
/// that mixes samples, or the input whose size is no multiple of the batch;
/// then what comes behind that has no axes.
std::optional<ErrorInfo> derive_batch_axes(Program& program,
                                           std::int64_t batch);

/// Returns the program at another batch size. Throws UnsupportedError with what
/// derive_batch_axes() returns, or when a shape rule refuses that size.
void resize_batch(Program& program, const BatchChange& change);

}  // namespace traingraph
