// SPDX-License-Identifier: MIT
// The parts of bind_layers that have files of their own.
#pragma once

#include "bindings.h"

namespace traingraph::python {

void bind_window_layers(py::module_& m);    // pooling
void bind_weighted_layers(py::module_& m);  // convolution, dense, norm, matmul

}  // namespace traingraph::python
