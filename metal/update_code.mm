// SPDX-License-Identifier: MIT
#import "metal/update_code.h"

#include <algorithm>

#include "graph/op_def.h"

namespace traingraph::metal {

UpdateCode::UpdateCode(const GpuDevice& device, const Program& program,
                       const GpuUnit& unit, const UnitArgs& args,
                       bool is_deferred)
    : device_(device) {
  for (std::size_t u = 0; u < unit.in_place.size(); ++u) {
    if (args.are_in_place_deferred[u] != is_deferred) continue;
    const InPlaceUpdate& in_place = unit.in_place[u];
    const Node& node = program.node(in_place.node);
    Update& update = updates_.emplace_back();
    update.spec = update_spec(program, node);
    for (int b = 0; b < kNumUpdateBuffers; ++b) {
      const int input = update.spec.inputs[b];
      if (input < 0) continue;
      const auto& [value, first] = in_place.inputs[input];
      update.inputs[b] = {
          .arg = args.in_place[u][input],
          .first_byte = static_cast<std::size_t>(first) * sizeof(float),
          .written_bytes =
              mutates(node, input) ? program.desc(value).size_bytes() : 0};
    }
  }
}

/// Launches read and write through the buffers over whole arenas, so that
/// tensors anywhere in them can share a launch.
class UpdateCode::Bound final : public BoundCode {
 public:
  Bound(const UpdateCode& code, const UnitMemory& memory)
      : device_(code.device_) {
    std::vector<UpdateTask> tasks;
    for (const Update& update : code.updates_) {
      UpdateTask& task = tasks.emplace_back();
      task.spec = update.spec;
      for (int b = 0; b < kNumUpdateBuffers; ++b) {
        const Input& input = update.inputs[b];
        if (input.arg < 0) continue;
        const Location& at = memory.at(input.arg);
        task.places[b] = {number_of(heap_of(at)), at.offset + input.first_byte};
        if (input.written_bytes == 0) continue;
        writes_.push_back({&heap_of(at), at.offset, input.written_bytes});
      }
    }
    launches_ = plan_updates(tasks, kUpdateLimits);
  }

  void encode(MPSCommandBuffer* buffer) override {
    id<MTLComputeCommandEncoder> compute = [buffer computeCommandEncoder];
    for (const UpdateLaunch& launch : launches_) encode(launch, compute);
    [compute endEncoding];
    for (const Write& write : writes_) {
      write.heap->note_write(write.offset, write.bytes);
    }
  }

 private:
  struct Write {
    HeapBuffer* heap = nullptr;
    std::size_t offset = 0, bytes = 0;
  };

  int number_of(HeapBuffer& heap) {
    const auto is_it = [&](const ObjcPtr<id<MTLBuffer>>& buffer) {
      return buffer.get() == heap.whole();
    };
    const auto found = std::ranges::find_if(buffers_, is_it);
    const auto number = static_cast<int>(found - buffers_.begin());
    if (found == buffers_.end()) {
      buffers_.push_back(retain<id<MTLBuffer>>(heap.whole()));
    }
    return number;
  }

  void encode(const UpdateLaunch& launch,
              id<MTLComputeCommandEncoder> compute) const {
    id<MTLComputePipelineState> pipeline =
        device_.kernels[static_cast<int>(update_kernel(launch.op))].get();
    [compute setComputePipelineState:pipeline];
    for (int b = 0; b < kNumUpdateBuffers; ++b) {
      // What an update does without is bound to something, and never read.
      const int number = launch.buffers[b];
      [compute setBuffer:buffers_[std::max(number, 0)].get()
                  offset:0
                 atIndex:b];
    }
    [compute setBytes:&launch.call
               length:sizeof(launch.call)
              atIndex:kNumUpdateBuffers];
    [compute setBytes:launch.tensors.data()
               length:launch.tensors.size() * sizeof(formulas::UpdateTensor)
              atIndex:kNumUpdateBuffers + 1];
    const auto threads =
        std::min<std::size_t>(device_.limits.max_threads_per_group,
                              [pipeline maxTotalThreadsPerThreadgroup]);
    const std::size_t all = formulas::kThreadsPerChunk * launch.num_chunks;
    [compute
         dispatchThreadgroups:MTLSizeMake((all + threads - 1) / threads, 1, 1)
        threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
  }

  const GpuDevice& device_;
  std::vector<ObjcPtr<id<MTLBuffer>>> buffers_;
  std::vector<UpdateLaunch> launches_;
  std::vector<Write> writes_;
};

std::unique_ptr<BoundCode> UpdateCode::bind(const UnitMemory& memory) const {
  return std::make_unique<Bound>(*this, memory);
}

}  // namespace traingraph::metal
