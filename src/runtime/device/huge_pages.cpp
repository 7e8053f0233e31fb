// SPDX-License-Identifier: MIT
#include "runtime/device/huge_pages.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace traingraph {

#if defined(__linux__)
void ask_for_huge_pages(std::byte* data, std::size_t bytes) {
  const std::size_t whole = bytes / kHugePage * kHugePage;
  if (whole > 0) madvise(data, whole, MADV_HUGEPAGE);
}
#else
void ask_for_huge_pages(std::byte*, std::size_t) {}
#endif

}  // namespace traingraph
