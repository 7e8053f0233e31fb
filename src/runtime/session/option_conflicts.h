// SPDX-License-Identifier: MIT
// Which options of compile() exclude each other, or what is compiled.
#pragma once

#include "compiler/declaration.h"
#include "traingraph/training_graph.h"

namespace traingraph {

/// Throws InvalidArgument for options without effect and UnsupportedError for
/// what the library cannot do, naming the option. docs/training.md has the same
/// table, as a test compares.
void require_no_conflict(const Declaration& declaration,
                         const CompileOptions& options);

}  // namespace traingraph
