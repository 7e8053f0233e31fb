// SPDX-License-Identifier: MIT
// The only place that holds the version; CMake and pyproject.toml read it.
#pragma once

#include "traingraph/export.h"

#define TRAINGRAPH_VERSION "0.1.0"

namespace traingraph {

/// The version of the library that was loaded.
TRAINGRAPH_API const char* library_version() noexcept;

}  // namespace traingraph
