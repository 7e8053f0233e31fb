// SPDX-License-Identifier: MIT
// Memory: one allocation of the device, counted against its limit.
#pragma once

#include <cstddef>
#include <memory>

namespace emulator {

inline constexpr std::size_t kPageSize = 4096;

class Memory {
 public:
  /// The memory is null when it does not fit or shall fail. Every byte is
  /// `fill`.
  static std::shared_ptr<Memory> allocate(std::size_t bytes,
                                          unsigned char fill);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* data() const { return data_; }

  static std::size_t total_bytes();

 private:
  Memory(char* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  char* data_;
  std::size_t bytes_;
};

}  // namespace emulator
