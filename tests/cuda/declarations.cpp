// SPDX-License-Identifier: MIT
// Our declarations of NVIDIA's libraries (src/cuda/abi) against NVIDIA's own,
// where they are installed: it compiles, or they differ. Nothing runs.
#include <cstddef>
#include <type_traits>

#include "cuda/abi/driver.h"
#include "cuda/abi/nvrtc.h"

#if __has_include(<cuda.h>)
#define __CUDA_API_VERSION_INTERNAL  // names as the library exports them
#include <cuda.h>
#endif
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#endif

namespace traingraph::cuda {
namespace {

/// Are a parameter of ours and one of theirs passed alike?
template <class Ours, class Theirs>
constexpr bool is_passed_alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using O = std::remove_cv_t<std::remove_pointer_t<Ours>>;
    using T = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
    // Handles are pointers to what nobody sees.
    if constexpr (std::is_pointer_v<O> || std::is_arithmetic_v<O> ||
                  std::is_enum_v<O>) {
      if constexpr (std::is_void_v<T>)
        return true;
      else
        return is_passed_alike<O, T>();
    } else {
      return true;
    }
  } else {
    constexpr bool are_floats =
        std::is_floating_point_v<Ours> && std::is_floating_point_v<Theirs>;
    constexpr bool are_numbers =
        (std::is_integral_v<Ours> || std::is_enum_v<Ours>) &&
        (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
    return (are_floats || are_numbers) && sizeof(Ours) == sizeof(Theirs);
  }
}

template <class Ours, class Theirs>
struct Alike : std::false_type {};
template <class R, class... P, class S, class... Q>
  requires(sizeof...(P) == sizeof...(Q))
struct Alike<R (*)(P...), S (*)(Q...)>
    : std::bool_constant<is_passed_alike<R, S>() &&
                         (is_passed_alike<P, Q>() && ...)> {};

#define FUNCTION(member, symbol, parameters)                               \
  static_assert(Alike<decltype(Functions::member), decltype(&::symbol)>(), \
                #symbol " is declared otherwise by NVIDIA");
#define VALUE(ours, theirs)                                             \
  static_assert(                                                        \
      static_cast<long long>(ours) == static_cast<long long>(::theirs), \
      #theirs " has another value");
#define MEMBER(Ours, ours, Theirs, theirs)                            \
  static_assert(offsetof(Ours, ours) == offsetof(::Theirs, theirs) && \
                    sizeof(Ours::ours) == sizeof(::Theirs::theirs),   \
                #Theirs "::" #theirs " lies elsewhere");

#ifdef CUDA_VERSION
namespace driver {
using Functions = Driver;
TRAINGRAPH_CUDA_DRIVER(FUNCTION)

VALUE(Result::Success, CUDA_SUCCESS)
VALUE(Result::InvalidValue, CUDA_ERROR_INVALID_VALUE)
VALUE(Result::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY)
VALUE(Result::NoDevice, CUDA_ERROR_NO_DEVICE)
VALUE(Result::EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE)
VALUE(Result::NotReady, CUDA_ERROR_NOT_READY)

VALUE(DeviceAttribute::ClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
VALUE(DeviceAttribute::MultiprocessorCount,
      CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
VALUE(DeviceAttribute::MemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
VALUE(DeviceAttribute::GlobalMemoryBusWidth,
      CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)
VALUE(DeviceAttribute::ComputeCapabilityMajor,
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
VALUE(DeviceAttribute::ComputeCapabilityMinor,
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
VALUE(DeviceAttribute::MaxSharedMemoryPerBlockOptin,
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)

VALUE(FunctionAttribute::LocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
VALUE(FunctionAttribute::MaxDynamicSharedSizeBytes,
      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)

static_assert(kHostAllocMapped == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(kHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE);
VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING)
VALUE(kEventDefault, CU_EVENT_DEFAULT)
VALUE(kEventDisableTiming, CU_EVENT_DISABLE_TIMING)
VALUE(kCaptureModeThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)

static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
MEMBER(KernelNodeParams, function, CUDA_KERNEL_NODE_PARAMS_v2, func)
MEMBER(KernelNodeParams, grid_x, CUDA_KERNEL_NODE_PARAMS_v2, gridDimX)
MEMBER(KernelNodeParams, grid_y, CUDA_KERNEL_NODE_PARAMS_v2, gridDimY)
MEMBER(KernelNodeParams, grid_z, CUDA_KERNEL_NODE_PARAMS_v2, gridDimZ)
MEMBER(KernelNodeParams, block_x, CUDA_KERNEL_NODE_PARAMS_v2, blockDimX)
MEMBER(KernelNodeParams, block_y, CUDA_KERNEL_NODE_PARAMS_v2, blockDimY)
MEMBER(KernelNodeParams, block_z, CUDA_KERNEL_NODE_PARAMS_v2, blockDimZ)
MEMBER(KernelNodeParams, shared_bytes, CUDA_KERNEL_NODE_PARAMS_v2,
       sharedMemBytes)
MEMBER(KernelNodeParams, parameters, CUDA_KERNEL_NODE_PARAMS_v2, kernelParams)
MEMBER(KernelNodeParams, extra, CUDA_KERNEL_NODE_PARAMS_v2, extra)
MEMBER(KernelNodeParams, kernel, CUDA_KERNEL_NODE_PARAMS_v2, kern)
MEMBER(KernelNodeParams, context, CUDA_KERNEL_NODE_PARAMS_v2, ctx)
static_assert(sizeof(EdgeData) == sizeof(CUgraphEdgeData));
MEMBER(EdgeData, from_port, CUgraphEdgeData, from_port)
MEMBER(EdgeData, to_port, CUgraphEdgeData, to_port)
MEMBER(EdgeData, type, CUgraphEdgeData, type)
static_assert(CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC == 1);
static_assert(CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC == 1);
}  // namespace driver
#endif

#if __has_include(<nvrtc.h>)
namespace compiler {
using Functions = Nvrtc;
TRAINGRAPH_CUDA_NVRTC(FUNCTION)

VALUE(CompilerResult::Success, NVRTC_SUCCESS)
VALUE(CompilerResult::CompilationError, NVRTC_ERROR_COMPILATION)
}  // namespace compiler
#endif

}  // namespace
}  // namespace traingraph::cuda
