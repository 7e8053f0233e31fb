// SPDX-License-Identifier: MIT
// JSON of checkpoints, in and out. The JSON library is seen by json_text.cpp
// alone.
#pragma once

#include <string>

#include "runtime/checkpoint/header.h"
#include "runtime/session/training_state.h"

namespace traingraph {

/// Fills tensors and metadata of `header`. Returns what is wrong with the text;
/// empty: nothing.
std::string parse_header(const std::string& text, Header& header);
/// Throws InvalidArgument for text that is not UTF-8.
std::string print_header(const char* call,
                         const std::vector<StoredTensor>& tensors,
                         const Metadata& metadata);

/// The library's own entry of the metadata; returns as parse_header().
std::string parse_training_state(const std::string& text, TrainingState& state);
std::string print_training_state(const TrainingState& state);

}  // namespace traingraph
