// SPDX-License-Identifier: MIT
// Index inputs: what the host gives is checked against the positions that the
// ops which read it have, before it gets to a device. A device may report what
// a graph computes, or not at all (gather.h of the layers says which).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "graph/program.h"

namespace traingraph {

/// Elements are 0 to num_positions - 1, of the op that has the fewest, or one
/// that all ops ignore.
struct IndexRange {
  std::int64_t num_positions = 0;  // 0: no op reads positions
  std::optional<std::int64_t> ignored;
  std::string reader;  // the node, for messages

  explicit operator bool() const { return num_positions > 0; }
};

/// By tensor. Of what ops read as it was given, or in another order or shape.
std::unordered_map<TensorIndex, IndexRange> find_index_inputs(
    const Program& program);

/// Throws InvalidArgument unless all elements are in the range. `call` and
/// `name` are for the message.
void require_in_range(const char* call, std::string_view name,
                      const TensorDescriptor& desc,
                      std::span<const std::byte> data, const IndexRange& range);

}  // namespace traingraph
