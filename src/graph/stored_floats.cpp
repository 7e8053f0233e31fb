// SPDX-License-Identifier: MIT
#include "graph/stored_floats.h"

#include <algorithm>

#include "base/visit_type.h"
#include "traingraph/error.h"

namespace traingraph {
std::vector<float> upcast(std::span<const std::byte> values, DataType type) {
  return visit_float_type(type, [&]<class T>(T) {
    const auto* first = reinterpret_cast<const T*>(values.data());
    return std::vector<float>(first, first + values.size() / sizeof(T));
  });
}

void store_floats(std::span<const float> values, DataType type,
                  std::span<std::byte> to, const char* op,
                  const std::string& node) {
  visit_float_type(type, [&]<class T>(T) {
    auto* stored = reinterpret_cast<T*>(to.data());
    std::ranges::copy(values, stored);
    const auto became_infinite = [&](float value) {
      return std::isfinite(value) && std::isinf(static_cast<float>(T(value)));
    };
    const auto first = std::ranges::find_if(values, became_infinite);
    if (first == values.end()) return;
    throw InvalidArgument(ErrorInfo{
        .op = op,
        .node = node,
        .what = "a value is too large for " + std::string(to_string(type)),
        .expected = "floats that stay finite when they are rounded",
        .got = std::to_string(*first) + " at element " +
               std::to_string(first - values.begin())});
  });
}

}  // namespace traingraph
