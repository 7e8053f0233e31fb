// SPDX-License-Identifier: MIT
// Buffers of heaps, and buffers that are read and written at once.
#include <algorithm>
#include <cstring>

#include "metal/assumptions.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

constexpr NSUInteger kHeapBytes = 16 << 20;

MTLSizeAndAlign size_and_align(NSUInteger bytes) {
  return [machine().metal.get()
      heapBufferSizeAndAlignWithLength:bytes
                               options:MTLResourceStorageModeShared];
}

ObjcPtr<id<MTLHeap>> make_heap() {
  const auto descriptor = adopt([[MTLHeapDescriptor alloc] init]);
  [descriptor.get() setType:MTLHeapTypePlacement];
  [descriptor.get() setStorageMode:MTLStorageModeShared];
  [descriptor.get() setHazardTrackingMode:MTLHazardTrackingModeTracked];
  [descriptor.get() setSize:size_and_align(kHeapBytes).size];
  return adopt<id<MTLHeap>>(
      [machine().metal.get() newHeapWithDescriptor:descriptor.get()]);
}

ObjcPtr<id<MTLBuffer>> part(id<MTLHeap> heap, NSUInteger offset,
                            NSUInteger bytes) {
  return adopt<id<MTLBuffer>>([heap
      newBufferWithLength:bytes
                  options:MTLResourceStorageModeShared
                   offset:offset]);
}

std::string alignment() {
  std::string answer = "multiples of";
  for (NSUInteger bytes : {1, 1000, 100000, 10000000}) {
    const MTLSizeAndAlign needs = size_and_align(bytes);
    answer += ' ' + std::to_string(needs.align) + " (" + std::to_string(bytes) +
              " bytes take " + std::to_string(needs.size) + ')';
  }
  return answer;
}

std::string contiguous() {
  const auto heap = make_heap();
  if (!heap.get()) return "no heap";
  const auto whole = part(heap.get(), 0, kHeapBytes);
  if (!whole.get()) return "no buffer";
  const auto* base = static_cast<const std::byte*>([whole.get() contents]);
  const NSUInteger step = size_and_align(1).align;
  for (NSUInteger offset :
       {step, 3 * step, kHeapBytes / 2, kHeapBytes - step}) {
    const auto one = part(heap.get(), offset, step);
    if (!one.get()) return "no buffer at " + std::to_string(offset);
    if ([one.get() contents] != base + offset) {
      return "no, at " + std::to_string(offset);
    }
  }
  return "yes";
}

/// A chain of copies through parts of one heap that overlap: each has to wait
/// for the one before.
std::string tracked() {
  const auto heap = make_heap();
  if (!heap.get()) return "no heap";
  const auto whole = part(heap.get(), 0, kHeapBytes);
  const NSUInteger bytes = kHeapBytes / 16;
  auto* base = static_cast<std::byte*>([whole.get() contents]);
  std::memset(base, 0, kHeapBytes);
  std::memset(base, 0x5a, bytes);
  id<MTLCommandBuffer> buffer = [machine().queue.get() commandBuffer];
  for (NSUInteger i = 0; i + 1 < 16; ++i) {
    const auto from = part(heap.get(), i * bytes, bytes);
    const auto to = part(heap.get(), (i + 1) * bytes, bytes);
    id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
    [blit copyFromBuffer:from.get()
             sourceOffset:0
                 toBuffer:to.get()
        destinationOffset:0
                     size:bytes];
    [blit endEncoding];
  }
  [buffer commit];
  [buffer waitUntilCompleted];
  const bool is_right = std::all_of(base, base + kHeapBytes, [](std::byte b) {
    return b == std::byte{0x5a};
  });
  return is_right ? "yes" : "no";
}

std::string empty_buffer() {
  const auto buffer = adopt<id<MTLBuffer>>([machine().metal.get()
      newBufferWithLength:0
                  options:MTLResourceStorageModeShared]);
  return buffer.get() ? "a buffer" : "nil";
}

/// x becomes f(x) where x lies, `times` times.
Numbers run_in_place(const Numbers& values, const Extents& shape, int times,
                     T (*f)(MPSGraph* graph, T x)) {
  Lab lab;
  T x = lab.input(values, shape);
  const auto executable = lab.compile({f(lab.graph(), x)});
  const auto buffer = make_buffer(values.size() * sizeof(float));
  std::memcpy([buffer.get() contents], values.data(),
              values.size() * sizeof(float));
  const auto data =
      adopt([[MPSGraphTensorData alloc] initWithMTLBuffer:buffer.get()
                                                    shape:list(shape)
                                                 dataType:MPSDataTypeFloat32]);
  NSArray* both = [NSArray arrayWithObject:data.get()];
  for (int i = 0; i < times; ++i) {
    MPSCommandBuffer* commands =
        [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
    [executable.get() encodeToCommandBuffer:commands
                                inputsArray:both
                               resultsArray:both
                        executionDescriptor:nil];
    commit_and_wait(commands);
  }
  return numbers_in(buffer.get(), values.size());
}

bool is_increment_right() {
  const Numbers result =
      run_in_place(Numbers(100000, 0), {100000}, 20, [](MPSGraph* graph, T x) {
        T one = [graph constantWithScalar:1
                                    shape:list({1})
                                 dataType:MPSDataTypeFloat32];
        return [graph additionWithPrimaryTensor:x
                                secondaryTensor:one
                                           name:@"sum"];
      });
  return result == Numbers(100000, 20);
}

/// Every element of the result needs one from elsewhere.
bool is_transpose_right() {
  constexpr int kSide = 300;
  Numbers values, expected;
  for (int i = 0; i < kSide * kSide; ++i) {
    values.push_back(static_cast<float>(i));
    const int transposed = i % kSide * kSide + i / kSide;
    expected.push_back(static_cast<float>(transposed));
  }
  const Numbers result =
      run_in_place(values, {kSide, kSide}, 1, [](MPSGraph* graph, T x) {
        return [graph transposeTensor:x
                            dimension:0
                        withDimension:1
                                 name:@"transpose"];
      });
  return result == expected;
}

/// Right results today are no promise for tomorrow's system.
std::string fed_and_targeted() {
  const bool increments = is_increment_right();
  const bool transposes = is_transpose_right();
  if (increments && transposes) return "right, as far as this can tell";
  return std::string("wrong: increment ") + (increments ? "right" : "wrong") +
         ", transpose " + (transposes ? "right" : "wrong");
}

/// What MPSGraph allocates for itself.
std::string first_run() {
  constexpr std::int64_t kSide = 512;
  Lab lab;
  const Numbers ones(kSide * kSide, 1);
  T x = lab.input(ones, {kSide, kSide}), y = lab.input(ones, {kSide, kSide});
  T product = [lab.graph() matrixMultiplicationWithPrimaryTensor:x
                                                 secondaryTensor:y
                                                            name:@"product"];
  T soft = [lab.graph() softMaxWithTensor:product axis:1 name:@"softmax"];
  T result = [lab.graph() matrixMultiplicationWithPrimaryTensor:soft
                                                secondaryTensor:y
                                                           name:@"result"];
  id<MTLDevice> metal = machine().metal.get();
  const NSUInteger before = [metal currentAllocatedSize];
  const auto executable = lab.compile({result});
  const NSUInteger compiled = [metal currentAllocatedSize];
  std::string answer =
      "compile " + std::to_string(static_cast<long>(compiled - before));
  for (const char* run : {", first run ", ", second run "}) {
    const NSUInteger start = [metal currentAllocatedSize];
    MPSCommandBuffer* buffer =
        [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
    const auto results = lab.encode(executable.get(), buffer);
    commit_and_wait(buffer);
    const NSUInteger end = [metal currentAllocatedSize];
    const auto own = static_cast<long>([results.front().get() length]);
    answer += run + std::to_string(static_cast<long>(end - start) - own);
  }
  return answer + " bytes";
}

/// Of a value inside an executable, when that is encoded several times before
/// any of it runs.
std::string memory_of_encoded_runs() {
  constexpr std::int64_t kSize = 1024;
  constexpr int kRuns = 4;
  const Numbers numbers(kSize, 1.0F);
  Lab lab;
  T inner =
      [lab.graph() additionWithPrimaryTensor:lab.input(numbers, {1, kSize})
                             secondaryTensor:lab.input(numbers, {kSize, 1})
                                        name:@"inner"];
  T turned = [lab.graph() transposeTensor:inner
                                dimension:0
                            withDimension:1
                                     name:@"turned"];
  T product = [lab.graph() multiplicationWithPrimaryTensor:inner
                                           secondaryTensor:turned
                                                      name:@"product"];
  T sum = [lab.graph() reductionSumWithTensor:product
                                         axes:list({0, 1})
                                         name:@"sum"];
  const auto executable = lab.compile({sum});
  id<MTLDevice> metal = machine().metal.get();
  std::vector<ObjcPtr<MPSCommandBuffer*>> buffers;
  std::vector<NSUInteger> allocated;
  for (int run = 0; run < kRuns; ++run) {
    buffers.push_back(retain([MPSCommandBuffer
        commandBufferFromCommandQueue:machine().queue.get()]));
    lab.encode(executable.get(), buffers.back().get());
    allocated.push_back([metal currentAllocatedSize]);
  }
  for (const auto& buffer : buffers) commit_and_wait(buffer.get());
  const auto each =
      static_cast<long>(allocated.back() - allocated.front()) / (kRuns - 1);
  const bool is_kept = each >= kSize * kSize * 4;
  return std::string(is_kept ? "kept for each" : "shared") + ", " +
         std::to_string(each) + " bytes";
}

}  // namespace

std::vector<Probe> memory_probes() {
  return {
      {.name = "alignment",
       .question = "buffers of a heap lie at",
       .answer = alignment},
      {.name = "contiguous",
       .question = "buffers of a placement heap lie at base + offset for the "
                   "host",
       .answer = contiguous,
       .weight = Weight::Reliance,
       .expected = when(kHeapIsContiguousForHost, {"yes"}),
       .remedy = {.constant = "kHeapIsContiguousForHost",
                  .value = "false",
                  .text = "and heap_buffer.mm has to ask every buffer for its "
                          "contents"}},
      {.name = "tracked",
       .question = "a tracked heap orders overlapping buffers",
       .answer = tracked,
       .weight = Weight::Reliance,
       .expected = {"yes"},
       .remedy = {.text = "heap_buffer.mm has to make the kernels of one heap "
                          "wait for each other by fences"}},
      {.name = "empty_buffer",
       .question = "a buffer of 0 bytes is",
       .answer = empty_buffer,
       .expected = {"nil"},
       .may_abort = true},
      {.name = "fed_and_targeted",
       .question = "one buffer fed and targeted gives results that are",
       .answer = fed_and_targeted,
       .weight = Weight::Chance,
       .expected = kFeedAndTargetMayAlias
                       ? Beginnings{"right"}
                       : Beginnings{"wrong", "raised", "aborted"},
       .remedy = {.constant = "kFeedAndTargetMayAlias",
                  .value = "true",
                  .text = "where every supported system says so; saves the "
                          "copies of variables"},
       .may_abort = true},
      {.name = "memory_of_encoded_runs",
       .question = "what MPSGraph takes for 4 MB inside runs encoded ahead is",
       .answer = memory_of_encoded_runs,
       .weight = Weight::Chance,
       .expected = {"kept for each"},
       .remedy = {.constant = "max_bytes_ahead",
                  .value = "SIZE_MAX, by limits_of(), for this system"},
       .emulated = {"shared"}},
      {.name = "first_run",
       .question = "MPSGraph allocates for itself",
       .answer = first_run},
  };
}

}  // namespace traingraph::metal::probes
