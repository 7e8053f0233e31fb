// SPDX-License-Identifier: MIT
#include "metal/write_versions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace traingraph::metal {
namespace {

TEST(WriteVersions, BeginWithNone) {
  const WriteVersions versions;
  EXPECT_EQ(versions.version(0, 100), 0u);
}

TEST(WriteVersions, NeighboursDoNotMeet) {
  WriteVersions versions;
  versions.note_write(8, 8);
  EXPECT_EQ(versions.version(0, 8), 0u);
  EXPECT_EQ(versions.version(16, 8), 0u);
  EXPECT_EQ(versions.version(15, 1), 1u);
  EXPECT_EQ(versions.version(0, 9), 1u);
  versions.note_write(0, 0);
  EXPECT_EQ(versions.version(0, 8), 0u);
  EXPECT_EQ(versions.version(8, 0), 0u);
}

TEST(WriteVersions, AreThoseOfTheirBytes) {
  constexpr std::size_t kBytes = 64;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](std::size_t from, std::size_t to) {
      return std::uniform_int_distribution<std::size_t>(from, to)(random);
    };
    WriteVersions versions;
    std::vector<std::uint64_t> by_byte(kBytes, 0);
    for (std::uint64_t write = 1; write <= 200; ++write) {
      const std::size_t offset = pick(0, kBytes - 1);
      const std::size_t bytes = pick(1, kBytes - offset);
      versions.note_write(offset, bytes);
      std::fill_n(by_byte.begin() + offset, bytes, write);
      const std::size_t at = pick(0, kBytes - 1);
      const std::size_t count = pick(1, kBytes - at);
      EXPECT_EQ(
          versions.version(at, count),
          *std::max_element(by_byte.begin() + at, by_byte.begin() + at + count))
          << write << ": " << at << ", " << count;
    }
  }
}

}  // namespace
}  // namespace traingraph::metal
