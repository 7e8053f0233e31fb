// SPDX-License-Identifier: MIT
#include "cuda/card.h"

#include "cuda/abi/libraries.h"
#include "cuda/cuda_error.h"

namespace traingraph::cuda {
namespace {

constexpr int kMinCapability = 75;
constexpr int kMinDriver = 12030;  // CUDA 12.3: programmatic edges of graphs

int attribute(const Driver& driver, DeviceAttribute which,
              DeviceOrdinal device) {
  int value = 0;
  driver.device_get_attribute(&value, which, device);
  return value;
}

int capability_of(const Driver& driver, DeviceOrdinal device) {
  return 10 * attribute(driver, DeviceAttribute::ComputeCapabilityMajor,
                        device) +
         attribute(driver, DeviceAttribute::ComputeCapabilityMinor, device);
}

std::string name_of(const Driver& driver, DeviceOrdinal device) {
  char name[256] = {};
  driver.device_get_name(name, sizeof name - 1, device);
  return name;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

/// Cards of one name are told apart by their numbers.
void number_equals(std::vector<std::string>& names) {
  const std::vector<std::string> all = names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    int before = 0, equal = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (all[k] != all[i]) continue;
      ++equal;
      before += k < i ? 1 : 0;
    }
    if (equal > 1) names[i] += " #" + std::to_string(before);
  }
}

}  // namespace

Card::Card(const Driver& driver, int ordinal)
    : driver_(driver), name_(name_of(driver, ordinal)) {
  check(driver.primary_context_retain(&context_, ordinal),
        "cuDevicePrimaryCtxRetain");
  make_current();
  limits_.capability = capability_of(driver, ordinal);
  limits_.num_multiprocessors =
      attribute(driver, DeviceAttribute::MultiprocessorCount, ordinal);
  limits_.max_shared_bytes =
      attribute(driver, DeviceAttribute::MaxSharedMemoryPerBlockOptin, ordinal);
  check(driver.device_total_memory(&limits_.memory_bytes, ordinal),
        "cuDeviceTotalMem");
}

void Card::make_current() const {
  check(driver_.context_set_current(context_), "cuCtxSetCurrent");
}

bool Card::try_make_current() const noexcept {
  return driver_.context_set_current(context_) == Result::Success;
}

void Card::check(Result result, const char* call) const {
  cuda::check(driver_, result, call);
}

Cards find_cards() {
  Cards cards;
  const Library<Driver>& library = driver_library();
  cards.reason = library.reason;
  if (library.functions == nullptr) return cards;
  const Driver& driver = *library.functions;
  if (const Result result = driver.init(0); result != Result::Success) {
    cards.reason =
        "the NVIDIA driver does not start: " + text_of(driver, result);
    return cards;
  }
  int version = 0, count = 0;
  driver.driver_get_version(&version);
  if (version < kMinDriver) {
    cards.reason = "the NVIDIA driver is for CUDA " + version_text(version) +
                   "; install one for CUDA " + version_text(kMinDriver) +
                   " or newer";
    return cards;
  }
  driver.device_get_count(&count);
  cards.reason = "the NVIDIA driver finds no card";
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const int capability = capability_of(driver, ordinal);
    if (capability < kMinCapability) {
      cards.reason = name_of(driver, ordinal) + " has compute capability " +
                     std::to_string(capability / 10) + "." +
                     std::to_string(capability % 10) + ", and 7.5 is needed";
      continue;
    }
    cards.ordinals.push_back(ordinal);
    cards.names.push_back(name_of(driver, ordinal));
  }
  if (!cards.ordinals.empty()) cards.reason.clear();
  number_equals(cards.names);
  return cards;
}

}  // namespace traingraph::cuda
