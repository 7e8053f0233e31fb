// SPDX-License-Identifier: MIT
// Wrong calls: errors that pybind11 finds before any of our code runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bindings.h"

namespace traingraph::python {

/// A value for messages: its repr when that is short, else its type. Contents
/// of arrays never get into messages.
std::string describe(py::handle object);
/// A type as messages name it, of one as signatures spell it.
std::string named(const std::string& annotation);
/// A hint that names the one of `names` that was meant; empty when none is like
/// it.
std::string did_you_mean(std::string_view name,
                         const std::vector<std::string>& names);
/// Throws InvalidArgument for an integer that no std::int64_t holds.
void require_in_range(py::handle object);

}  // namespace traingraph::python
