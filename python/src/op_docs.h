// SPDX-License-Identifier: MIT
// Docstrings of ops, from what the op table says of them.
#pragma once

#include <string>
#include <string_view>

#include "traingraph/op_info.h"

namespace traingraph::python {

/// What comes behind the signature: the op's summary, Args:, Returns:, Raises:
/// and, of ops that users call, Example:.
std::string op_documentation(const OpInfo& op);

/// Lines of a doctest, from `g`, a graph, on; empty where there is none.
std::string_view op_example(std::string_view op);

}  // namespace traingraph::python
