// SPDX-License-Identifier: MIT
// NVIDIA's libraries, found at run time. Nothing is loaded before somebody asks
// for a GPU. A folder in TRAINGRAPH_CUDA_PATH is the only one that is searched;
// without it the system's, then those that add_library_folder() named, in which
// the wheels of NVIDIA keep them.
#pragma once

#include <string>

#include "cuda/abi/driver.h"
#include "cuda/abi/nvrtc.h"

namespace traingraph::cuda {

/// A library, or why there is none.
template <class Functions>
struct Library {
  const Functions* functions = nullptr;  // null: see reason
  std::string reason;
};

/// Where else to search, from now on.
void add_library_folder(std::string folder);

/// Loaded by the first call; the same from then on.
const Library<Driver>& driver_library();
/// Tried anew by each call until it is there.
Library<Nvrtc> nvrtc_library();

}  // namespace traingraph::cuda
