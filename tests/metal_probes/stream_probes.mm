// SPDX-License-Identifier: MIT
// Command buffers: who commits them, when handlers run, on which threads.
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#import "metal/guard.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

MPSCommandBuffer* new_commands() {
  return [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
}

/// softmax(x x): several kernels.
T several_ops(Lab& lab, std::int64_t side) {
  T x = lab.input(Numbers(side * side, 0.01F), {side, side});
  T product = [lab.graph() matrixMultiplicationWithPrimaryTensor:x
                                                 secondaryTensor:x
                                                            name:@"product"];
  return [lab.graph() softMaxWithTensor:product axis:1 name:@"softmax"];
}

std::string swaps() {
  constexpr int kNumEncodes = 50;
  Lab lab;
  const auto executable = lab.compile({several_ops(lab, 256)});
  MPSCommandBuffer* commands = new_commands();
  std::vector<ObjcPtr<id<MTLBuffer>>> results;
  int num_swaps = 0;
  for (int i = 0; i < kNumEncodes; ++i) {
    const auto before = retain([commands commandBuffer]);
    for (auto& result : lab.encode(executable.get(), commands)) {
      results.push_back(result);
    }
    if ([commands commandBuffer] != before.get()) ++num_swaps;
  }
  commit_and_wait(commands);
  return std::to_string(num_swaps) + " times in " +
         std::to_string(kNumEncodes) + " encodes";
}

/// What handlers tell, in the order in which they run.
struct Landings {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> order;
  std::set<std::thread::id> threads;

  void add(int number) {
    std::scoped_lock lock(mutex);
    order.push_back(number);
    threads.insert(std::this_thread::get_id());
    changed.notify_all();
  }
  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return order.size() == count; });
  }
};

std::shared_ptr<Landings> land_many(int count) {
  Lab lab;
  const auto executable = lab.compile({several_ops(lab, 64)});
  auto landings = std::make_shared<Landings>();
  std::vector<ObjcPtr<id<MTLBuffer>>> results;
  for (int i = 0; i < count; ++i) {
    MPSCommandBuffer* commands = new_commands();
    for (auto& result : lab.encode(executable.get(), commands)) {
      results.push_back(result);
    }
    const std::shared_ptr<Landings> to_tell = landings;
    [commands addCompletedHandler:^(id<MTLCommandBuffer>) {
      to_tell->add(i);
    }];
    [commands commit];
  }
  landings->wait_for(static_cast<std::size_t>(count));
  return landings;
}

std::string handler_order() {
  const auto landings = land_many(100);
  for (int i = 0; i < 100; ++i) {
    if (landings->order[i] != i) {
      return "another order: handler " + std::to_string(landings->order[i]) +
             " ran as number " + std::to_string(i);
    }
  }
  return "the order of commits";
}

std::string handler_threads() {
  return std::to_string(land_many(100)->threads.size()) +
         " for 100 command buffers";
}

std::string handlers_before_wait() {
  int num_early = 0;
  constexpr int kNumRounds = 50;
  for (int i = 0; i < kNumRounds; ++i) {
    const auto has_run = std::make_shared<std::atomic<bool>>(false);
    id<MTLCommandBuffer> commands = [machine().queue.get() commandBuffer];
    [commands addCompletedHandler:^(id<MTLCommandBuffer>) {
      has_run->store(true);
    }];
    [commands commit];
    [commands waitUntilCompleted];
    if (has_run->load()) ++num_early;
  }
  return std::to_string(num_early) + " of " + std::to_string(kNumRounds);
}

/// Two threads encode one executable, each into command buffers of its own.
std::string concurrent_encodes() {
  constexpr int kNumRounds = 100;
  Lab lab;
  T x = lab.input({1, 2, 3, 4});
  T doubled = [lab.graph() additionWithPrimaryTensor:x
                                     secondaryTensor:x
                                                name:@"sum"];
  const auto executable = lab.compile({doubled});
  std::atomic<int> num_wrong = 0;
  std::atomic<int>* to_count = &num_wrong;
  const Lab* to_run = &lab;
  MPSGraphExecutable* shared = executable.get();
  const auto work = [=] {
    const auto exception = run_guarded(^{
      for (int i = 0; i < kNumRounds; ++i) {
        MPSCommandBuffer* commands = new_commands();
        const auto results = to_run->encode(shared, commands);
        commit_and_wait(commands);
        const Numbers got = numbers_in(results.front().get(), 4);
        if (got != Numbers{2, 4, 6, 8}) ++*to_count;
      }
    });
    if (exception) ++*to_count;
  };
  std::thread other(work);
  work();
  other.join();
  return std::to_string(num_wrong.load()) + " wrong of " +
         std::to_string(2 * kNumRounds);
}

std::string gpu_times() {
  Lab lab;
  const auto executable = lab.compile({several_ops(lab, 256)});
  MPSCommandBuffer* commands = new_commands();
  const auto results = lab.encode(executable.get(), commands);
  const auto last = retain([commands commandBuffer]);
  commit_and_wait(commands);
  const double seconds = [last.get() GPUEndTime] - [last.get() GPUStartTime];
  return seconds > 0 ? "known" : "not known";
}

}  // namespace

std::vector<Probe> stream_probes() {
  return {
      {.name = "swaps",
       .question = "encodeToCommandBuffer swaps the command buffer",
       .answer = swaps},
      {.name = "handler_order",
       .question = "completion handlers run in",
       .answer = handler_order},
      {.name = "handler_threads",
       .question = "threads that run completion handlers",
       .answer = handler_threads},
      {.name = "handlers_before_wait",
       .question = "handlers that ran before waitUntilCompleted returned",
       .answer = handlers_before_wait},
      {.name = "concurrent_encodes",
       .question = "two threads encoding one executable",
       .answer = concurrent_encodes,
       .may_abort = true},
      {.name = "gpu_times",
       .question = "GPU times of a command buffer are",
       .answer = gpu_times},
  };
}

}  // namespace traingraph::metal::probes
