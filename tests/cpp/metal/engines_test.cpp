// SPDX-License-Identifier: MIT
// Dropout by a mask inside an executable and dropout as a kernel of its own
// are the same dropout, bit for bit.
#include <gtest/gtest.h>

#include "metal/gpu_test.h"
#include "metal/metal_backend.h"
#include "runtime/wrapped_device.h"

namespace traingraph::testing {
namespace {

class Engines : public GpuTest {
 protected:
  ~Engines() override { kernels_.context()->drain(); }

  /// The GPU with a kernel for every dropout.
  const Device kernels_{metal::make_context(
      [](metal::GpuLimits& limits) { limits.max_mask_bytes = 0; })};
};

struct Trained {
  Floats parameters, statistics, prediction;
  bool operator==(const Trained&) const = default;
};

/// Two steps, three phases and an inference.
Trained train(const Device& device, const CompileOptions& options = {}) {
  SmallNet net(device, options);
  net.compile();
  for (int i = 0; i < 2; ++i) net.step();
  net.phases();
  return {net.parameters(), net.statistics(), net.infer()};
}

TEST_F(Engines, TrainAlike) {
  EXPECT_EQ(train(kernels_), train(Device::gpu()));
}

TEST_F(Engines, TrainAlikeWhateverTheOptions) {
  const Trained expected = train(Device::gpu());
  EXPECT_EQ(train(kernels_, {.poison_memory = true}), expected);
  EXPECT_EQ(train(kernels_, {.reuse_memory = false}), expected);
  EXPECT_EQ(train(kernels_, {.max_gpu_ms = 1e-9}), expected);
}

struct Work {
  long executables, command_buffers;
  bool operator==(const Work&) const = default;
};

Work work_of_a_step(const Device& device) {
  SmallNet net(device);
  net.compile();
  net.step().wait();
  emulator::commit_and_continue_every(0);
  const emulator::Counters before = emulator::counters();
  net.step().wait();
  const emulator::Counters after = emulator::counters();
  return {after.executable_runs - before.executable_runs,
          after.command_buffers - before.command_buffers};
}

TEST_F(Engines, AMaskCutsNothing) {
  EXPECT_EQ(work_of_a_step(Device::gpu()), (Work{1, 1}));
}

// Variables of a run in pieces are written by a command buffer of its own.
TEST_F(Engines, AKernelCutsTheExecutable) {
  EXPECT_EQ(work_of_a_step(kernels_), (Work{3, 6}));
}

/// Sizes of the masks of a step, of (8, 16) elements.
std::vector<std::size_t> mask_bytes(const Device& device) {
  SmallNet net(device);
  net.compile();
  std::vector<std::size_t> sizes;
  for (const MemorySpan& span : net.t->report().memory) {
    if (span.name == "dropout mask") sizes.push_back(span.bytes);
  }
  return sizes;
}

TEST_F(Engines, AMaskIsAByteAnElement) {
  EXPECT_EQ(mask_bytes(Device::gpu()), (std::vector<std::size_t>{8 * 16}));
  EXPECT_TRUE(mask_bytes(kernels_).empty());
}

TEST_F(Engines, AKernelUnitThatFailsNamesItsLayer) {
  SmallNet net(kernels_);
  net.compile();
  net.step().wait();
  emulator::commit_and_continue_every(0);
  emulator::fail_command_buffer(/*code=*/1, /*after=*/1);
  const ErrorInfo error = error_of<DeviceError>([&] { net.step().wait(); });
  EXPECT_EQ(error.node, "drop (forward)");
}

TEST_F(Engines, NoBufferForAKernelIsOutOfMemory) {
  int failures = 0;
  for (int n = 0; n < 400; ++n) {
    SmallNet net(kernels_);
    net.compile();
    emulator::fail_allocation(n);
    try {
      net.step().wait();
    } catch (const OutOfMemoryError&) {
      ++failures;
      emulator::reset_faults();
      net.step().wait();
      continue;
    }
    emulator::reset_faults();
    break;
  }
  EXPECT_GT(failures, 10);
}

}  // namespace
}  // namespace traingraph::testing
