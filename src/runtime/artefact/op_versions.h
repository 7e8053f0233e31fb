// SPDX-License-Identifier: MIT
// Versions of ops, of what a node with its attributes means in a file
// (docs/artefacts.md).
#pragma once

#include "traingraph/op_attrs.h"

namespace traingraph {

/// A version is 1 until a change of that meaning raises it; readers refuse
/// later ones.
int version_of(OpKind kind);

}  // namespace traingraph
