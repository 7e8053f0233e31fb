// SPDX-License-Identifier: MIT
// Of libcuda: cards, contexts, names of errors.
#include <algorithm>
#include <cstring>

#include "driver/state.h"

namespace traingraph::cuda {
using namespace cuda_emulator;

namespace {

// Names of what kernels need must all be there.
const Driver kAll = {
#define FUNCTION(member, symbol, parameters) &symbol,
    TRAINGRAPH_CUDA_DRIVER(FUNCTION)
#undef FUNCTION
};

struct Named {
  int result;
  const char *name, *text;
};
constexpr Named kResults[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE",
     "uncorrectable ECC error encountered"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
};

const Named* named(Result result) {
  const auto* found =
      std::ranges::find(kResults, static_cast<int>(result), &Named::result);
  return found == std::end(kResults) ? nullptr : found;
}

bool is_card(int ordinal) { return ordinal >= 0 && ordinal < num_cards(); }

}  // namespace

Result cuInit(unsigned flags) {
  EMULATED_CALL(Call::kNothing);
  if (flags != 0 || kAll.init == nullptr) return Result::InvalidValue;
  if (num_cards() == 0) return Result::NoDevice;
  state().is_initialized = true;
  return Result::Success;
}

Result cuDriverGetVersion(int* version) {
  EMULATED_CALL(Call::kNothing);
  *version = 13000;
  return Result::Success;
}

Result cuGetErrorName(Result result, const char** name) {
  const Named* found = named(result);
  *name = found == nullptr ? nullptr : found->name;
  return found == nullptr ? Result::InvalidValue : Result::Success;
}

Result cuGetErrorString(Result result, const char** text) {
  const Named* found = named(result);
  *text = found == nullptr ? nullptr : found->text;
  return found == nullptr ? Result::InvalidValue : Result::Success;
}

Result cuDeviceGetCount(int* count) {
  EMULATED_CALL(Call::kInit);
  *count = num_cards();
  return Result::Success;
}

Result cuDeviceGet(DeviceOrdinal* device, int ordinal) {
  EMULATED_CALL(Call::kInit);
  if (!is_card(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return Result::Success;
}

Result cuDeviceGetName(char* name, int length, DeviceOrdinal device) {
  EMULATED_CALL(Call::kInit);
  if (!is_card(device)) return kInvalidDevice;
  if (length < 1) return Result::InvalidValue;
  std::strncpy(name, "Emulated GPU", static_cast<std::size_t>(length));
  name[length - 1] = '\0';
  return Result::Success;
}

Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute,
                            DeviceOrdinal device) {
  EMULATED_CALL(Call::kInit);
  if (!is_card(device)) return kInvalidDevice;
  switch (attribute) {
    case DeviceAttribute::ClockRate:
      *value = 1000000;
      return Result::Success;
    case DeviceAttribute::MultiprocessorCount:
      *value = 1;  // so few that blocks which share out work have much each
      return Result::Success;
    case DeviceAttribute::MemoryClockRate:
      *value = 1000000;
      return Result::Success;
    case DeviceAttribute::GlobalMemoryBusWidth:
      *value = 1024;
      return Result::Success;
    case DeviceAttribute::ComputeCapabilityMajor:
      *value = 9;
      return Result::Success;
    case DeviceAttribute::ComputeCapabilityMinor:
      *value = 0;
      return Result::Success;
    case DeviceAttribute::MaxSharedMemoryPerBlockOptin:
      *value = kMaxSharedBytes;
      return Result::Success;
  }
  return Result::InvalidValue;
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, DeviceOrdinal device) {
  EMULATED_CALL(Call::kInit);
  if (!is_card(device)) return kInvalidDevice;
  *bytes = Memory::total_bytes();
  return Result::Success;
}

Result cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceOrdinal device) {
  EMULATED_CALL(Call::kInit);
  if (!is_card(device)) return kInvalidDevice;
  *context = static_cast<ContextHandle>(context_of(device));
  return Result::Success;
}

Result cuCtxSetCurrent(ContextHandle context) {
  EMULATED_CALL(Call::kInit);
  for (int card = 0; card < num_cards(); ++card) {
    if (context != context_of(card)) continue;
    current_card() = card;
    return Result::Success;
  }
  return kInvalidContext;
}

}  // namespace traingraph::cuda
