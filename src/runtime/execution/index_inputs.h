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

/// Rows of labels, (N, S), of a loss that has a blank between them: none of a
/// row is the blank, before its length or the first that is ignored.
struct LabelRows {
  std::int64_t blank = 0;
  TensorIndex lengths = kNoTensor;  // Int32 (N); none: rows are whole

  bool operator==(const LabelRows&) const = default;
};

/// Elements are 0 to num_positions - 1, of the op that has the fewest, or one
/// that all ops ignore.
struct IndexRange {
  std::int64_t num_positions = 0;  // 0: no op reads positions
  std::optional<std::int64_t> ignored;
  std::optional<LabelRows> rows;
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

/// Throws InvalidArgument unless the range's rows have no blank. `lengths`: the
/// data of theirs, empty where they are whole.
void require_no_blank(const char* call, std::string_view name,
                      const TensorDescriptor& desc,
                      std::span<const std::byte> data, const IndexRange& range,
                      std::span<const std::byte> lengths);

}  // namespace traingraph
