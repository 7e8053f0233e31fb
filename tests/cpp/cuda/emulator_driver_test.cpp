// SPDX-License-Identifier: MIT
// Memory, streams and graphs of the emulated driver.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "cuda/emulated_card.h"

namespace traingraph::cuda::test {
namespace {

constexpr Result kInvalidHandle{400}, kIllegalAddress{700};

class EmulatorDriver : public EmulatedCard {
 protected:
  /// step: x[0] = a * x[0] + b.
  void load_step() {
    load(R"(
extern "C" __global__ void step(float* x, float a, float b) {
  begin_after_previous();
  x[0] = a * x[0] + b;
}
extern "C" __global__ void wait(volatile int* gate) {
  while (gate[0] == 0) {
  }
  gate[1] = gate[0];
}
extern "C" __global__ void hasty(float* x) { x[0] = 0; })");
    step_ = function("step");
  }
  GraphNode add(GraphHandle graph, std::vector<GraphNode> after,
                FunctionHandle kernel, DeviceAddress x, float a, float b) {
    void* addresses[] = {&x, &a, &b};
    KernelNodeParams params;
    params.function = kernel;
    params.parameters = addresses;
    GraphNode node = nullptr;
    EXPECT_EQ(driver_->graph_add_kernel_node(&node, graph, after.data(),
                                             after.size(), &params),
              Result::Success);
    return node;
  }

  FunctionHandle step_ = nullptr;
};

TEST_F(EmulatorDriver, HasACard) {
  int count = 0, major = 0;
  char name[64];
  EXPECT_EQ(driver_->device_get_count(&count), Result::Success);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(driver_->device_get_name(name, sizeof name, 0), Result::Success);
  EXPECT_STREQ(name, "Emulated GPU");
  EXPECT_EQ(driver_->device_get_attribute(
                &major, DeviceAttribute::ComputeCapabilityMajor, 0),
            Result::Success);
  EXPECT_EQ(major, 9);
}

TEST_F(EmulatorDriver, RunsOutOfMemory) {
  std::size_t free = 0, total = 0;
  ASSERT_EQ(driver_->mem_get_info(&free, &total), Result::Success);
  DeviceAddress address = 0;
  EXPECT_EQ(driver_->mem_alloc(&address, free + 1), Result::OutOfMemory);
  EXPECT_EQ(driver_->mem_alloc(&address, 0), Result::InvalidValue);
  allocate(1 << 20);
  std::size_t less = 0;
  driver_->mem_get_info(&less, &total);
  EXPECT_EQ(less, free - (1 << 20));
}

TEST_F(EmulatorDriver, HasAsManyCardsAndAsMuchMemoryAsTestsSay) {
  setenv("TRAINGRAPH_CUDA_EMULATOR_CARDS", "2", 1);
  setenv("TRAINGRAPH_CUDA_EMULATOR_MEMORY", "4096", 1);
  ContextHandle first = nullptr, second = nullptr;
  driver_->primary_context_retain(&first, 0);
  ASSERT_EQ(driver_->primary_context_retain(&second, 1), Result::Success);
  DeviceAddress x = 0, y = 0;
  ASSERT_EQ(driver_->context_set_current(second), Result::Success);
  EXPECT_EQ(driver_->mem_alloc(&x, 4096), Result::Success);
  EXPECT_EQ(driver_->mem_alloc(&y, 1), Result::OutOfMemory);
  ASSERT_EQ(driver_->context_set_current(first), Result::Success);
  EXPECT_EQ(driver_->memset_async(x, 0, 1, stream_), Result::InvalidValue);
  EXPECT_EQ(driver_->mem_alloc(&y, 1), Result::Success);
  EXPECT_EQ(driver_->mem_free(y), Result::Success);
  driver_->context_set_current(second);
  EXPECT_EQ(driver_->mem_free(x), Result::Success);
  driver_->context_set_current(first);
  unsetenv("TRAINGRAPH_CUDA_EMULATOR_CARDS");
  unsetenv("TRAINGRAPH_CUDA_EMULATOR_MEMORY");
}

TEST_F(EmulatorDriver, RefusesCopiesOfWhatIsNotAllocated) {
  const DeviceAddress x = allocate(100);
  std::vector<char> host(101);
  EXPECT_EQ(driver_->copy_to_device_async(x, host.data(), 101, stream_),
            Result::InvalidValue);
  EXPECT_EQ(driver_->copy_to_host_async(host.data(), x + 1, 100, stream_),
            Result::InvalidValue);
  EXPECT_EQ(driver_->memset_async(x + 50, 0, 50, stream_), Result::Success);
  EXPECT_EQ(driver_->copy_on_device_async(x, x - 1, 1, stream_),
            Result::InvalidValue);
}

TEST_F(EmulatorDriver, PoisonsMemoryAndForgetsWhatIsFreed) {
  load_step();
  const DeviceAddress x = allocate(16);
  EXPECT_NE(download<float>(x, 1)[0], download<float>(x, 1)[0]);  // NaN
  DeviceAddress freed = 0;
  ASSERT_EQ(driver_->mem_alloc(&freed, 16), Result::Success);
  ASSERT_EQ(driver_->mem_free(freed), Result::Success);
  EXPECT_EQ(driver_->mem_free(freed), Result::InvalidValue);
  ASSERT_EQ(launch(function("hasty"), 1, 1, freed), Result::Success);
  EXPECT_EQ(synchronize(), kIllegalAddress);
  // Nor does the host reach it.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], reinterpret_cast<const void*>(freed), 1), -1);
  EXPECT_EQ(errno, EFAULT);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(EmulatorDriver, RunsWhileTheHostGoesOn) {
  load_step();
  void* host = nullptr;
  ASSERT_EQ(driver_->mem_host_alloc(&host, 8, kHostAllocMapped),
            Result::Success);
  auto* gate = static_cast<volatile int*>(host);
  gate[0] = 0;
  gate[1] = 0;
  DeviceAddress mapped = 0;
  ASSERT_EQ(driver_->mem_host_get_device_pointer(&mapped, host, 0),
            Result::Success);
  EventHandle begin = nullptr, end = nullptr;
  driver_->event_create(&begin, kEventDefault);
  driver_->event_create(&end, kEventDefault);
  EXPECT_EQ(driver_->event_query(end), Result::Success);  // of nothing
  driver_->event_record(begin, stream_);
  ASSERT_EQ(launch(function("wait"), 1, 1, mapped), Result::Success);
  driver_->event_record(end, stream_);
  EXPECT_EQ(driver_->event_query(end), Result::NotReady);
  EXPECT_EQ(driver_->stream_query(stream_), Result::NotReady);
  EXPECT_EQ(gate[1], 0);
  gate[0] = 3;
  EXPECT_EQ(driver_->event_synchronize(end), Result::Success);
  EXPECT_EQ(gate[1], 3);
  float milliseconds = 0;
  EXPECT_EQ(driver_->event_elapsed_time(&milliseconds, begin, end),
            Result::Success);
  EXPECT_GT(milliseconds, 0);
  EXPECT_EQ(driver_->mem_free_host(host), Result::Success);
}

TEST_F(EmulatorDriver, StreamsWaitForEvents) {
  load_step();
  const DeviceAddress x = upload(std::vector<float>{1});
  StreamHandle other = nullptr;
  EventHandle event = nullptr;
  driver_->stream_create(&other, kStreamNonBlocking);
  driver_->event_create(&event, kEventDisableTiming);
  launch(step_, 1, 1, x, 2.0f, 0.0f);
  driver_->event_record(event, stream_);
  ASSERT_EQ(driver_->stream_wait_event(other, event, 0), Result::Success);
  std::swap(stream_, other);
  launch(step_, 1, 1, x, 1.0f, 10.0f);
  EXPECT_EQ(download<float>(x, 1)[0], 12);
}

TEST_F(EmulatorDriver, GraphsKeepTheirOrderAndCopyParameters) {
  load_step();
  const DeviceAddress x = upload(std::vector<float>{1});
  GraphHandle graph = nullptr;
  driver_->graph_create(&graph, 0);
  const GraphNode first = add(graph, {}, step_, x, 2, 0);
  GraphNode last = first;
  for (float b = 1; b < 6; ++b) last = add(graph, {last}, step_, x, 2, b);
  GraphExec executable = nullptr;
  ASSERT_EQ(driver_->graph_instantiate(&executable, graph, 0), Result::Success);
  ASSERT_EQ(driver_->graph_launch(executable, stream_), Result::Success);

  // Of the next launch, while the first one runs.
  float a = 0, b = 1;
  DeviceAddress address = x;
  void* addresses[] = {&address, &a, &b};
  KernelNodeParams params;
  params.function = step_;
  params.parameters = addresses;
  ASSERT_EQ(driver_->graph_exec_kernel_set_params(executable, first, &params),
            Result::Success);
  EXPECT_EQ(download<float>(x, 1)[0], 64 + 16 + 16 + 12 + 8 + 5);
  ASSERT_EQ(driver_->graph_launch(executable, stream_), Result::Success);
  EXPECT_EQ(download<float>(x, 1)[0], 32 + 16 + 16 + 12 + 8 + 5);

  EXPECT_EQ(driver_->graph_destroy(graph), Result::Success);
  EXPECT_EQ(driver_->graph_exec_kernel_set_params(executable, first, &params),
            Result::InvalidValue);
  EXPECT_EQ(driver_->graph_exec_destroy(executable), Result::Success);
  EXPECT_EQ(driver_->graph_launch(executable, stream_), kInvalidHandle);
}

TEST_F(EmulatorDriver, GraphsTakeNodesWithoutEdgesInAnyOrder) {
  load_step();
  GraphHandle graph = nullptr;
  driver_->graph_create(&graph, 0);
  const DeviceAddress x = allocate(4);
  for (float b = 0; b < 2; ++b) add(graph, {}, step_, x, 0, b);
  GraphExec executable = nullptr;
  ASSERT_EQ(driver_->graph_instantiate(&executable, graph, 0), Result::Success);
  int num_zeros = 0;
  for (int i = 0; i < 20; ++i) {
    driver_->memset_async(x, 0, 4, stream_);
    driver_->graph_launch(executable, stream_);
    num_zeros += download<float>(x, 1)[0] == 0 ? 1 : 0;
  }
  EXPECT_GT(num_zeros, 0);
  EXPECT_LT(num_zeros, 20);
}

TEST_F(EmulatorDriver, RefusesEdgesThatMakeNoSense) {
  load_step();
  const DeviceAddress x = allocate(4);
  GraphHandle graph = nullptr;
  driver_->graph_create(&graph, 0);
  const GraphNode a = add(graph, {}, step_, x, 1, 1);
  const GraphNode b = add(graph, {a}, step_, x, 1, 1);
  EXPECT_EQ(driver_->graph_add_dependencies(graph, &a, &b, nullptr, 1),
            Result::InvalidValue);  // there is one
  EXPECT_EQ(driver_->graph_add_dependencies(graph, &b, &b, nullptr, 1),
            Result::InvalidValue);
  EXPECT_EQ(driver_->graph_add_dependencies(graph, &b, &a, nullptr, 1),
            Result::Success);
  GraphExec executable = nullptr;
  EXPECT_EQ(driver_->graph_instantiate(&executable, graph, 0),
            Result::InvalidValue);  // a cycle
}

TEST_F(EmulatorDriver, KernelsWaitBehindProgrammaticEdges) {
  load_step();
  const DeviceAddress x = upload(std::vector<float>{1});
  for (const char* name : {"step", "hasty"}) {
    GraphHandle graph = nullptr;
    driver_->graph_create(&graph, 0);
    const GraphNode first = add(graph, {}, step_, x, 1, 1);
    const GraphNode last = add(graph, {}, function(name), x, 1, 1);
    const EdgeData programmatic{.from_port = 1, .to_port = 0, .type = 1};
    ASSERT_EQ(
        driver_->graph_add_dependencies(graph, &first, &last, &programmatic, 1),
        Result::Success);
    GraphExec executable = nullptr;
    ASSERT_EQ(driver_->graph_instantiate(&executable, graph, 0),
              Result::Success);
    ASSERT_EQ(driver_->graph_launch(executable, stream_), Result::Success);
    const bool waits = std::string(name) == "step";
    EXPECT_EQ(synchronize(), waits ? Result::Success : Result{719});
  }
}

TEST_F(EmulatorDriver, ChildGraphsAreCaptured) {
  load_step();
  const DeviceAddress x = upload(std::vector<float>{1});
  ASSERT_EQ(driver_->stream_begin_capture(stream_, kCaptureModeThreadLocal),
            Result::Success);
  launch(step_, 1, 1, x, 2.0f, 1.0f);
  EXPECT_EQ(synchronize(), Result{900});
  launch(step_, 1, 1, x, 3.0f, 0.0f);
  GraphHandle child = nullptr, graph = nullptr;
  ASSERT_EQ(driver_->stream_end_capture(stream_, &child), Result::Success);
  driver_->graph_create(&graph, 0);
  const GraphNode first = add(graph, {}, step_, x, 1, 1);
  GraphNode middle = nullptr;
  ASSERT_EQ(driver_->graph_add_child_node(&middle, graph, &first, 1, child),
            Result::Success);
  add(graph, {middle}, step_, x, 1, 100);
  GraphExec executable = nullptr;
  ASSERT_EQ(driver_->graph_instantiate(&executable, graph, 0), Result::Success);
  ASSERT_EQ(driver_->graph_launch(executable, stream_), Result::Success);
  EXPECT_EQ(download<float>(x, 1)[0], (2 * (1 + 1) + 1) * 3 + 100);
}

TEST_F(EmulatorDriver, LosesTheCardAsTestsAsk) {
  load_step();
  const DeviceAddress x = upload(std::vector<float>{1});
  emulator_function<void(int)>("cuda_emulator_fail_next_launch")(700);
  ASSERT_EQ(launch(step_, 1, 1, x, 2.0f, 1.0f), Result::Success);
  EXPECT_EQ(synchronize(), kIllegalAddress);
  DeviceAddress address = 0;
  EXPECT_EQ(driver_->mem_alloc(&address, 4), kIllegalAddress);
  EXPECT_EQ(driver_->stream_query(stream_), kIllegalAddress);
}

TEST_F(EmulatorDriver, RefusesACallAsTestsAsk) {
  const auto num_calls =
      emulator_function<long(const char*)>("cuda_emulator_num_calls");
  const long before = num_calls("cuMemAlloc_v2");
  emulator_function<void(const char*, int)>("cuda_emulator_refuse_next")(
      "cuMemAlloc_v2", 2);
  DeviceAddress address = 0;
  EXPECT_EQ(driver_->mem_alloc(&address, 4), Result::OutOfMemory);
  allocate(4);
  EXPECT_EQ(num_calls("cuMemAlloc_v2"), before + 2);
}

TEST_F(EmulatorDriver, CallsNeedAContext) {
  Result result = Result::Success;
  std::thread([&] {
    DeviceAddress address = 0;
    result = driver_->mem_alloc(&address, 4);
  }).join();
  EXPECT_EQ(result, Result{201});
}

}  // namespace
}  // namespace traingraph::cuda::test
