// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace traingraph::python {

/// The docstring of the loss of this name.
std::string loss_documentation(std::string_view name);

}  // namespace traingraph::python
