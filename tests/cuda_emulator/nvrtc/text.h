// SPDX-License-Identifier: MIT
// From the text of a CUDA module to one for g++.
#pragma once

#include <map>
#include <string>

namespace cuda_emulator {

/// By the names that they are included by.
using Headers = std::map<std::string, std::string>;

/// The text with its headers in place, each once, and its kernels listed, as
/// device/shim.h has it.
std::string host_text(const std::string& text, const std::string& name,
                      const Headers& headers);

}  // namespace cuda_emulator
