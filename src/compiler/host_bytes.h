// SPDX-License-Identifier: MIT
// What a compilation takes of the host's memory, about.
#pragma once

#include <cstddef>

#include "compiler/compile.h"

namespace traingraph {

std::size_t host_bytes(const Compilation& compilation);

}  // namespace traingraph
