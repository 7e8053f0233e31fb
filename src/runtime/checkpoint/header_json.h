// SPDX-License-Identifier: MIT
// The header of a checkpoint as JSON, in and out.
#pragma once

#include <string>

#include "runtime/checkpoint/header.h"

namespace traingraph {

/// Fills tensors and metadata of `header`. Returns what is wrong with the text;
/// empty: nothing.
std::string parse_header(const std::string& text, Header& header);
/// Throws InvalidArgument for text that is not UTF-8.
std::string print_header(const char* call,
                         const std::vector<StoredTensor>& tensors,
                         const Metadata& metadata);

}  // namespace traingraph
