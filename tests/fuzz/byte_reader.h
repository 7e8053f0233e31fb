// SPDX-License-Identifier: MIT
// Bytes as a source of choices. Past the end all are zero, so that every
// string of bytes means something and shorter ones mean simpler things.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>

namespace traingraph::fuzz {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool is_empty() const { return bytes_.empty(); }
  int byte() {
    if (bytes_.empty()) return 0;
    const int value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  /// The next bytes as a reader of their own. With records of a fixed length,
  /// a byte that is inserted into one does not change the next.
  ByteReader take(std::size_t count) {
    const ByteReader taken(bytes_.first(std::min(count, bytes_.size())));
    bytes_ = bytes_.subspan(taken.bytes_.size());
    return taken;
  }

  int below(int n) { return byte() % n; }
  /// Rarely true, and false past the end.
  bool one_in(int n) { return below(n) == n - 1; }

  /// Mostly in [low, high], at times what nobody should pass.
  std::int64_t size(std::int64_t low, std::int64_t high) {
    using Limits = std::numeric_limits<std::int64_t>;
    constexpr std::int64_t kOdd[] = {
        0, -1, -3, 100, Limits::max() / 2, Limits::max(), Limits::min()};
    const int choice = byte();
    const int odd = 255 - choice;
    if (odd < std::ssize(kOdd)) return kOdd[odd];
    return low + choice % (high - low + 1);
  }
  /// Mostly `expected`.
  std::int64_t size_or(std::int64_t expected) {
    const std::int64_t choice = size(1, 1);
    return choice == 1 ? expected : choice;
  }
  float real() {
    constexpr float kReals[] = {1,
                                0.5f,
                                0.01f,
                                2,
                                -1,
                                0,
                                0.9f,
                                0.25f,
                                3.5f,
                                1e-8f,
                                0.1f,
                                -0.0f,
                                1e30f,
                                -1e30f,
                                std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
    return kReals[below(std::size(kReals))];
  }
  /// A case from `first` to `last`, or one past it, which is none.
  template <class Enum>
  Enum any(Enum first, Enum last) {
    const int low = static_cast<int>(first);
    const int num_cases = static_cast<int>(last) - low + 1;
    const int choice = byte();
    if (choice == 255) return static_cast<Enum>(low + num_cases);
    return static_cast<Enum>(low + choice % num_cases);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace traingraph::fuzz
