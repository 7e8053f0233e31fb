// SPDX-License-Identifier: MIT
// The only place that holds the version; CMake and pyproject.toml read it.
#pragma once

#define TRAINGRAPH_VERSION "0.1.0"
