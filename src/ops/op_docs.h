// SPDX-License-Identifier: MIT
// What ops mean, in words: one function per row of ops.inc, in
// <family>_docs.cpp. The text is a summary, "Args:" with the inputs and
// "Returns:" with the results, in Google's style. Attributes, which come behind
// the inputs, say what they mean once for all ops that share their struct.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "traingraph/enum_table.h"
#include "traingraph/op_info.h"

namespace traingraph {

#define OP(Kind, name, Attrs) std::string document_##name();
#include "traingraph/ops.inc"
#undef OP

/// In the order of their struct's fields().
std::vector<OpAttribute> document_attributes(const Attributes& attributes);

/// "    - name: doc", in lines that fit a terminal.
std::string list_case(std::string_view name, std::string_view doc);

/// An entry for each case that takes so many operands.
template <class Enum>
std::string list_cases(int num_operands = 0) {
  std::string text;
  for (const EnumCase<Enum>& each : EnumTable<Enum>::kCases) {
    if (each.num_operands == num_operands) {
      text += '\n' + list_case(each.name, each.doc);
    }
  }
  return text;
}

}  // namespace traingraph
