// SPDX-License-Identifier: MIT
// What users read who ask for a GPU that cannot be used.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "emulator/control.h"
#include "traingraph/device.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

bool says_why(const std::string& text) {
  return text.find("Apple Paravirtual device") != std::string::npos &&
         text.find("no usable heap") != std::string::npos &&
         text.find("virtual machine") != std::string::npos;
}

/// The GPU is looked for once per process.
void ask_for_one_without_heaps() {
  emulator::set_device_name("Apple Paravirtual device");
  emulator::set_has_heaps(false);
  const bool is_any_the_cpu =
      Device(DeviceType::Any).actual_device_type() == DeviceType::CPU;
  try {
    Device::gpu();
  } catch (const DeviceError& error) {
    const bool is_told = says_why(error.what()) &&
                         says_why(Device::reason_unavailable(DeviceType::GPU));
    std::exit(is_told && is_any_the_cpu ? 0 : 2);
  }
  std::exit(3);
}

TEST(UnusableGpuDeathTest, TheErrorSaysWhy) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ask_for_one_without_heaps(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace traingraph
