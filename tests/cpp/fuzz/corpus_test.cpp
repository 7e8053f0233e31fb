// SPDX-License-Identifier: MIT
// What the fuzzer found worth keeping, replayed: inputs that reach different
// code, and inputs that once showed a fault. See tests/fuzz.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "../../fuzz/check_graph.h"
#include "support/test_device.h"

namespace traingraph {
namespace {

std::vector<std::uint8_t> read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Fuzz, CorpusShowsNoFault) {
  const Device device = testing::test_device();
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(TRAINGRAPH_FUZZ_CORPUS)) {
    SCOPED_TRACE(entry.path().filename().string());
    EXPECT_NO_THROW(
        EXPECT_EQ(fuzz::find_fault(read(entry.path()), device), ""));
    ++count;
  }
  EXPECT_GT(count, 50);
}

}  // namespace
}  // namespace traingraph
