// SPDX-License-Identifier: MIT
// Where the batch is in a shape. Inputs and labels declare it
// (Tensor::batch_axis); OpDef::batch_rule says how it goes on from an op's
// inputs to its results; compiler/passes/batch_axis.h derives and uses it.
// Equal sizes never mean anything.
#pragma once

#include <cstdint>

#include "traingraph/types.h"

namespace traingraph {

class Tensor;

/// shape[axis] = factor * batch, and no other size depends on the batch.
struct BatchAxis {
  int axis = -1;  // -1: the shape is the same at any batch size
  std::int64_t factor = 1;
  /// Entries on the axis from one sample to the next; 0: not known.
  ///   (batch, time) as one axis: time      (time, batch) as one axis: 1
  std::int64_t step = 1;

  explicit operator bool() const { return axis >= 0; }
  bool operator==(const BatchAxis&) const = default;
};

/// The change from the declared batch size to the one that runs.
struct BatchChange {
  std::int64_t from = 1, to = 1;
  /// A multiple of the batch at the new size.
  std::int64_t operator()(std::int64_t size) const { return size / from * to; }
};

/// What the host gives for a declared tensor, or reads, in a run of `batch`
/// samples when the graph is compiled for `compiled`.
TensorDescriptor at_batch(const Tensor& tensor, std::int64_t batch,
                          std::int64_t compiled);

/// Is a smaller batch the leading bytes of a larger one? False where other axes
/// come before the batch axis.
bool leads_with_batch(const Tensor& tensor);

}  // namespace traingraph
