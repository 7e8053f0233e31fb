// SPDX-License-Identifier: MIT
// std::condition_variable, on Linux with the wait() of GCC 4.4 to 11. The one
// that GCC 12 added differs for threads that are cancelled (pthread_cancel),
// which ours never are, and would be the only thing of the library that systems
// with GCC 11's libstdc++ lack. A libstdc++ that is linked statically has one
// wait(), and needs -DTRAINGRAPH_STATIC_LIBSTDCXX.
#pragma once

#include <condition_variable>

#if defined(__GLIBCXX__) && defined(__linux__) &&    \
    (defined(__x86_64__) || defined(__aarch64__)) && \
    !defined(TRAINGRAPH_STATIC_LIBSTDCXX)
__asm__(
    ".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
#endif
