// SPDX-License-Identifier: MIT
#include "graph/attributes.h"

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

}  // namespace traingraph
