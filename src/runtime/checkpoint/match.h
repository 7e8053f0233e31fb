// SPDX-License-Identifier: MIT
// How tensors that are offered, by a file or by the user, fit a graph's state.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/header.h"
#include "runtime/checkpoint/state.h"

namespace traingraph {

struct Match {
  RestoreReport report;
  /// Entries and what they get, by place in the two lists.
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  bool shapes_differ = false, types_differ = false;
};

/// `source` is "file" or "mapping". Names of `offered` are unique.
Match match(const std::vector<StateEntry>& entries,
            const std::vector<StoredTensor>& offered,
            const std::string& source);

/// Throws InvalidArgument, ShapeError or DTypeError with what does not fit.
void require_fit(const char* call, const std::string& node, const Match& match,
                 const std::string& source);

}  // namespace traingraph
