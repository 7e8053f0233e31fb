// SPDX-License-Identifier: MIT
#include "support/test_device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "runtime/device_context.h"

namespace traingraph::testing {
namespace {

class SkipWithoutDevice : public ::testing::Environment {
  void SetUp() override {
    const std::string reason = Device::reason_unavailable(test_device_type());
    // The words that CTest looks for.
    if (!reason.empty()) GTEST_SKIP() << "[  SKIPPED ] " << reason;
  }
};

const auto* const skip_without_device =
    ::testing::AddGlobalTestEnvironment(new SkipWithoutDevice);

}  // namespace

DeviceType test_device_type() {
  const char* name = std::getenv("TRAINGRAPH_TEST_DEVICE");
  const std::string device = name ? name : "cpu";
  if (device == "cpu") return DeviceType::CPU;
  if (device == "gpu") return DeviceType::GPU;
  if (device == "null") return DeviceType::Null;
  throw std::invalid_argument("TRAINGRAPH_TEST_DEVICE is " + device);
}

Device other_device() { return computes() ? Device::null() : Device::cpu(); }

std::size_t device_alignment() {
  return test_device().context()->target().alignment();
}

}  // namespace traingraph::testing
