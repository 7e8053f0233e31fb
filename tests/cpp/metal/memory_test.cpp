// SPDX-License-Identifier: MIT
// Device memory as planned, as reported and as the device counts it, and
// options that change where things are but not what they are.
#include <gtest/gtest.h>

#include "metal/gpu_test.h"
#include "metal/metal_backend.h"
#include "runtime/device/device_context.h"

namespace traingraph {
namespace {

using namespace testing;

class GpuMemory : public GpuTest {};

TEST_F(GpuMemory, PredictedIsAllocatedIsCounted) {
  Device::gpu().synchronize();
  emulator::wait_until_idle();
  const std::size_t before = emulator::allocated_bytes();
  const auto count = [&](SmallNet& net) {
    // Waits until the queue has let go of what it finished.
    Device::gpu().synchronize();
    emulator::wait_until_idle();
    const MemoryReport report = net.t->memory();
    EXPECT_EQ(report.predicted_bytes, report.allocated_bytes);
    return emulator::allocated_bytes() - before;
  };
  SmallNet net(Device::gpu());
  net.compile();
  const MemoryReport planned = net.t->memory();
  EXPECT_EQ(count(net), 0u);
  // What is in an arena begins at multiples of the alignment, so that arenas
  // fill their heaps.
  net.parameters();
  EXPECT_EQ(count(net), net.t->memory().allocated_bytes);
  EXPECT_EQ(count(net), planned.parameter_bytes);
  net.step();
  net.phases();
  net.infer();
  const std::size_t all = count(net);
  const MemoryReport report = net.t->memory();
  EXPECT_EQ(report.allocated_bytes, planned.total_bytes(true, true, true));
  // Staging buffers do not: their heaps are rounded up.
  const std::size_t heaps = emulator::live_objects().at("MTLHeap");
  const std::size_t page = Device::gpu().context()->target().alignment();
  EXPECT_GE(all, report.allocated_bytes + report.staging_bytes);
  EXPECT_LT(all, report.allocated_bytes + report.staging_bytes + heaps * page);
}

TEST_F(GpuMemory, LargerThanABufferMayBeIsOutOfMemory) {
  const auto device = Device::gpu().context();
  emulator::set_memory_limit(4 << 20);
  EXPECT_THROW(device->allocate(3 << 20, "arena"), OutOfMemoryError);
  EXPECT_EQ(device->allocate(1 << 20, "arena")->size_bytes(), 1u << 20);
  emulator::set_memory_limit(std::size_t{8} << 30);
}

TEST_F(GpuMemory, HeapsThatAreScatteredForTheHostAreRefused) {
  const auto device = Device::gpu().context();
  emulator::scatter_heaps(true);
  const ErrorInfo error =
      error_of<DeviceError>([&] { device->allocate(1 << 20, "arena"); });
  EXPECT_EQ(error.node, "arena");
  EXPECT_NE(error.what.find("offsets"), std::string::npos);
  EXPECT_NE(error.hint.find("cpu"), std::string::npos);
}

// "Size and alignment depend on the length", says Apple's header.
TEST_F(GpuMemory, RulesOfHeapsMayDependOnTheLength) {
  emulator::set_heap_rules_by_length(true);
  Twins twins;
  for (SmallNet* net : {&twins.gpu, &twins.cpu}) {
    net->step();
    net->phases();
  }
  twins.expect_equal();
  expect_near(twins.gpu.infer(), twins.cpu.infer(), 1e-5);
  Device::gpu().synchronize();
  const MemoryReport report = twins.gpu.t->memory();
  EXPECT_EQ(report.predicted_bytes, report.allocated_bytes);
  const Target& target = Device::gpu().context()->target();
  EXPECT_EQ(target.alignment_of(256), 256u);
  EXPECT_EQ(target.alignment_of(257), 1024u);
}

// Hazards are tracked by heap: work on one must not wait for work on others.
TEST_F(GpuMemory, VariablesInputsAndResultsHaveHeapsOfTheirOwn) {
  SmallNet net(Device::gpu());
  net.compile();
  const auto before = emulator::heap_labels();
  net.step().wait();
  const auto after = emulator::heap_labels();
  for (const char* label : {"parameters", "statistics", "optimizer slots",
                            "inputs", "step", "output staging"}) {
    EXPECT_GT(std::ranges::count(after, label),
              std::ranges::count(before, label))
        << label;
  }
}

// Memory that is not used for a while stays resident from macOS 15 on.
TEST_F(GpuMemory, AllHeapsAreResident) {
  const auto expect_all = [] {
    EXPECT_EQ(emulator::heaps_not_resident(), std::vector<std::string>());
  };
  SmallNet net(Device::gpu());
  net.compile();
  net.step().wait();
  EXPECT_FALSE(emulator::heap_labels().empty());
  expect_all();
  net.phases();
  net.infer();
  expect_all();
  // A queue that takes the place of another has them too.
  emulator::commit_and_continue_every(0);
  emulator::ignore_after_failure(true);
  emulator::fail_command_buffer(/*code=*/1);
  EXPECT_THROW(net.step().wait(), DeviceError);
  EXPECT_THROW(net.step().wait(), DeviceError);
  net.step().wait();
  expect_all();
}

/// Two steps, three phases and an inference.
Floats trained(const CompileOptions& options) {
  SmallNet net(Device::gpu(), options);
  net.compile();
  for (int i = 0; i < 2; ++i) net.step();
  net.phases();
  Floats all = net.parameters();
  for (const Floats& more : {net.statistics(), net.infer()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST_F(GpuMemory, ReuseDoesNotChangeABit) {
  EXPECT_EQ(trained({.reuse_memory = false}), trained({}));
}

TEST_F(GpuMemory, PoisonReachesNothing) {
  EXPECT_EQ(trained({.poison_memory = true}), trained({}));
  EXPECT_EQ(trained({.poison_memory = true, .max_gpu_ms = 1e-9}), trained({}));
}

TEST_F(GpuMemory, CutsDoNotChangeABit) {
  for (double ms : {1e-9, 1e-4, 1e9}) {
    EXPECT_EQ(trained({.max_gpu_ms = ms}), trained({})) << ms;
  }
}

long command_buffers_of_a_step(double max_gpu_ms) {
  SmallNet net(Device::gpu(), {.max_gpu_ms = max_gpu_ms});
  net.compile();
  net.step().wait();
  emulator::commit_and_continue_every(0);
  const long before = emulator::counters().command_buffers;
  net.step().wait();
  return emulator::counters().command_buffers - before;
}

TEST_F(GpuMemory, CutsAreCommandBuffers) {
  EXPECT_EQ(command_buffers_of_a_step(0), 1);
  EXPECT_EQ(command_buffers_of_a_step(1e9), 1);
  const long most = command_buffers_of_a_step(1e-9);
  EXPECT_GT(most, 12);
  const long some = command_buffers_of_a_step(2e-4);
  EXPECT_GT(some, 1);
  EXPECT_LT(some, most);
}

// macOS ends work that keeps the display waiting: nobody has to ask for cuts.
TEST_F(GpuMemory, LongWorkIsCutByDefault) {
  EXPECT_GT(CompileOptions{}.max_gpu_ms, 0);
  const auto slow = metal::make_context(
      [](metal::GpuLimits& limits) { limits.flops_per_second = 1; });
  ASSERT_TRUE(slow);
  emulator::commit_and_continue_every(0);
  long counts[2];
  for (const bool is_default : {true, false}) {
    SmallNet net(Device(slow), is_default ? CompileOptions{}
                                          : CompileOptions{.max_gpu_ms = 0});
    net.compile();
    net.step().wait();
    const long before = emulator::counters().command_buffers;
    net.step().wait();
    counts[is_default] = emulator::counters().command_buffers - before;
  }
  slow->drain();
  EXPECT_GT(counts[true], counts[false] + 2);
}

TEST_F(GpuMemory, StepsAreOneExecutableAndCompiledOnce) {
  SmallNet net(Device::gpu());
  net.compile();
  net.step().wait();
  const emulator::Counters before = emulator::counters();
  for (int i = 0; i < 5; ++i) net.step().wait();
  const emulator::Counters after = emulator::counters();
  EXPECT_EQ(after.executable_runs - before.executable_runs, 5);
  EXPECT_EQ(after.compiles, before.compiles);
}

TEST_F(GpuMemory, ProfilesHaveTimes) {
  for (int every : {0, 1}) {
    for (double ms : {0.0, 1e-9}) {
      emulator::commit_and_continue_every(every);
      SmallNet net(Device::gpu(), {.max_gpu_ms = ms});
      net.compile();
      const ExecutionResult result =
          net.step({.per_layer_profiling = true}).result();
      EXPECT_GT(result.execution_time(), 0);
      double sum = 0;
      for (const LayerTime& time : result.layer_times()) {
        EXPECT_GE(std::min({time.forward, time.gradient, time.update}), 0);
        sum += time.forward + time.gradient + time.update;
      }
      EXPECT_GT(sum, 0);
      EXPECT_LE(sum, 1.001 * result.execution_time());
    }
  }
}

/// x -> first -> h -> second -> loss, as two graphs.
struct LinkedPair {
  LinkedPair(const Device& device, const CompileOptions& options)
      : a(4, 3, 3, 1, "a"), b(4, 3, 2, 8, "b") {
    graph.node(std::make_shared<layers::FullyConnected>(b.w(), b.b()), a.y);
    const OptimizerPtr optimizer = sgd(0.1f, 0.9f);
    first.emplace(std::vector{a.graph}, nullptr, optimizer);
    first->add_inputs({{"x", a.x}});
    second.emplace(std::vector{graph},
                   std::make_shared<losses::MeanSquaredError>(), optimizer);
    second->add_inputs({{"h", a.y}}, {{"label", b.label}});
    first->compile(device, options);
    second->compile(device, options);
    first->link({*second});
  }
  void step() {
    first->execute_forward(a.inputs, {});
    second->execute_forward({}, b.labels);
    second->execute_gradient();
    first->execute_gradient();
    second->execute_optimizer_update();
    first->execute_optimizer_update();
  }
  Floats parameters() const {
    Floats all = read(a.w());
    const Floats more = read(b.w());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Linear a, b;
  Graph graph;
  std::optional<TrainingGraph> first, second;
};

TEST_F(GpuMemory, LinkedGraphsTrainAsOnTheCPU) {
  emulator::delay_completion(0.001);
  emulator::reorder_completions(3);
  for (double ms : {0.0, 1e-9}) {
    LinkedPair gpu(Device::gpu(), {.link_graphs = true, .max_gpu_ms = ms});
    LinkedPair cpu(Device::cpu(), {.link_graphs = true});
    for (int i = 0; i < 5; ++i) {
      for (LinkedPair* pair : {&gpu, &cpu}) pair->step();
    }
    expect_near(gpu.parameters(), cpu.parameters());
  }
}

TEST_F(GpuMemory, AFailureInOneOfLinkedGraphsStopsTheOther) {
  LinkedPair gpu(Device::gpu(), {.link_graphs = true});
  gpu.step();
  const Floats before = gpu.parameters();
  emulator::delay_completion(0.001);
  emulator::fail_command_buffer(/*code=*/1);
  gpu.first->execute_forward(gpu.a.inputs, {});
  gpu.second->execute_forward({}, gpu.b.labels);
  gpu.second->execute_gradient();
  gpu.first->execute_gradient();
  const Execution updates[] = {gpu.second->execute_optimizer_update(),
                               gpu.first->execute_optimizer_update()};
  for (const Execution& update : updates) {
    EXPECT_THROW(update.wait(), DeviceError);
  }
  EXPECT_EQ(gpu.parameters(), before);
  gpu.step();
  EXPECT_NE(gpu.parameters(), before);
}

}  // namespace
}  // namespace traingraph
