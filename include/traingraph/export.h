// SPDX-License-Identifier: MIT
// Symbol visibility. Everything public carries TRAINGRAPH_API.
#pragma once

#if defined(_WIN32)
#define TRAINGRAPH_API
#else
#define TRAINGRAPH_API __attribute__((visibility("default")))
#endif
