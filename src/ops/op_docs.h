// SPDX-License-Identifier: MIT
// What ops mean, in words: one function per row of ops.inc, in
// <family>_docs.cpp. The text is a summary, "Args:" with the inputs and
// "Returns:" with the results, in Google's style. Attributes,
// which come behind the inputs, say what they mean once for all ops that share
// their struct.
#pragma once

#include <string>
#include <vector>

#include "traingraph/enum_table.h"
#include "traingraph/op_info.h"

namespace traingraph {

#define OP(Kind, name, Attrs) std::string document_##name();
#include "traingraph/ops.inc"
#undef OP

/// In the order of their struct's fields().
std::vector<OpAttribute> document_attributes(const Attributes& attributes);

/// A line for each case that takes so many operands: its name and formula.
template <class Enum>
std::string list_cases(int num_operands = 0) {
  std::string text;
  for (const EnumCase<Enum>& each : EnumTable<Enum>::kCases) {
    if (each.num_operands != num_operands) continue;
    text +=
        "\n    - \"" + std::string(each.name) + "\": " + std::string(each.doc);
  }
  return text;
}

}  // namespace traingraph
