// SPDX-License-Identifier: MIT
// What a placement heap asks for, and what MPSGraph does with buffers in one.
#include <cstring>

#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

MTLSizeAndAlign size_and_align(NSUInteger bytes) {
  return [machine().metal.get()
      heapBufferSizeAndAlignWithLength:bytes
                               options:MTLResourceStorageModeShared];
}

ObjcPtr<id<MTLHeap>> make_heap(NSUInteger bytes) {
  const auto descriptor = adopt([[MTLHeapDescriptor alloc] init]);
  [descriptor.get() setType:MTLHeapTypePlacement];
  [descriptor.get() setStorageMode:MTLStorageModeShared];
  [descriptor.get() setHazardTrackingMode:MTLHazardTrackingModeTracked];
  [descriptor.get() setSize:size_and_align(bytes).size];
  return adopt<id<MTLHeap>>(
      [machine().metal.get() newHeapWithDescriptor:descriptor.get()]);
}

std::string rules_by_length() {
  const NSUInteger align = size_and_align(1).align;
  for (NSUInteger bytes :
       {2, 255, 256, 1000, 4095, 4096, 16384, 16385, 65537, 1 << 20,
        (1 << 20) + 1, 10000000, 100000000, 1 << 30}) {
    const MTLSizeAndAlign needs = size_and_align(bytes);
    if (needs.align > align) {
      return "a larger alignment, " + std::to_string(needs.align) +
             " instead of " + std::to_string(align) + ", for " +
             std::to_string(bytes) + " bytes";
    }
    const NSUInteger rounded = (bytes + align - 1) / align * align;
    if (needs.size > rounded) {
      return "a larger size, " + std::to_string(needs.size) + " instead of " +
             std::to_string(rounded) + ", for " + std::to_string(bytes) +
             " bytes";
    }
  }
  return "one alignment, " + std::to_string(align) +
         ", and lengths rounded up to it";
}

/// MPSGraph reads and writes buffers that begin within the heap.
std::string graph_in_heap() {
  constexpr int kCount = 5000;
  const NSUInteger bytes = kCount * sizeof(float);
  const MTLSizeAndAlign needs = size_and_align(bytes);
  const NSUInteger step = (bytes + needs.align - 1) / needs.align * needs.align;
  const auto heap = make_heap(4 * step);
  if (!heap.get()) return "no heap";
  Lab lab;
  T x = lab.input(Numbers(kCount, 3));
  const auto executable =
      lab.compile({[lab.graph() squareWithTensor:x name:@"square"]});
  std::vector<ObjcPtr<id<MTLBuffer>>> parts;
  std::vector<ObjcPtr<MPSGraphTensorData*>> data;
  for (NSUInteger offset : {step, 3 * step}) {
    parts.push_back(adopt<id<MTLBuffer>>([heap.get()
        newBufferWithLength:bytes
                    options:MTLResourceStorageModeShared
                     offset:offset]));
    if (!parts.back().get()) return "no buffer at " + std::to_string(offset);
    data.push_back(adopt([[MPSGraphTensorData alloc]
        initWithMTLBuffer:parts.back().get()
                    shape:list({kCount})
                 dataType:MPSDataTypeFloat32]));
  }
  const Numbers threes(kCount, 3);
  std::memcpy([parts[0].get() contents], threes.data(), bytes);
  MPSCommandBuffer* commands =
      [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
  [executable.get()
      encodeToCommandBuffer:commands
                inputsArray:[NSArray arrayWithObject:data[0].get()]
               resultsArray:[NSArray arrayWithObject:data[1].get()]
        executionDescriptor:nil];
  commit_and_wait(commands);
  return numbers_in(parts[1].get(), kCount) == Numbers(kCount, 9) ? "right"
                                                                  : "wrong";
}

/// Virtual GPUs of hosted Macs fail at the first.
std::string heap_sizes() {
  std::string answer = "no heap at all";
  for (NSUInteger bytes = 1 << 20; bytes <= NSUInteger{1} << 30; bytes *= 4) {
    @autoreleasepool {
      const auto heap = make_heap(bytes);
      if (!heap.get()) return answer;
      answer = "up to " + std::to_string(bytes >> 20) + " MB at least";
    }
  }
  return answer;
}

}  // namespace

std::vector<Probe> heap_probes() {
  return {
      {.name = "heap_rules",
       .question = "heaps ask, by length of a buffer, for",
       .answer = rules_by_length,
       .expected = {"one alignment", "a larger alignment", "a larger size"},
       .remedy = {.text = "arenas are planned by what each length asks for "
                          "(Target::alignment_of), whatever that is"}},
      {.name = "graph_in_heap",
       .question = "MPSGraph computes within a placement heap",
       .answer = graph_in_heap,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = {.text = "heap_buffer.mm has to make buffers of their own"}},
      {.name = "heap_sizes",
       .question = "heaps can be made",
       .answer = heap_sizes,
       .weight = Weight::Reliance,
       .expected = {"up to"},
       .remedy = {.text = "this GPU cannot be used (a virtual one of a hosted "
                          "machine?); discover_gpu() has to say so"},
       .bytes = std::size_t{1} << 30},
  };
}

}  // namespace traingraph::metal::probes
