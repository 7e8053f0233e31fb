// SPDX-License-Identifier: MIT
// Command buffers: who commits them, when handlers run, on which threads.
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#import "metal/guard.h"
#import "metal/observed_command_buffer.h"
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

/// Enough ops that MPSGraph may split them, if it ever does.
T many_ops(Lab& lab) {
  T x = lab.input(Numbers(64, 1));
  for (int i = 0; i < 400; ++i) {
    x = [lab.graph() squareRootWithTensor:x name:@"root"];
    x = [lab.graph() reductionSumWithTensor:x axis:0 name:@"sum"];
    x = [lab.graph() broadcastTensor:x toShape:list({64}) name:@"all"];
  }
  return x;
}

std::string continue_is_called() {
  constexpr int kNumEncodes = 20;
  Lab lab;
  const auto executable = lab.compile({many_ops(lab)});
  int num_calls = 0;
  const std::function<void()> note = [&num_calls] { ++num_calls; };
  const auto commands = adopt([[TGObservedCommandBuffer alloc]
      initWithCommandBuffer:[machine().queue.get() commandBuffer]
               beforeCommit:note]);
  std::vector<ObjcPtr<id<MTLBuffer>>> results;
  int num_swaps = 0, num_seen = 0;
  for (int i = 0; i < kNumEncodes; ++i) {
    const auto before = retain([commands.get() commandBuffer]);
    const int calls_before = num_calls;
    for (auto& result : lab.encode(executable.get(), commands.get())) {
      results.push_back(result);
    }
    if ([commands.get() commandBuffer] == before.get()) continue;
    ++num_swaps;
    if (num_calls > calls_before) ++num_seen;
  }
  commit_and_wait(commands.get());
  const std::string of = std::to_string(num_swaps) + " of " +
                         std::to_string(kNumEncodes) + " encodes swapped";
  if (num_swaps == 0) return "no swaps: " + of;
  if (num_seen == num_swaps) return "yes: " + of;
  return "no: " + of + ", " + std::to_string(num_seen) + " seen";
}

double gpu_seconds(const Lab& lab, MPSGraphExecutable* executable, int count,
                   int* num_buffers = nullptr) {
  MPSCommandBuffer* commands = new_commands();
  const auto first = retain([commands commandBuffer]);
  auto last = first;
  std::vector<ObjcPtr<id<MTLCommandBuffer>>> committed;
  std::vector<ObjcPtr<id<MTLBuffer>>> results;
  for (int i = 0; i < count; ++i) {
    results = lab.encode(executable, commands);
    if ([commands commandBuffer] == last.get()) continue;
    committed.push_back(last);
    last = retain([commands commandBuffer]);
  }
  if (num_buffers) *num_buffers += static_cast<int>(committed.size());
  commit_and_wait(commands);
  // The last one runs although one before it failed.
  for (const auto& each : committed) require_done(each.get());
  return [last.get() GPUEndTime] - [first.get() GPUStartTime];
}

/// Products of a size that takes some milliseconds, as often as it takes.
std::string long_buffer() {
  constexpr double kSeconds = 2.2, kOnce = 0.005;
  std::int64_t side = 64;
  for (;; side *= 2) {
    Lab lab;
    const auto executable = lab.compile({several_ops(lab, side)});
    gpu_seconds(lab, executable.get(), 1);
    const double once = gpu_seconds(lab, executable.get(), 1);
    if (once < kOnce && side < 4096) continue;
    const int count = static_cast<int>(std::ceil(kSeconds / once));
    int num_buffers = 1;
    double seconds = 0;
    double* to_fill = &seconds;
    int* to_count = &num_buffers;
    const Lab* to_run = &lab;
    const auto failure = run_guarded(^{
      *to_fill = gpu_seconds(*to_run, executable.get(), count, to_count);
    });
    const std::string how = " (in " + std::to_string(num_buffers) + " parts)";
    if (failure) return "fails: " + *failure + how;
    return "ends well after " + text(static_cast<float>(seconds)) + " s" + how;
  }
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
      {.name = "continue_is_called",
       .question = "a swap calls commitAndContinue of a subclass",
       .answer = continue_is_called,
       .weight = Weight::Reliance,
       .expected = {"yes", "no swaps"},
       .remedy = {.text =
                      "submission_encoder.mm sees the first and the "
                      "last command buffer of such an encoding and checks no "
                      "other: what fails between them is not reported"}},
      {.name = "handler_order",
       .question = "completion handlers run in",
       .answer = handler_order,
       .expected = {"the order of commits"}},
      {.name = "handler_threads",
       .question = "threads that run completion handlers",
       .answer = handler_threads},
      {.name = "handlers_before_wait",
       .question = "handlers that ran before waitUntilCompleted returned",
       .answer = handlers_before_wait},
      {.name = "concurrent_encodes",
       .question = "two threads encoding one executable",
       .answer = concurrent_encodes,
       .expected = {"0 wrong"},
       .may_abort = true},
      {.name = "gpu_times",
       .question = "GPU times of a command buffer are",
       .answer = gpu_times,
       .weight = Weight::Reliance,
       .expected = {"known"},
       .remedy = {.text = "in_flight_submission.mm has to take the host's "
                          "times for profiles"}},
      {.name = "long_buffer",
       .question = "a command buffer of two seconds",
       .answer = long_buffer,
       .weight = Weight::Chance,
       .expected = {"fails"},
       .remedy = {.text = "the default of CompileOptions::max_gpu_ms may be "
                          "larger where every machine with a display says so"},
       .emulated = {"ends well"},
       .is_slow = true},
  };
}

}  // namespace traingraph::metal::probes
