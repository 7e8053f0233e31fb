// SPDX-License-Identifier: MIT
// NVIDIA's libraries, found at run time. Nothing is loaded before somebody asks
// for a GPU. They are looked for in the folders of TRAINGRAPH_CUDA_PATH, which
// are separated by colons, in those of NVIDIA's wheels beside ours, and where
// the system has its libraries. "off" instead of folders: there are none.
#pragma once

#include <string>

#include "cuda/abi/cublaslt.h"
#include "cuda/abi/driver.h"
#include "cuda/abi/nvrtc.h"

namespace traingraph::cuda {

/// A library, or why there is none.
template <class Functions>
struct Library {
  const Functions* functions = nullptr;  // null: see reason
  std::string reason;
};

/// Does TRAINGRAPH_CUDA_PATH say "off"?
bool is_turned_off();
/// Loaded by the first call; the same from then on.
const Library<Driver>& driver_library();
/// Tried anew by each call until it is there.
Library<Nvrtc> nvrtc_library();
/// The same. It is large: only programs with large products ask for it.
Library<CublasLt> cublaslt_library();

}  // namespace traingraph::cuda
