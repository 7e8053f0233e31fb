// SPDX-License-Identifier: MIT
#include "move.h"

#include "index.h"

namespace emulator {
namespace {

using Inputs = const std::vector<const Array*>&;
using Results = std::vector<Array>&;

/// Calls visit(offset in the whole, offset in the part) for every element of a
/// part that starts at `start` on an axis of the whole.
template <class Visit>
void for_each_of_part(const Dims& whole, const Dims& part, std::size_t axis,
                      std::int64_t start, Visit visit) {
  const Dims strides = strides_of(whole);
  for_each_index(part, [&](const Dims& index, std::int64_t flat) {
    visit(offset_of(index, strides) + start * strides[axis], flat);
  });
}

}  // namespace

Kernel copy() {
  return
      [](Inputs inputs, Results results) { results[0].data = inputs[0]->data; };
}

Kernel transpose(std::vector<std::size_t> permutation) {
  return [permutation = std::move(permutation)](Inputs inputs,
                                                Results results) {
    const Dims source = strides_of(inputs[0]->type.shape);
    Dims strides;
    for (std::size_t axis : permutation) strides.push_back(source[axis]);
    for_each_index(results[0].type.shape, [&](const Dims& index, auto flat) {
      results[0].data[flat] = inputs[0]->data[offset_of(index, strides)];
    });
  };
}

Kernel concatenate(std::size_t axis) {
  return [=](Inputs inputs, Results results) {
    std::int64_t start = 0;
    for (const Array* input : inputs) {
      for_each_of_part(results[0].type.shape, input->type.shape, axis, start,
                       [&](auto whole, auto part) {
                         results[0].data[whole] = input->data[part];
                       });
      start += input->type.shape[axis];
    }
  };
}

Kernel split(std::size_t axis) {
  return [=](Inputs inputs, Results results) {
    std::int64_t start = 0;
    for (Array& result : results) {
      for_each_of_part(inputs[0]->type.shape, result.type.shape, axis, start,
                       [&](auto whole, auto part) {
                         result.data[part] = inputs[0]->data[whole];
                       });
      start += result.type.shape[axis];
    }
  };
}

Kernel coordinate(std::size_t axis) {
  return [=](Inputs, Results results) {
    for_each_index(results[0].type.shape, [&](const Dims& index, auto flat) {
      results[0].data[flat] = static_cast<double>(index[axis]);
    });
  };
}

}  // namespace emulator
