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
#include <vector>

#include "graph/program.h"

namespace traingraph {

/// Elements (N, S) in rows that end at their length, or at the first that is
/// ignored: what is behind may be anything. Up to there none is the blank.
struct LabelRows {
  std::int64_t blank = 0;
  TensorIndex lengths = kNoTensor;  // Int32 (N); none: rows are whole

  bool operator==(const LabelRows&) const = default;
};

/// What ops read: elements are 0 to num_positions - 1, of the op that has the
/// fewest, or the one that these ops ignore.
struct IndexRange {
  std::int64_t num_positions = 0;
  std::optional<std::int64_t> ignored;
  std::optional<LabelRows> rows;  // none: all elements are read
  std::string reader;             // the node, for messages

  bool has_lengths() const { return rows && rows->lengths != kNoTensor; }
};
using IndexRanges = std::vector<IndexRange>;

/// By tensor. Of what ops read as it was given, or in another order or shape;
/// of rows as they were given alone, with lengths that were.
std::unordered_map<TensorIndex, IndexRanges> find_index_inputs(
    const Program& program);

/// Throws InvalidArgument unless all elements that are read are in the range.
/// `call` and `name` are for the message; `lengths` those of a range that
/// has_lengths().
void require_in_range(const char* call, std::string_view name,
                      const TensorDescriptor& desc,
                      std::span<const std::byte> data, const IndexRange& range,
                      std::span<const std::int32_t> lengths = {});

/// As require_in_range() for all ranges that need no lengths.
void require_whole_in_range(const char* call, std::string_view name,
                            const TensorDescriptor& desc,
                            std::span<const std::byte> data,
                            const IndexRanges& ranges);

}  // namespace traingraph
