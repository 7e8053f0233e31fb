// SPDX-License-Identifier: MIT
// libFuzzer's entry: random graphs on the CPU device.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "check_graph.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const traingraph::Device cpu = traingraph::Device::cpu();
  const std::string fault = traingraph::fuzz::find_fault({data, size}, cpu);
  if (fault.empty()) return 0;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::abort();
}
