// SPDX-License-Identifier: MIT
#include "traingraph/version.h"

namespace traingraph {

const char* library_version() noexcept { return TRAINGRAPH_VERSION; }

}  // namespace traingraph
