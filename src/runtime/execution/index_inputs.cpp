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
  const auto element = static_cast<std::int64_t>(bad);
  throw InvalidArgument(ErrorInfo{
      .op = call,
      .node = std::string(name),
      .what = "element " + position_text(shape, element) +
              " is no position of what \"" + range.reader + "\" reads",
      .expected =
          "0 to " + std::to_string(range.num_positions - 1) +
          (range.ignored ? ", or " + std::to_string(*range.ignored) : ""),
      .got = std::to_string(at<I>(data, bad))});
}

/// Nothing where a graph computes the lengths, or turns the labels.
std::optional<LabelRows> find_rows(const Program& program, const Node& node,
                                   std::size_t input) {
  if (node.op->kind != OpKind::CtcLoss) return std::nullopt;
  const auto is_given = [&](ValueId value) {
    return program.value(value).producer < 0;
  };
  LabelRows rows{.blank = std::get<CtcLossAttrs>(node.attrs).blank};
  const ValueId lengths = node.inputs[ctc::kLabelLengths];
  if (!is_given(node.inputs[input])) return std::nullopt;
  if (lengths == kNoValue) return rows;
  if (!is_given(lengths)) return std::nullopt;
  rows.lengths = program.value(lengths).tensor;
  return rows;
}

template <class I>
void require_without_blank(const char* call, std::string_view name,
                           const Shape& shape, std::span<const std::byte> data,
                           const IndexRange& range,
                           std::span<const std::byte> lengths) {
  const std::int64_t size = shape[1], blank = range.rows->blank;
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    std::int64_t end = size;
    if (!lengths.empty()) {
      end = std::min<std::int64_t>(
          size, at<std::int32_t>(lengths, static_cast<std::size_t>(n)));
    }
    for (std::int64_t s = 0; s < end; ++s) {
      const std::int64_t element = n * size + s;
      const std::int64_t label = at<I>(data, static_cast<std::size_t>(element));
      if (label == range.ignored) break;
      if (label != blank) continue;
      throw InvalidArgument(ErrorInfo{
          .op = call,
          .node = std::string(name),
          .what = "element " + position_text(shape, element) +
                  " is the blank of \"" + range.reader +
                  "\", which stands between labels and is none",
          .expected = "classes but " + std::to_string(blank),
          .got = std::to_string(label),
          .hint = "What is behind the labels of a sample is -1, or behind its "
                  "label length."});
    }
  }
}

}  // namespace

std::unordered_map<TensorIndex, IndexRange> find_index_inputs(
    const Program& program) {
  std::unordered_map<TensorIndex, IndexRange> ranges;
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
      const std::int64_t count = node.op->num_positions(program, node);
      if (count == 0) continue;
      IndexRange& range = ranges[given[node.inputs[i]]];
      std::optional<std::int64_t> ignored;
      if (node.op->ignored_index) ignored = node.op->ignored_index(node.attrs);
      const std::optional<LabelRows> rows = find_rows(program, node, i);
      if (!range) {
        range = {count, ignored, rows, node.name};
        continue;
      }
      if (range.ignored != ignored) range.ignored.reset();
      if (range.rows != rows) range.rows.reset();
      if (range.num_positions <= count) continue;
      range.num_positions = count;
      range.reader = node.name;
    }
  }
  return ranges;
}

void require_in_range(const char* call, std::string_view name,
                      const TensorDescriptor& desc,
                      std::span<const std::byte> data,
                      const IndexRange& range) {
  const auto require = desc.data_type == DataType::Int32
                           ? require_all<std::int32_t>
                           : require_all<std::int64_t>;
  require(call, name, desc.shape, data, range);
}

void require_no_blank(const char* call, std::string_view name,
                      const TensorDescriptor& desc,
                      std::span<const std::byte> data, const IndexRange& range,
                      std::span<const std::byte> lengths) {
  const auto require = desc.data_type == DataType::Int32
                           ? require_without_blank<std::int32_t>
                           : require_without_blank<std::int64_t>;
  require(call, name, desc.shape, data, range, lengths);
}

}  // namespace traingraph
