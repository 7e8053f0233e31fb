// SPDX-License-Identifier: MIT
// What inspect.signature reads of a built-in function: names and defaults, from
// the signatures that pybind11 writes into docstrings.
#pragma once

#include <string>
#include <string_view>

namespace traingraph::python {

/// "node(self, layer, source=None, *, label='')\n--\n\n", which Python cuts
/// off of `doc` when it is before it; empty when `doc` has no signature of
/// `name`. Of several forms it takes every call that fits one: what not all of
/// them have may be left out, and what only shorter ones have is passed by its
/// name.
/// A "$self" Python would take for bound, since these functions have a
/// __self__.
std::string text_signature(std::string_view name, std::string_view doc);

}  // namespace traingraph::python
