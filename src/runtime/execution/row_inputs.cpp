// SPDX-License-Identifier: MIT
// Index inputs in rows that end at lengths, which are data of the same call, or
// bound: looked at when both are known, with each call.
#include <algorithm>
#include <cstring>
#include <span>

#include "graph/batch_axis.h"
#include "runtime/execution/inputs.h"

namespace traingraph {

/// Calls use(bytes) with what the call reads. False: the host does not have it.
template <class Use>
bool Inputs::visit_data(const Call& call, const Input& input,
                        const Use& use) const {
  const std::size_t size = bytes_of(input.tensor, call.batch);
  const auto visit = [&](const std::byte* bytes) {
    use(std::span(bytes, size));
    return true;
  };
  if (is_given(input, call.skips_writing)) {
    for (const DataList list : {call.data.inputs, call.data.labels}) {
      const auto item = std::ranges::find(list, input.name, &NamedData::name);
      if (item != list.end()) return visit(item->data.bytes);
    }
  }
  if (input.source || input.is_upstream || input.is_variable) return false;
  if (!input.is_constant && !input.serves(call.batch)) return false;
  if (input.is_kept) return visit(input.kept.bytes);
  const TensorState& tensor = *input.tensor.state();
  std::scoped_lock lock(tensor.mutex);
  return tensor.data.size >= size && visit(tensor.data.bytes);
}

/// Into row_lengths_. False: the host does not have them.
bool Inputs::read_row_lengths(const Call& call, TensorIndex index) {
  const auto read = [&](const Input& input) {
    return visit_data(call, input, [&](std::span<const std::byte> bytes) {
      row_lengths_.resize(bytes.size() / sizeof(std::int32_t));
      std::memcpy(row_lengths_.data(), bytes.data(), bytes.size());
    });
  };
  for (const auto& [name, input] : declared_) {
    if (input.index == index) return read(input);
  }
  const auto input = std::ranges::find(undeclared_, index, &Input::index);
  return input != undeclared_.end() && read(*input);
}

void Inputs::require_rows_in_range(const Call& call, const Input& input) {
  for (const IndexRange& range : input.positions) {
    if (!range.has_lengths()) continue;
    if (!read_row_lengths(call, range.rows->lengths)) continue;
    const std::string own = input.name.empty() ? input.tensor.name() : "";
    visit_data(call, input, [&](std::span<const std::byte> bytes) {
      require_in_range(call.name, own.empty() ? input.name : own,
                       at_batch(input.tensor, call.batch, batch_), bytes, range,
                       row_lengths_);
    });
  }
}

}  // namespace traingraph
