// SPDX-License-Identifier: MIT
// Lab: one small MPSGraph with numbers going in and out, compiled and encoded
// as the Metal device does it. Raises NSException where something fails.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#import "metal/apple.h"
#include "metal/gpu_limits.h"
#import "metal/objc_ptr.h"

namespace traingraph::metal::probes {

using T = MPSGraphTensor*;
using Numbers = std::vector<float>;
using Extents = std::vector<std::int64_t>;

/// The GPU; `metal` is nil when there is none.
struct Machine {
  ObjcPtr<id<MTLDevice>> metal;
  ObjcPtr<id<MTLCommandQueue>> queue;
  ObjcPtr<MPSGraphDevice*> graph;
};
const Machine& machine();
/// That the device of this machine has: what its answers are held against. The
/// careful ones where there is no GPU.
const GpuLimits& limits_here();

NSArray<NSNumber*>* list(const Extents& numbers);
/// A buffer of the host's and the GPU's; zeros at first.
ObjcPtr<id<MTLBuffer>> make_buffer(std::size_t bytes);
/// Raises when the work failed.
void commit_and_wait(MPSCommandBuffer* buffer);
void require_done(id<MTLCommandBuffer> buffer);

class Lab {
 public:
  MPSGraph* graph() const { return graph_.get(); }

  T input(const Numbers& values, const Extents& shape);
  /// Stored as that type: float32 or one of 16 bits.
  T input(const Numbers& values, const Extents& shape, MPSDataType type);
  T input(const Numbers& values) {
    return input(values, {static_cast<std::int64_t>(values.size())});
  }
  T int_input(const std::vector<std::int32_t>& values);
  T constant(double value) const;

  Numbers run(T target) { return run_all({target}).front(); }
  std::vector<Numbers> run_all(const std::vector<T>& targets);
  std::vector<std::int32_t> run_ints(T target);

  // The same in steps, for probes of executables.
  ObjcPtr<MPSGraphExecutable*> compile(const std::vector<T>& targets) const;
  /// Buffers of all inputs, in the executable's order.
  NSArray<MPSGraphTensorData*>* inputs_of(MPSGraphExecutable* executable) const;
  /// Encodes into `buffer`, which the caller commits. Results lie where the
  /// returned buffers are, in the executable's order.
  std::vector<ObjcPtr<id<MTLBuffer>>> encode(MPSGraphExecutable* executable,
                                             MPSCommandBuffer* buffer) const;
  Numbers contents_of_input(std::size_t i) const;
  /// Of the GPU's, the shortest of so many runs.
  double best_seconds(T target, int times) const;
  /// In the order of creation.
  const std::vector<ObjcPtr<T>>& inputs() const { return tensors_; }

 private:
  T add_input(const void* data, std::size_t bytes, const Extents& shape,
              MPSDataType type);
  std::vector<ObjcPtr<id<MTLBuffer>>> run_raw(const std::vector<T>& targets);

  ObjcPtr<MPSGraph*> graph_ = adopt([[MPSGraph alloc] init]);
  std::vector<ObjcPtr<T>> tensors_;
  std::vector<ObjcPtr<MPSGraphTensorData*>> data_;  // by input
  std::vector<ObjcPtr<id<MTLBuffer>>> buffers_;     // by input
};

std::size_t count_of(T tensor);
Numbers numbers_in(id<MTLBuffer> buffer, std::size_t count);
bool are_near(const Numbers& x, const Numbers& y, float tolerance = 1e-3F);

std::string text(float value);
std::string text(const Numbers& values);
std::string shape_text(T tensor);

/// What is measured, by the first of the explanations that predicts it.
using Explanation = std::pair<const char*, Numbers>;
std::string explain(const Numbers& measured,
                    const std::vector<Explanation>& explanations);

}  // namespace traingraph::metal::probes
