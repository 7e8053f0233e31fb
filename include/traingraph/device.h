// SPDX-License-Identifier: MIT
// Device: where a graph runs. A small handle; equal handles share one queue,
// and on the CPU one thread pool.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/export.h"
#include "traingraph/types.h"

namespace traingraph {

class DeviceContext;

class TRAINGRAPH_API Device {
 public:
  /// Throws DeviceError, with the reason, when the device is not available.
  /// Any is the GPU when there is one, else the CPU; never the ANE. Graphs that
  /// the GPU lacks an op for are compiled for the CPU then.
  /// ML Compute's selectsMultipleComputeDevices is a permission: work runs on
  /// one GPU all the same.
  explicit Device(DeviceType type = DeviceType::Any,
                  bool selects_multiple_compute_devices = false);
  /// The GPU with this name, one of gpu_devices(). Throws UnsupportedError for
  /// more than one name, InvalidArgument for none and for others.
  static Device with_gpu_devices(const std::vector<std::string>& gpus);
  static Device cpu() { return Device(DeviceType::CPU); }
  /// A CPU device of its own: its work does not wait for that of others. Its
  /// threads end with the last graph or handle that uses it. Parameters are not
  /// shared with graphs on other devices, that of cpu() included. Throws
  /// InvalidArgument unless 1 <= threads <= 1024, DeviceError when they cannot
  /// be started.
  static Device cpu(int threads);
  /// GPU number `index` of gpu_devices(). Throws DeviceError, with the reason,
  /// where there is none, InvalidArgument where there are not as many.
  static Device gpu(int index = 0);
  static Device any() { return Device(DeviceType::Any); }
  static Device ane() { return Device(DeviceType::ANE); }
  /// Runs the whole pipeline without kernels; results are zeros. For tests.
  static Device null() { return Device(DeviceType::Null); }

  /// The type that was asked for.
  DeviceType type() const { return type_; }
  /// The type that Any resolved to.
  DeviceType actual_device_type() const;
  /// Names the device for people: "cpu (oneDNN 3.2, 2 threads)".
  std::string name() const;
  /// Names of the GPUs that there are, equal ones numbered; empty for the CPU.
  std::vector<std::string> gpu_devices() const;
  /// Can tensors of this type take part in computations?
  bool computes_in(DataType data_type) const;
  /// Waits until all work enqueued so far is over. Throws DeviceLostError when
  /// the device is lost.
  void synchronize() const;
  /// Waits for all devices there are.
  static void synchronize_all();
  /// Says why `type` cannot be used; empty when it can.
  static std::string reason_unavailable(DeviceType type);

  bool operator==(const Device& other) const {
    return context_ == other.context_;
  }
  const std::shared_ptr<DeviceContext>& context() const& { return context_; }
  std::shared_ptr<DeviceContext> context() const&& { return context_; }
  /// The library makes devices of contexts with this.
  explicit Device(std::shared_ptr<DeviceContext> context);

 private:
  DeviceType type_;
  std::shared_ptr<DeviceContext> context_;
};

/// Threads of Device::cpu(). At first OMP_NUM_THREADS where that is set, else
/// the processors of the affinity mask, or as many as the CPU quota of the
/// container pays for, whichever is less.
TRAINGRAPH_API int num_threads();
/// Sets the threads of graphs that are compiled from now on; those that are
/// compiled keep their device, and share no parameters with graphs on the new
/// one. Throws InvalidArgument unless 1 <= count <= 1024.
TRAINGRAPH_API void set_num_threads(int count);

}  // namespace traingraph
