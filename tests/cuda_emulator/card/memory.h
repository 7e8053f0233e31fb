// SPDX-License-Identifier: MIT
// Memory of the cards, and pinned memory of the host. Each range ends where its
// pages do and lies between pages that nobody may touch; what is left of its
// own pages is a red zone. What is freed faults when it is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace cuda_emulator {

inline constexpr int kHost = -1;

struct Range {
  unsigned char* begin;
  std::size_t bytes;
  unsigned char* pages;  // with those around it
  std::size_t page_bytes;
  int owner;  // a card, or kHost
};

class Memory {
 public:
  /// Filled with poison. Null: there is none.
  const Range* allocate(std::size_t bytes, int owner);
  /// False: no range begins there.
  bool free(std::uint64_t address, int owner);
  /// The range that has all of these bytes; null: none has.
  const Range* find(std::uint64_t address, std::size_t bytes) const;
  /// What a card has left.
  std::size_t free_bytes(int owner) const;
  static std::size_t total_bytes();

  /// Of the first red zone that somebody wrote to since the last call: what is
  /// beside it; empty: there is none.
  std::string take_damage();

 private:
  std::map<std::uint64_t, Range> ranges_;  // by their begin
  std::map<int, std::size_t> used_;
  std::deque<Range> freed_;
};

}  // namespace cuda_emulator
