// SPDX-License-Identifier: MIT
#include "runtime/device/huge_pages.h"

#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace traingraph {

#if defined(__linux__)
namespace {

/// MADV_COLLAPSE of Linux 6.1, which older headers lack. Unlike MADV_HUGEPAGE
/// it does not ask whether the system gives shared memory huge pages by itself.
constexpr int kCollapse = 25;

std::size_t whole_pages(std::size_t bytes) {
  return bytes / kHugePage * kHugePage;
}

}  // namespace

void ask_for_huge_pages(std::byte* data, std::size_t bytes) {
  const std::size_t whole = whole_pages(bytes);
  if (whole > 0) madvise(data, whole, MADV_HUGEPAGE);
}

std::byte* map_again(std::byte* shared, std::size_t bytes) {
  if (bytes < kHugePage) {
    void* const mapped = mremap(shared, 0, bytes, MREMAP_MAYMOVE);
    return mapped == MAP_FAILED ? shared : static_cast<std::byte*>(mapped);
  }
  // Addresses that nobody else gets; those in front of the mapping stay unused.
  void* const room = mmap(nullptr, bytes + kHugePage, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return shared;
  const auto begin = reinterpret_cast<std::uintptr_t>(room);
  std::byte* const aligned =
      static_cast<std::byte*>(room) + (kHugePage - begin % kHugePage);
  // From no bytes: what is mapped stays mapped.
  const void* const mapped =
      mremap(shared, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, aligned);
  if (mapped != MAP_FAILED) return aligned;
  munmap(room, bytes + kHugePage);
  return shared;
}

void use_huge_pages(std::byte* shared, std::size_t bytes) {
  const std::size_t whole = whole_pages(bytes);
  if (whole > 0) madvise(shared, whole, kCollapse);
}
#else
void ask_for_huge_pages(std::byte*, std::size_t) {}
std::byte* map_again(std::byte* shared, std::size_t) { return shared; }
void use_huge_pages(std::byte*, std::size_t) {}
#endif

}  // namespace traingraph
