// SPDX-License-Identifier: MIT
// Data sources of filter nodes that are Python objects.
#pragma once

#include <memory>

#include "bindings.h"
#include "signature.h"
#include "traingraph/nodes/data_source.h"

namespace traingraph::python {

/// Any object that has what a data source must have; the classes of
/// traingraph/nodes.py among them.
using SourceObject = Named<"object">;

/// One C++ object per Python object for as long as a node has it: nodes with
/// the same data source share its weights. Throws TypeError for objects that
/// are none.
nodes::ConvolutionDataSourcePtr to_convolution_source(py::handle object);
nodes::NormalizationDataSourcePtr to_normalization_source(py::handle object);

}  // namespace traingraph::python
