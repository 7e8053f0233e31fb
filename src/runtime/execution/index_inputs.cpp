// SPDX-License-Identifier: MIT
#include "runtime/execution/index_inputs.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "graph/op_def.h"
#include "ops/loss_ctc.h"

namespace traingraph {
namespace {

/// Does the op keep every element as it is?
bool only_rearranges(const Node& node) {
  return node.op->kind == OpKind::Reshape || node.op->kind == OpKind::Transpose;
}

/// "(3, 7)"
std::string position_text(const Shape& shape, std::int64_t element) {
  Shape position = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    position[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return position.to_string();
}

template <class I>
I at(std::span<const std::byte> data, std::size_t i) {
  I value;  // memory of the host need not be aligned
  std::memcpy(&value, data.data() + i * sizeof(I), sizeof(I));
  return value;
}

ErrorInfo outside(const char* call, std::string_view name,
                  const std::string& position, std::int64_t got,
                  const IndexRange& range) {
  return {.op = call,
          .node = std::string(name),
          .what = "element " + position + " is no position of what \"" +
                  range.reader + "\" reads",
          .expected =
              "0 to " + std::to_string(range.num_positions - 1) +
              (range.ignored ? ", or " + std::to_string(*range.ignored) : ""),
          .got = std::to_string(got)};
}

template <class I>
void require_all(const char* call, std::string_view name, const Shape& shape,
                 std::span<const std::byte> data, const IndexRange& range) {
  const std::size_t count = data.size() / sizeof(I);
  // Any element that is inside stands for none that is ignored.
  const std::int64_t ignored = range.ignored.value_or(0);
  const auto is_outside = [&](I index) {
    const auto at = static_cast<std::int64_t>(index);
    return (static_cast<unsigned>(at < 0) |
            static_cast<unsigned>(at >= range.num_positions)) &
           static_cast<unsigned>(at != ignored);
  };
  unsigned found = 0;
  for (std::size_t i = 0; i < count; ++i) found |= is_outside(at<I>(data, i));
  if (found == 0) return;
  std::size_t bad = 0;
  while (!is_outside(at<I>(data, bad))) ++bad;
  throw InvalidArgument(
      outside(call, name, position_text(shape, static_cast<std::int64_t>(bad)),
              static_cast<std::int64_t>(at<I>(data, bad)), range));
}

template <class I>
void require_rows(const char* call, std::string_view name, const Shape& shape,
                  std::span<const std::byte> data, const IndexRange& range,
                  std::span<const std::int32_t> lengths) {
  constexpr const char* kHint =
      "What is behind the labels of a sample is -1, or behind its label "
      "length.";
  const std::int64_t size = shape[1], blank = range.rows->blank;
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    const std::int64_t end =
        lengths.empty() ? size
                        : std::min<std::int64_t>(
                              size, lengths[static_cast<std::size_t>(n)]);
    for (std::int64_t s = 0; s < end; ++s) {
      const std::int64_t label =
          at<I>(data, static_cast<std::size_t>(n * size + s));
      if (label == range.ignored) break;
      const bool is_inside = label >= 0 && label < range.num_positions;
      if (is_inside && label != blank) continue;
      const std::string position = position_text(shape, n * size + s);
      ErrorInfo error = outside(call, name, position, label, range);
      error.hint = kHint;
      if (label == blank) {
        error.what = "element " + position + " is the blank of \"" +
                     range.reader +
                     "\", which stands between labels and is none";
        error.expected = "classes but " + std::to_string(blank);
      }
      throw InvalidArgument(std::move(error));
    }
  }
}

/// Adds what a node reads; ranges that differ in nothing but how many positions
/// there are become one.
void add_range(IndexRanges& ranges, IndexRange range) {
  for (IndexRange& other : ranges) {
    if (other.ignored != range.ignored || other.rows != range.rows) continue;
    if (range.num_positions < other.num_positions) other = std::move(range);
    return;
  }
  ranges.push_back(std::move(range));
}

bool is_ctc(const Node& node) {
  return node.op->kind == OpKind::CtcLoss ||
         node.op->kind == OpKind::CtcLossGradient;
}

/// Of labels, input `input`. Nothing where a graph turns them, or computes
/// their lengths: the host does not know the rows, and the device looks.
std::optional<LabelRows> rows_as_given(const Program& program, const Node& node,
                                       std::size_t input) {
  const auto is_given = [&](ValueId value) {
    return program.value(value).producer < 0;
  };
  if (!is_given(node.inputs[input])) return std::nullopt;
  LabelRows rows{.blank = std::get<CtcLossAttrs>(node.attrs).blank};
  const ValueId lengths =
      node.inputs[input + ctc::kLabelLengths - ctc::kLabels];
  if (lengths == kNoValue) return rows;
  if (!is_given(lengths)) return std::nullopt;
  rows.lengths = program.value(lengths).tensor;
  return rows;
}

}  // namespace

std::unordered_map<TensorIndex, IndexRanges> find_index_inputs(
    const Program& program) {
  std::unordered_map<TensorIndex, IndexRanges> ranges;
  // As it was given, or in another order or shape.
  std::vector<TensorIndex> given(program.values().size(), kNoTensor);
  for (std::size_t v = 0; v < given.size(); ++v) {
    const Value& value = program.values()[v];
    if (value.producer < 0) given[v] = value.tensor;
  }
  for (const Node& node : program.nodes()) {
    if (only_rearranges(node)) {
      given[node.outputs[0]] = given[node.inputs[0]];
      continue;
    }
    if (!node.op->num_positions) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_index = node.inputs[i] != kNoValue &&
                            input_def(*node.op, static_cast<int>(i)).is_index;
      if (!is_index || given[node.inputs[i]] == kNoTensor) continue;
      IndexRange range;
      range.num_positions = node.op->num_positions(program, node);
      range.reader = node.name;
      if (range.num_positions == 0) continue;
      if (node.op->ignored_index) {
        range.ignored = node.op->ignored_index(node.attrs);
      }
      if (is_ctc(node)) {
        range.rows = rows_as_given(program, node, i);
        if (!range.rows) continue;
      }
      add_range(ranges[given[node.inputs[i]]], std::move(range));
    }
  }
  return ranges;
}

void require_in_range(const char* call, std::string_view name,
                      const TensorDescriptor& desc,
                      std::span<const std::byte> data, const IndexRange& range,
                      std::span<const std::int32_t> lengths) {
  const auto require = [&]<class I>(I) {
    if (range.rows) {
      return require_rows<I>(call, name, desc.shape, data, range, lengths);
    }
    require_all<I>(call, name, desc.shape, data, range);
  };
  if (desc.data_type == DataType::Int32) return require(std::int32_t{});
  require(std::int64_t{});
}

void require_whole_in_range(const char* call, std::string_view name,
                            const TensorDescriptor& desc,
                            std::span<const std::byte> data,
                            const IndexRanges& ranges) {
  for (const IndexRange& range : ranges) {
    if (range.has_lengths()) continue;
    require_in_range(call, name, desc, data, range);
  }
}

}  // namespace traingraph
