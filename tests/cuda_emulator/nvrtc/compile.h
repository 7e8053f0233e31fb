// SPDX-License-Identifier: MIT
// A shared library by the compiler that CMake found.
#pragma once

#include <string>
#include <vector>

namespace cuda_emulator {

struct Compiled {
  bool is_success = false;
  std::string library;  // its bytes
  std::string log;
};

Compiled compile(const std::string& text,
                 const std::vector<std::string>& options);

}  // namespace cuda_emulator
