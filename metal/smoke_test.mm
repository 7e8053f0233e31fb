// SPDX-License-Identifier: MIT
#import "metal/smoke_test.h"

#include <array>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#import "metal/guard.h"
#include "metal/heap_buffer.h"

namespace traingraph::metal {
namespace {

using Floats = std::array<float, 4>;
constexpr Floats kSource = {1, -2, 3, 0.5F};
constexpr Floats kSquares = {1, 4, 9, 0.25F};
/// What a completion handler says, should it come.
struct Answer {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  std::string error;
};

class SmokeTest {
 public:
  SmokeTest(const GpuDevice& device, std::chrono::milliseconds patience)
      : device_(device), patience_(patience) {}

  std::string run() {
    std::string problem;
    if (!has_heap(problem)) {
      return problem.empty() ? "it has no usable heap memory" : problem;
    }
    if (!compile()) return "MPSGraph compiles nothing for it";
    auto answer = std::make_shared<Answer>();
    if (!encode(answer)) return "it gives no memory in heaps";
    {
      std::unique_lock lock(answer->mutex);
      const bool is_over = answer->changed.wait_for(
          lock, patience_, [&] { return answer->is_over; });
      if (!is_over) {
        keep_for_ever();
        return "it does not finish a computation of four numbers";
      }
      if (!answer->error.empty()) return "it fails: " + answer->error;
    }
    Floats squares;
    std::memcpy(squares.data(), heap_->bytes().data() + target_offset(),
                sizeof(squares));
    if (squares == kSquares) return {};
    return "it computes a wrong result";
  }

 private:
  std::size_t target_offset() const {
    return heap_alignment(device_, sizeof(Floats));
  }

  bool has_heap(std::string& problem) {
    heap_ = HeapBuffer::try_make(device_, 2 * target_offset(), "smoke test",
                                 problem);
    if (!heap_) return false;
    std::memcpy(heap_->bytes().data(), kSource.data(), sizeof(kSource));
    return true;
  }

  bool compile() {
    graph_ = adopt([[MPSGraph alloc] init]);
    MPSGraphTensor* source =
        [graph_.get() placeholderWithShape:shape()
                                  dataType:MPSDataTypeFloat32
                                      name:nil];
    MPSGraphTensor* target =
        [graph_.get() multiplicationWithPrimaryTensor:source
                                      secondaryTensor:source
                                                 name:nil];
    const auto type =
        adopt([[MPSGraphShapedType alloc] initWithShape:shape()
                                               dataType:MPSDataTypeFloat32]);
    NSMutableDictionary* feeds = [NSMutableDictionary dictionary];
    [feeds setObject:type.get() forKey:source];
    const auto descriptor = adopt([[MPSGraphCompilationDescriptor alloc] init]);
    [descriptor.get() setOptimizationLevel:MPSGraphOptimizationLevel0];
    [descriptor.get() setWaitForCompilationCompletion:YES];
    executable_ =
        retain([graph_.get() compileWithDevice:device_.graph.get()
                                         feeds:feeds
                                 targetTensors:[NSArray arrayWithObject:target]
                              targetOperations:nil
                         compilationDescriptor:descriptor.get()]);
    return executable_.get() != nil;
  }

  static NSArray<NSNumber*>* shape() {
    return [NSArray arrayWithObject:[NSNumber numberWithInt:4]];
  }

  /// The data of a tensor at an offset of the heap; nil when there is no
  /// buffer.
  ObjcPtr<NSArray<MPSGraphTensorData*>*> tensor_at(std::size_t offset) const {
    const auto buffer = heap_->part(offset, sizeof(Floats));
    if (!buffer.get()) return {};
    const auto data = adopt([[MPSGraphTensorData alloc]
        initWithMTLBuffer:buffer.get()
                    shape:shape()
                 dataType:MPSDataTypeFloat32]);
    return retain<NSArray<MPSGraphTensorData*>*>(
        [NSArray arrayWithObject:data.get()]);
  }

  bool encode(const std::shared_ptr<Answer>& to) {
    source_ = tensor_at(0);
    target_ = tensor_at(target_offset());
    if (!source_.get() || !target_.get()) return false;
    MPSCommandBuffer* buffer =
        [MPSCommandBuffer commandBufferFromCommandQueue:device_.queue.get()];
    [executable_.get() encodeToCommandBuffer:buffer
                                 inputsArray:source_.get()
                                resultsArray:target_.get()
                         executionDescriptor:nil];
    const std::shared_ptr<Answer> answer = to;
    [buffer addCompletedHandler:^(id<MTLCommandBuffer> done) {
      @autoreleasepool {
        std::scoped_lock lock(answer->mutex);
        if ([done status] == MTLCommandBufferStatusError) {
          answer->error = describe([done error]);
          if (answer->error.empty()) answer->error = "a command buffer error";
        }
        answer->is_over = true;
        answer->changed.notify_all();
      }
    }];
    [buffer commit];
    return true;
  }

  /// The GPU may still write to it.
  void keep_for_ever() {
    static std::vector<SmokeTest>* const kept = new std::vector<SmokeTest>;
    kept->push_back(*this);
  }

  const GpuDevice& device_;
  std::chrono::milliseconds patience_;
  std::shared_ptr<HeapBuffer> heap_;
  ObjcPtr<MPSGraph*> graph_;
  ObjcPtr<MPSGraphExecutable*> executable_;
  ObjcPtr<NSArray<MPSGraphTensorData*>*> source_, target_;
};

}  // namespace

std::string smoke_test(const GpuDevice& device,
                       std::chrono::milliseconds patience) {
  SmokeTest test(device, patience);
  SmokeTest* to_run = &test;
  std::string reason;
  std::string* to_tell = &reason;
  const auto exception = run_guarded(^{
    *to_tell = to_run->run();
  });
  return exception ? "it refuses a tiny computation: " + *exception : reason;
}

}  // namespace traingraph::metal
