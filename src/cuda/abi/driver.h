// SPDX-License-Identifier: MIT
// What we call of the CUDA driver (libcuda.so.1): declarations of our own, so
// that no build needs NVIDIA's headers. Names and values are those of the
// driver API's documentation, without their prefixes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace traingraph::cuda {

// Handles.
using ContextHandle = struct ContextTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using GraphHandle = struct GraphTag*;
using GraphNode = struct GraphNodeTag*;
using GraphExec = struct GraphExecTag*;
using DeviceOrdinal = int;
using DeviceAddress = std::uint64_t;  // CUdeviceptr

/// CUresult; what else there is has a name by Driver::get_error_name().
enum class Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NoDevice = 100,
  EccUncorrectable = 214,
  NotReady = 600,
};

/// CUdevice_attribute.
enum class DeviceAttribute : int {
  ClockRate = 13,  // kHz
  MultiprocessorCount = 16,
  MemoryClockRate = 36,       // kHz
  GlobalMemoryBusWidth = 37,  // bits
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97,  // bytes
};

/// CUfunction_attribute.
enum class FunctionAttribute : int {
  LocalSizeBytes = 3,
  MaxDynamicSharedSizeBytes = 8,
};

enum : unsigned {
  kHostAllocMapped = 2,        // CU_MEMHOSTALLOC_DEVICEMAP
  kHostAllocPortable = 1,      // CU_MEMHOSTALLOC_PORTABLE
  kStreamNonBlocking = 1,      // CU_STREAM_NON_BLOCKING
  kEventDefault = 0,           // CU_EVENT_DEFAULT
  kEventDisableTiming = 2,     // CU_EVENT_DISABLE_TIMING
  kCaptureModeThreadLocal = 1  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
};

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParams {
  FunctionHandle function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;
  ContextHandle context = nullptr;
};

/// CUgraphEdgeData. A programmatic edge (port 1, type 1) lets a kernel begin
/// when its predecessor says so, or ends.
struct EdgeData {
  std::uint8_t from_port = 0, to_port = 0, type = 0;
  std::uint8_t reserved[5] = {};
};

/// FUNCTION(member, symbol, parameters)
#define TRAINGRAPH_CUDA_DRIVER(FUNCTION)                                       \
  FUNCTION(init, cuInit, (unsigned flags))                                     \
  FUNCTION(driver_get_version, cuDriverGetVersion, (int* version))             \
  FUNCTION(get_error_name, cuGetErrorName, (Result, const char** name))        \
  FUNCTION(get_error_string, cuGetErrorString, (Result, const char** text))    \
  FUNCTION(device_get_count, cuDeviceGetCount, (int* count))                   \
  FUNCTION(device_get, cuDeviceGet, (DeviceOrdinal*, int ordinal))             \
  FUNCTION(device_get_name, cuDeviceGetName,                                   \
           (char* name, int length, DeviceOrdinal))                            \
  FUNCTION(device_get_attribute, cuDeviceGetAttribute,                         \
           (int* value, DeviceAttribute, DeviceOrdinal))                       \
  FUNCTION(device_total_memory, cuDeviceTotalMem_v2,                           \
           (std::size_t* bytes, DeviceOrdinal))                                \
  FUNCTION(primary_context_retain, cuDevicePrimaryCtxRetain,                   \
           (ContextHandle*, DeviceOrdinal))                                    \
  FUNCTION(context_set_current, cuCtxSetCurrent, (ContextHandle))              \
  FUNCTION(mem_get_info, cuMemGetInfo_v2,                                      \
           (std::size_t* free, std::size_t* total))                            \
  FUNCTION(mem_alloc, cuMemAlloc_v2, (DeviceAddress*, std::size_t bytes))      \
  FUNCTION(mem_free, cuMemFree_v2, (DeviceAddress))                            \
  FUNCTION(mem_host_alloc, cuMemHostAlloc,                                     \
           (void**, std::size_t bytes, unsigned flags))                        \
  FUNCTION(mem_free_host, cuMemFreeHost, (void*))                              \
  FUNCTION(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2,          \
           (DeviceAddress*, void*, unsigned flags))                            \
  FUNCTION(memset_async, cuMemsetD8Async,                                      \
           (DeviceAddress, unsigned char, std::size_t bytes, StreamHandle))    \
  FUNCTION(copy_to_device_async, cuMemcpyHtoDAsync_v2,                         \
           (DeviceAddress, const void*, std::size_t bytes, StreamHandle))      \
  FUNCTION(copy_to_host_async, cuMemcpyDtoHAsync_v2,                           \
           (void*, DeviceAddress, std::size_t bytes, StreamHandle))            \
  FUNCTION(                                                                    \
      copy_on_device_async, cuMemcpyDtoDAsync_v2,                              \
      (DeviceAddress to, DeviceAddress from, std::size_t bytes, StreamHandle)) \
  FUNCTION(stream_create, cuStreamCreate, (StreamHandle*, unsigned flags))     \
  FUNCTION(stream_query, cuStreamQuery, (StreamHandle))                        \
  FUNCTION(stream_synchronize, cuStreamSynchronize, (StreamHandle))            \
  FUNCTION(stream_wait_event, cuStreamWaitEvent,                               \
           (StreamHandle, EventHandle, unsigned flags))                        \
  FUNCTION(stream_begin_capture, cuStreamBeginCapture_v2,                      \
           (StreamHandle, int mode))                                           \
  FUNCTION(stream_end_capture, cuStreamEndCapture,                             \
           (StreamHandle, GraphHandle*))                                       \
  FUNCTION(event_create, cuEventCreate, (EventHandle*, unsigned flags))        \
  FUNCTION(event_record, cuEventRecord, (EventHandle, StreamHandle))           \
  FUNCTION(event_query, cuEventQuery, (EventHandle))                           \
  FUNCTION(event_synchronize, cuEventSynchronize, (EventHandle))               \
  FUNCTION(event_elapsed_time, cuEventElapsedTime,                             \
           (float* milliseconds, EventHandle begin, EventHandle end))          \
  FUNCTION(event_destroy, cuEventDestroy_v2, (EventHandle))                    \
  FUNCTION(module_load_data, cuModuleLoadData,                                 \
           (ModuleHandle*, const void* image))                                 \
  FUNCTION(module_unload, cuModuleUnload, (ModuleHandle))                      \
  FUNCTION(module_get_function, cuModuleGetFunction,                           \
           (FunctionHandle*, ModuleHandle, const char* name))                  \
  FUNCTION(function_get_attribute, cuFuncGetAttribute,                         \
           (int* value, FunctionAttribute, FunctionHandle))                    \
  FUNCTION(function_set_attribute, cuFuncSetAttribute,                         \
           (FunctionHandle, FunctionAttribute, int value))                     \
  FUNCTION(                                                                    \
      launch_kernel, cuLaunchKernel,                                           \
      (FunctionHandle, unsigned grid_x, unsigned grid_y, unsigned grid_z,      \
       unsigned block_x, unsigned block_y, unsigned block_z,                   \
       unsigned shared_bytes, StreamHandle, void** parameters, void** extra))  \
  FUNCTION(graph_create, cuGraphCreate, (GraphHandle*, unsigned flags))        \
  FUNCTION(graph_destroy, cuGraphDestroy, (GraphHandle))                       \
  FUNCTION(graph_add_kernel_node, cuGraphAddKernelNode_v2,                     \
           (GraphNode*, GraphHandle, const GraphNode* dependencies,            \
            std::size_t count, const KernelNodeParams*))                       \
  FUNCTION(graph_add_child_node, cuGraphAddChildGraphNode,                     \
           (GraphNode*, GraphHandle, const GraphNode* dependencies,            \
            std::size_t count, GraphHandle child))                             \
  FUNCTION(graph_add_dependencies, cuGraphAddDependencies_v2,                  \
           (GraphHandle, const GraphNode* from, const GraphNode* to,           \
            const EdgeData*, std::size_t count))                               \
  FUNCTION(graph_instantiate, cuGraphInstantiateWithFlags,                     \
           (GraphExec*, GraphHandle, unsigned long long flags))                \
  FUNCTION(graph_exec_kernel_set_params, cuGraphExecKernelNodeSetParams_v2,    \
           (GraphExec, GraphNode, const KernelNodeParams*))                    \
  FUNCTION(graph_exec_destroy, cuGraphExecDestroy, (GraphExec))                \
  FUNCTION(graph_upload, cuGraphUpload, (GraphExec, StreamHandle))             \
  FUNCTION(graph_launch, cuGraphLaunch, (GraphExec, StreamHandle))

/// The functions, by their addresses in the library.
struct Driver {
#define FUNCTION(member, symbol, parameters) Result(*member) parameters;
  TRAINGRAPH_CUDA_DRIVER(FUNCTION)
#undef FUNCTION
};

}  // namespace traingraph::cuda
