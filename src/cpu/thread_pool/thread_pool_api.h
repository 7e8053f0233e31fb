// SPDX-License-Identifier: MIT
// What the library of the thread pool shows where it is a library of its own.
#pragma once

#if defined(__GNUC__)
#define TRAINGRAPH_THREAD_POOL_API __attribute__((visibility("default")))
#else
#define TRAINGRAPH_THREAD_POOL_API
#endif
