// SPDX-License-Identifier: MIT
// Of libcuda: modules, functions and launches of one kernel.
#include <algorithm>
#include <cstring>
#include <span>

#include "driver/launch.h"

namespace cuda_emulator {
namespace {

constexpr unsigned kMaxGridX = 0x7fffffff, kMaxGridYZ = 65535;
constexpr unsigned kMaxBlockZ = 64;

bool is_in(unsigned value, unsigned most) {
  return value >= 1 && value <= most;
}

}  // namespace

Result make_kernel_node(const traingraph::cuda::KernelNodeParams& params,
                        Node& node) {
  const auto function = state().functions.find(params.function);
  if (function == nullptr || function->module->is_unloaded) {
    return kInvalidHandle;
  }
  const Kernel& kernel = *function->kernel;
  const bool has_size =
      is_in(params.grid_x, kMaxGridX) && is_in(params.grid_y, kMaxGridYZ) &&
      is_in(params.grid_z, kMaxGridYZ) && is_in(params.block_x, kMaxThreads) &&
      is_in(params.block_y, kMaxThreads) && is_in(params.block_z, kMaxBlockZ);
  if (!has_size) return Result::InvalidValue;
  const unsigned max_threads =
      kernel.max_threads == 0 ? kMaxThreads : kernel.max_threads;
  if (params.block_x * params.block_y * params.block_z > max_threads ||
      params.shared_bytes > function->max_shared_bytes ||
      params.extra != nullptr ||
      (params.parameters == nullptr && kernel.num_parameters > 0)) {
    return Result::InvalidValue;
  }
  node.kernel = KernelCall{
      .module = function->module,
      .kernel = &kernel,
      .grid = {params.grid_x, params.grid_y, params.grid_z},
      .block = {params.block_x, params.block_y, params.block_z},
      .shared_bytes = params.shared_bytes,
      .parameters = std::make_shared<Parameters>(kernel, params.parameters)};
  return Result::Success;
}

bool uses_unloaded(const std::vector<Node>& nodes) {
  return std::ranges::any_of(nodes, [](const Node& node) {
    return node.kernel && node.kernel->module->is_unloaded;
  });
}

}  // namespace cuda_emulator

namespace traingraph::cuda {
using namespace cuda_emulator;

Result cuModuleLoadData(ModuleHandle* handle, const void* image) {
  EMULATED_CALL();
  auto module = LoadedModule::load(image);
  if (module == nullptr) return kInvalidImage;
  *handle = static_cast<ModuleHandle>(state().modules.add(std::move(module)));
  return Result::Success;
}

Result cuModuleUnload(ModuleHandle handle) {
  EMULATED_CALL();
  const auto module = state().modules.find(handle);
  if (module == nullptr) return kInvalidHandle;
  module->is_unloaded = true;  // work in flight keeps the code
  state().modules.remove(handle);
  return Result::Success;
}

Result cuModuleGetFunction(FunctionHandle* handle, ModuleHandle of,
                           const char* name) {
  EMULATED_CALL();
  const auto module = state().modules.find(of);
  if (module == nullptr) return kInvalidHandle;
  const std::span kernels(module->content().kernels,
                          module->content().num_kernels);
  for (const Kernel& kernel : kernels) {
    if (std::strcmp(kernel.name, name) != 0) continue;
    *handle = static_cast<FunctionHandle>(state().functions.add(
        std::make_shared<Function>(Function{module, &kernel})));
    return Result::Success;
  }
  return kNotFound;
}

Result cuFuncGetAttribute(int* value, FunctionAttribute attribute,
                          FunctionHandle handle) {
  EMULATED_CALL();
  const auto function = state().functions.find(handle);
  if (function == nullptr) return kInvalidHandle;
  switch (attribute) {
    case FunctionAttribute::LocalSizeBytes:
      *value = 0;
      return Result::Success;
    case FunctionAttribute::MaxDynamicSharedSizeBytes:
      *value = static_cast<int>(function->max_shared_bytes);
      return Result::Success;
  }
  return Result::InvalidValue;
}

Result cuFuncSetAttribute(FunctionHandle handle, FunctionAttribute attribute,
                          int value) {
  EMULATED_CALL();
  const auto function = state().functions.find(handle);
  if (function == nullptr) return kInvalidHandle;
  const bool is_valid =
      attribute == FunctionAttribute::MaxDynamicSharedSizeBytes && value >= 0 &&
      value <= static_cast<int>(kMaxSharedBytes);
  if (!is_valid) return Result::InvalidValue;
  function->max_shared_bytes = static_cast<unsigned>(value);
  return Result::Success;
}

Result cuLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y,
                      unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned shared_bytes,
                      StreamHandle handle, void** parameters, void** extra) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  Node node;
  const Result result = make_kernel_node({.function = function,
                                          .grid_x = grid_x,
                                          .grid_y = grid_y,
                                          .grid_z = grid_z,
                                          .block_x = block_x,
                                          .block_y = block_y,
                                          .block_z = block_z,
                                          .shared_bytes = shared_bytes,
                                          .parameters = parameters,
                                          .extra = extra},
                                         node);
  if (result != Result::Success) return result;
  const int end_as = stream->captured ? 0 : take_next_launch_fault();
  return submit_node(stream, std::move(node), end_as);
}

}  // namespace traingraph::cuda
