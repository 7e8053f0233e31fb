// SPDX-License-Identifier: MIT
// From plain data to a program. Whatever the data are, the result is one that
// the builder could have made, or there is an error.
#pragma once

#include "runtime/artefact/stored_graph.h"

namespace traingraph {

/// Nodes go through Program::append(), which checks them against the op's
/// schema and infers their results; these must be what is stored. Value::tensor
/// is as stored. Throws std::runtime_error, ShapeError, DTypeError,
/// InvalidArgument, InternalError.
Program read_program(const StoredGraph& stored);

}  // namespace traingraph
