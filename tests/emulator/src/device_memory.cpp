// SPDX-License-Identifier: MIT
#include "device_memory.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "faults.h"

namespace emulator {
namespace {

std::atomic<std::size_t> total{0};

bool reserve(std::size_t bytes) {
  const std::size_t limit = memory_limit();
  std::size_t used = total;
  do {
    if (bytes > limit || used > limit - bytes) return false;
  } while (!total.compare_exchange_weak(used, used + bytes));
  return true;
}

}  // namespace

std::shared_ptr<Memory> Memory::allocate(std::size_t bytes,
                                         unsigned char fill) {
  if (meets_allocation_fault() || !reserve(bytes)) return nullptr;
  const std::size_t pages = (bytes + kPageSize - 1) / kPageSize * kPageSize;
  auto* data = static_cast<char*>(std::aligned_alloc(kPageSize, pages));
  if (!data) {
    total -= bytes;
    return nullptr;
  }
  std::memset(data, fill, pages);
  return std::shared_ptr<Memory>(new Memory(data, bytes));
}

Memory::~Memory() {
  std::free(data_);
  total -= bytes_;
}

std::size_t Memory::total_bytes() { return total; }

}  // namespace emulator
