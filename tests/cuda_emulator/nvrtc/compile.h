// SPDX-License-Identifier: MIT
// A shared library by the compiler that CMake found.
#pragma once

#include <string>
#include <vector>

namespace cuda_emulator {

/// Does code of ours call the processor's fused multiply-add? Without, one of
/// the C library's takes ten times as long.
bool has_fast_fma();

struct Compiled {
  bool is_success = false;
  std::string library;  // its bytes
  std::string log;
};

Compiled compile(const std::string& text,
                 const std::vector<std::string>& options);

}  // namespace cuda_emulator
