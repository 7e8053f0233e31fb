// SPDX-License-Identifier: MIT
// What a program exchanges with other processes.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/program.h"

namespace traingraph {

struct CollectiveOptions {
  /// Gradients of as many bytes are summed as one; 0: there is nothing to
  /// exchange.
  std::size_t bucket_bytes = 0;
  /// Trained tensors in the order of their gradients' bytes; processes must
  /// have the same, whatever their batch sizes. find_exchange_order()'s.
  std::vector<TensorIndex> order = {};
  /// Batch normalization has the statistics of all processes' samples.
  bool synchronize_batch_norm = false;

  bool are_there() const { return bucket_bytes > 0; }
};

}  // namespace traingraph
