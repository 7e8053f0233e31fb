// SPDX-License-Identifier: MIT
#include "allocation/count_new.h"

#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<bool> counts{false};
std::atomic<std::size_t> allocations{0};

/// Where oneDNN's code is: dnnl_primitive_execute() makes a map per call.
std::uintptr_t engine_begin = 0, engine_end = 0;

int find_engine(dl_phdr_info* info, std::size_t, void*) {
  if (!std::strstr(info->dlpi_name, "libdnnl")) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    engine_begin = info->dlpi_addr + segment.p_vaddr;
    engine_end = engine_begin + segment.p_memsz;
  }
  return 1;
}

void* counted(std::size_t size, std::size_t alignment, void* caller) {
  const auto from = reinterpret_cast<std::uintptr_t>(caller);
  const bool is_ours = from < engine_begin || from >= engine_end;
  if (is_ours && counts.load(std::memory_order_relaxed)) ++allocations;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded ? rounded : alignment);
}

void* require(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t kDefault = alignof(std::max_align_t);

}  // namespace

// NOLINTBEGIN: the replaceable allocation functions
void* operator new(std::size_t n) {
  return require(counted(n, kDefault, __builtin_return_address(0)));
}
void* operator new[](std::size_t n) {
  return require(counted(n, kDefault, __builtin_return_address(0)));
}
void* operator new(std::size_t n, std::align_val_t a) {
  return require(
      counted(n, static_cast<std::size_t>(a), __builtin_return_address(0)));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return require(
      counted(n, static_cast<std::size_t>(a), __builtin_return_address(0)));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return counted(n, kDefault, __builtin_return_address(0));
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return counted(n, kDefault, __builtin_return_address(0));
}
void* operator new(std::size_t n, std::align_val_t a,
                   const std::nothrow_t&) noexcept {
  return counted(n, static_cast<std::size_t>(a), __builtin_return_address(0));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept {
  std::free(p);
}
void operator delete(void* p, std::align_val_t,
                     const std::nothrow_t&) noexcept {
  std::free(p);
}
// NOLINTEND

namespace traingraph::testing {

void start_counting() {
  dl_iterate_phdr(find_engine, nullptr);
  allocations = 0;
  counts = true;
}

std::size_t stop_counting() {
  counts = false;
  return allocations;
}

}  // namespace traingraph::testing
