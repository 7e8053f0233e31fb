// SPDX-License-Identifier: MIT
#include "rnn_both.h"

namespace emulator {
namespace {

Type half_of(const Type& whole, bool is_stacked) {
  Type half = whole;
  if (is_stacked && whole.shape.size() > 1) {
    half.shape.erase(half.shape.begin());
  } else {
    half.shape.back() /= 2;
  }
  return half;
}

/// Calls f(place in the whole, place in the half).
template <class F>
void for_each_place(const Type& whole, int direction, bool is_stacked, F f) {
  const std::int64_t count = whole.num_elements() / 2;
  const std::int64_t width = is_stacked ? count : whole.shape.back() / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    f((i / width * 2 + direction) * width + i % width, i);
  }
}

}  // namespace

Kernel in_both_directions(const Kernel& forward, const Kernel& reverse,
                          const Stacked& stacked) {
  return [=](const std::vector<const Array*>& inputs,
             std::vector<Array>& results) {
    for (int direction = 0; direction < 2; ++direction) {
      std::vector<Array> halves, own;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const bool is_stacked = stacked.inputs.contains(i);
        Array half{half_of(inputs[i]->type, is_stacked), {}};
        half.data.resize(static_cast<std::size_t>(half.type.num_elements()));
        for_each_place(inputs[i]->type, direction, is_stacked,
                       [&](std::int64_t from, std::int64_t to) {
                         half.data[to] = inputs[i]->data[from];
                       });
        halves.push_back(std::move(half));
      }
      for (std::size_t i = 0; i < results.size(); ++i) {
        Array half{half_of(results[i].type, stacked.results.contains(i)), {}};
        half.data.assign(static_cast<std::size_t>(half.type.num_elements()), 0);
        own.push_back(std::move(half));
      }
      std::vector<const Array*> arrays;
      for (const Array& half : halves) arrays.push_back(&half);
      (direction == 0 ? forward : reverse)(arrays, own);
      for (std::size_t i = 0; i < results.size(); ++i) {
        for_each_place(results[i].type, direction, stacked.results.contains(i),
                       [&](std::int64_t to, std::int64_t from) {
                         results[i].data[to] = own[i].data[from];
                       });
      }
    }
  };
}

}  // namespace emulator
