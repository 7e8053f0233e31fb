// SPDX-License-Identifier: MIT
// What checkpoints and files that hold a graph have in common.
#pragma once

#include <optional>
#include <string>

#include "runtime/checkpoint/header.h"
#include "runtime/session/training_state.h"

namespace traingraph {

/// Throws InvalidArgument for metadata under the library's own key.
Metadata with_own(const char* call, const Metadata& metadata, std::string own);
/// Takes the library's own from the metadata. Empty when the library did not
/// write the file. Throws FileError.
std::optional<TrainingState> own_state(const InputFile& file, Header& header);
/// Does the work of CompiledGraph::restore().
RestoreReport restore_state(Session& session, const InputFile& file,
                            Header header,
                            const std::optional<TrainingState>& state,
                            bool strict);

}  // namespace traingraph
