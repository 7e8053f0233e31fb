// SPDX-License-Identifier: MIT
#import "tests/metal_probes/lab.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#import "metal/gpu_system.h"
#import "metal/guard.h"
#include "traingraph/half_types.h"

namespace traingraph::metal::probes {
namespace {

NSArray<MPSGraphTensorData*>* data_list(
    const std::vector<ObjcPtr<MPSGraphTensorData*>>& data) {
  NSMutableArray* result = [NSMutableArray array];
  for (const auto& one : data) [result addObject:one.get()];
  return result;
}

void raise(NSString* reason) {
  [[NSException exceptionWithName:@"ProbeFailed" reason:reason
                         userInfo:nil] raise];
}

}  // namespace

const Machine& machine() {
  static const Machine machine = [] {
    @autoreleasepool {
      Machine made;
      made.metal = adopt<id<MTLDevice>>(MTLCreateSystemDefaultDevice());
      if (!made.metal.get()) return made;
      made.queue =
          adopt<id<MTLCommandQueue>>([made.metal.get() newCommandQueue]);
      made.graph =
          retain([MPSGraphDevice deviceWithMTLDevice:made.metal.get()]);
      return made;
    }
  }();
  return machine;
}

const GpuLimits& limits_here() {
  static const GpuLimits limits = [] {
    id<MTLDevice> metal = machine().metal.get();
    return metal ? limits_of(system_of(metal)) : GpuLimits();
  }();
  return limits;
}

NSArray<NSNumber*>* list(const Extents& numbers) {
  NSMutableArray* result = [NSMutableArray array];
  for (std::int64_t number : numbers) {
    [result addObject:[NSNumber numberWithLongLong:number]];
  }
  return result;
}

ObjcPtr<id<MTLBuffer>> make_buffer(std::size_t bytes) {
  auto buffer = adopt<id<MTLBuffer>>([machine().metal.get()
      newBufferWithLength:bytes
                  options:MTLResourceStorageModeShared]);
  if (!buffer.get()) raise(@"no buffer");
  std::memset([buffer.get() contents], 0, bytes);
  return buffer;
}

void commit_and_wait(MPSCommandBuffer* buffer) {
  [buffer commit];
  [buffer waitUntilCompleted];
  require_done(buffer);
}

void require_done(id<MTLCommandBuffer> buffer) {
  if ([buffer status] != MTLCommandBufferStatusError) return;
  raise(to_ns(describe([buffer error])));
}

T Lab::add_input(const void* data, std::size_t bytes, const Extents& shape,
                 MPSDataType type) {
  const auto buffer = make_buffer(bytes);
  std::memcpy([buffer.get() contents], data, bytes);
  T tensor = [graph_.get() placeholderWithShape:list(shape)
                                       dataType:type
                                           name:nil];
  tensors_.push_back(retain(tensor));
  buffers_.push_back(buffer);
  data_.push_back(
      adopt([[MPSGraphTensorData alloc] initWithMTLBuffer:buffer.get()
                                                    shape:list(shape)
                                                 dataType:type]));
  return tensor;
}

T Lab::input(const Numbers& values, const Extents& shape) {
  return add_input(values.data(), values.size() * sizeof(float), shape,
                   MPSDataTypeFloat32);
}

T Lab::input(const Numbers& values, const Extents& shape, MPSDataType type) {
  if (type == MPSDataTypeFloat32) return input(values, shape);
  std::vector<std::uint16_t> bits;
  for (const float value : values) {
    const bool is_half = type == MPSDataTypeFloat16;
    bits.push_back(is_half ? float16(value).bits : bfloat16(value).bits);
  }
  return add_input(bits.data(), bits.size() * sizeof(bits[0]), shape, type);
}

T Lab::int_input(const std::vector<std::int32_t>& values) {
  return add_input(values.data(), values.size() * sizeof(values[0]),
                   {static_cast<std::int64_t>(values.size())},
                   MPSDataTypeInt32);
}

T Lab::constant(double value) const {
  return [graph_.get() constantWithScalar:value
                                    shape:list({1})
                                 dataType:MPSDataTypeFloat32];
}

ObjcPtr<MPSGraphExecutable*> Lab::compile(const std::vector<T>& targets) const {
  NSMutableDictionary* feeds = [NSMutableDictionary dictionary];
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto type = adopt([[MPSGraphShapedType alloc]
        initWithShape:[data_[i].get() shape]
             dataType:[data_[i].get() dataType]]);
    [feeds setObject:type.get() forKey:tensors_[i].get()];
  }
  NSMutableArray* wanted = [NSMutableArray array];
  for (T target : targets) [wanted addObject:target];
  const auto descriptor = adopt([[MPSGraphCompilationDescriptor alloc] init]);
  [descriptor.get() setOptimizationLevel:MPSGraphOptimizationLevel0];
  [descriptor.get() setWaitForCompilationCompletion:YES];
  return retain([graph_.get() compileWithDevice:machine().graph.get()
                                          feeds:feeds
                                  targetTensors:wanted
                               targetOperations:nil
                          compilationDescriptor:descriptor.get()]);
}

NSArray<MPSGraphTensorData*>* Lab::inputs_of(
    MPSGraphExecutable* executable) const {
  std::vector<ObjcPtr<MPSGraphTensorData*>> ordered;
  for (T tensor in [executable feedTensors]) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].get() == tensor) ordered.push_back(data_[i]);
    }
  }
  return data_list(ordered);
}

std::vector<ObjcPtr<id<MTLBuffer>>> Lab::encode(
    MPSGraphExecutable* executable, MPSCommandBuffer* buffer) const {
  std::vector<ObjcPtr<id<MTLBuffer>>> buffers;
  std::vector<ObjcPtr<MPSGraphTensorData*>> results;
  for (T target in [executable targetTensors]) {
    buffers.push_back(make_buffer(count_of(target) * 4));
    results.push_back(adopt([[MPSGraphTensorData alloc]
        initWithMTLBuffer:buffers.back().get()
                    shape:[target shape]
                 dataType:[target dataType]]));
  }
  [executable encodeToCommandBuffer:buffer
                        inputsArray:inputs_of(executable)
                       resultsArray:data_list(results)
                executionDescriptor:nil];
  return buffers;
}

std::vector<ObjcPtr<id<MTLBuffer>>> Lab::run_raw(
    const std::vector<T>& targets) {
  const auto executable = compile(targets);
  MPSCommandBuffer* buffer =
      [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
  const auto results = encode(executable.get(), buffer);
  commit_and_wait(buffer);
  std::vector<ObjcPtr<id<MTLBuffer>>> ordered;
  for (T target : targets) {
    const NSUInteger position =
        [[executable.get() targetTensors] indexOfObjectIdenticalTo:target];
    if (position == NSNotFound) raise(@"a target is not in targetTensors");
    ordered.push_back(results[position]);
  }
  return ordered;
}

std::vector<Numbers> Lab::run_all(const std::vector<T>& targets) {
  std::vector<T> floats;
  for (T target : targets) {
    const bool is_float = [target dataType] == MPSDataTypeFloat32;
    floats.push_back(is_float ? [graph() identityWithTensor:target name:nil]
                              : [graph() castTensor:target
                                             toType:MPSDataTypeFloat32
                                               name:@"float"]);
  }
  const auto buffers = run_raw(floats);
  std::vector<Numbers> results;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    results.push_back(numbers_in(buffers[i].get(), count_of(targets[i])));
  }
  return results;
}

std::vector<std::int32_t> Lab::run_ints(T target) {
  const auto buffers = run_raw({[graph() identityWithTensor:target name:nil]});
  const auto* ints =
      static_cast<const std::int32_t*>([buffers.front().get() contents]);
  return {ints, ints + count_of(target)};
}

Numbers Lab::contents_of_input(std::size_t i) const {
  return numbers_in(buffers_[i].get(), count_of(tensors_[i].get()));
}

double Lab::best_seconds(T target, int times) const {
  const auto executable = compile({target});
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < times; ++i) {
    MPSCommandBuffer* commands =
        [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
    const auto first = retain([commands commandBuffer]);
    const auto results = encode(executable.get(), commands);
    const auto last = retain([commands commandBuffer]);
    commit_and_wait(commands);
    best = std::min(best, [last.get() GPUEndTime] - [first.get() GPUStartTime]);
  }
  return best;
}

std::size_t count_of(T tensor) {
  std::size_t count = 1;
  for (NSNumber* extent in [tensor shape]) {
    count *= static_cast<std::size_t>([extent longLongValue]);
  }
  return count;
}

Numbers numbers_in(id<MTLBuffer> buffer, std::size_t count) {
  const auto* floats = static_cast<const float*>([buffer contents]);
  return {floats, floats + count};
}

bool are_near(const Numbers& x, const Numbers& y, float tolerance) {
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (!(std::abs(x[i] - y[i]) <= tolerance)) return false;
  }
  return true;
}

std::string text(float value) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.6g", static_cast<double>(value));
  return buffer;
}

std::string text(const Numbers& values) {
  std::string result = "[";
  for (float value : values) {
    if (result.size() > 1) result += ", ";
    result += text(value);
  }
  return result + ']';
}

std::string shape_text(T tensor) {
  if (![tensor shape]) return "unknown";
  std::string result = "(";
  for (NSNumber* extent in [tensor shape]) {
    if (result.size() > 1) result += ", ";
    result += std::to_string([extent longLongValue]);
  }
  return result + ')';
}

std::string explain(const Numbers& measured,
                    const std::vector<Explanation>& explanations) {
  for (const auto& [name, predicted] : explanations) {
    if (are_near(measured, predicted)) return name;
  }
  return "something else: " + text(measured);
}

}  // namespace traingraph::metal::probes
