// SPDX-License-Identifier: MIT
// Op attributes as Python keywords, from the fields() of their structs.
#pragma once

#include <string>

#include "bindings.h"

namespace traingraph::python {

/// The number of the fewest digits that is this float. std::to_chars of floats
/// is not on every macOS.
py::float_ shortest(float value);

/// Sets the fields that `keywords` names. Throws InvalidArgument naming the op
/// for an unknown keyword, one that is required and missing, or a value of the
/// wrong kind.
void set_attributes(Attributes& attributes, const py::dict& keywords,
                    const std::string& op);

/// Field -> value; cases of enums by their names.
py::dict attribute_values(const Attributes& attributes);

/// ", type: ActivationType | str, a: float | None = None", for signatures.
std::string signature_of(const Attributes& attributes);

}  // namespace traingraph::python
