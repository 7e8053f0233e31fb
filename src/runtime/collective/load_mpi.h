// SPDX-License-Identifier: MIT
// From the name of an MPI library to its functions.
#pragma once

#include <string>
#include <string_view>

#include "runtime/collective/mpi_abi.h"

namespace traingraph::mpi {

struct Loaded {
  void* handle = nullptr;
  std::string path = {};  // what it was loaded by
};

/// Loads the library at `path`; when that is empty where TRAINGRAPH_MPI_LIBRARY
/// says, else where the dynamic linker finds it. Throws DeviceError.
Loaded load(std::string_view path);
/// Throws DeviceError when the library lacks one or has another ABI.
Functions functions_of(void* handle, const std::string& path);
/// Throws DeviceError when the process has initialized another MPI, by mpi4py
/// say: a process cannot be a rank twice.
void require_no_other_library(void* handle);
/// "MPICH 5.0.2" of what MPI_Get_library_version() says.
std::string short_version(std::string_view text);

}  // namespace traingraph::mpi
