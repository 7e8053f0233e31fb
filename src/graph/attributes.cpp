// SPDX-License-Identifier: MIT
#include "graph/attributes.h"

#include <string_view>
#include <type_traits>

#include "base/format.h"

namespace traingraph {

std::string to_string(const Attributes& attrs) {
  std::string text;
  for_each_field(attrs, [&](const char* name, const auto& value) {
    text += text.empty() ? "{" : ", ";
    text += name;
    text += "=" + format_value(value);
  });
  if (!text.empty()) text += "}";
  return text;
}

void count_axes_from_front(Attributes& attrs, int rank) {
  const auto count = [rank](std::int64_t& axis) {
    if (axis < 0 && axis >= -rank) axis += rank;
  };
  for_each_field(attrs, [&](std::string_view name, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::int64_t>) {
      if (name == "axis") count(value);
    } else if constexpr (std::is_same_v<Value, Shape>) {
      if (name != "axes") return;
      for (int i = 0; i < value.rank(); ++i) count(value[i]);
    }
  });
}

}  // namespace traingraph
