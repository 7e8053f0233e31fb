// SPDX-License-Identifier: MIT
// What the library of the team shows where it is a library of its own.
#pragma once

#if defined(__GNUC__)
#define TRAINGRAPH_TEAM_API __attribute__((visibility("default")))
#else
#define TRAINGRAPH_TEAM_API
#endif
