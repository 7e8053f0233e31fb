// SPDX-License-Identifier: MIT
#include "support/test_device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "metal/metal_backend.h"
#include "runtime/device/device_context.h"
#include "support/token_device.h"

namespace traingraph::testing {
namespace {

std::string device_name() {
  const char* name = std::getenv("TRAINGRAPH_TEST_DEVICE");
  return name ? name : "cpu";
}

class SkipWithoutDevice : public ::testing::Environment {
  void SetUp() override {
    const std::string reason = Device::reason_unavailable(test_device_type());
    // The words that CTest looks for.
    if (!reason.empty()) GTEST_SKIP() << "[  SKIPPED ] " << reason;
  }
};

const auto* const kSkipWithoutDevice =
    ::testing::AddGlobalTestEnvironment(new SkipWithoutDevice);

}  // namespace

DeviceType test_device_type() {
  const std::string device = device_name();
  if (device == "cpu" || device == "token") return DeviceType::CPU;
  if (device == "gpu" || device == "cuda") return DeviceType::GPU;
  if (device == "null") return DeviceType::Null;
  throw std::invalid_argument("TRAINGRAPH_TEST_DEVICE is " + device);
}

Device test_device() {
  if (device_name() == "token") return Device(token_context());
  return Device(test_device_type());
}

bool is_cuda() { return device_name() == "cuda"; }

bool has_host_views() { return device_name() != "token" && !is_cuda(); }

Device rank_device() {
  if (test_device_type() != DeviceType::GPU) return Device::cpu(1);
  // These devices live as long as the process, as a GPU's do. Looking for a GPU
  // is for one thread at a time, while nothing is compiled: all are made by the
  // first.
  constexpr int kMaxRanks = 6;
  static auto* const all = new std::vector<std::shared_ptr<DeviceContext>>([] {
    std::vector<std::shared_ptr<DeviceContext>> contexts(kMaxRanks);
    for (auto& context : contexts) {
      context = metal::make_context([](metal::GpuLimits&) {});
    }
    return contexts;
  }());
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  for (const auto& context : *all) {
    if (context.use_count() == 1) return Device(context);
  }
  throw std::logic_error("there are more ranks than devices");
}

Device other_device() { return computes() ? Device::null() : Device::cpu(); }

std::size_t device_alignment() {
  return test_device().context()->target().alignment();
}

}  // namespace traingraph::testing
