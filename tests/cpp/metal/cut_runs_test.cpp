// SPDX-License-Identifier: MIT
// Runs that the GPU ends half way: whatever was done until then, the user sees
// all of a run or nothing of it, and the next run is right.
#include <gtest/gtest.h>

#include "metal/net_state.h"
#include "metal/update_net.h"
#include "traingraph/optimizers.h"

namespace traingraph {
namespace {

using namespace testing;

// MTLCommandBufferError
enum Code { kInternal = 1, kTimeout = 2, kIgnored = 4 };

class CutRuns : public UpdateTest {
 protected:
  CutRuns() { emulator::commit_and_continue_every(0); }

  /// Ends the n-th command buffer of `call` after some of its commands, for
  /// every n and number of them; until no n ends anything. Updates in place are
  /// what the host cannot make up for.
  template <class Call>
  void cut_everywhere(const Device& device, const CompileOptions& options,
                      Call call, int min_buffers) {
    int num_failures = 0, num_made_up = 0, num_torn = 0;
    for (const int commands : {0, 1, 2, 3, 5, 8, 1000}) {
      for (int n = 0;; ++n) {
        SCOPED_TRACE(std::to_string(n) + ", " + std::to_string(commands));
        Twins twins(options, device);
        twins.gpu.step().wait();
        twins.cpu.step().wait();
        twins.align();
        const NetState before = state_of(twins.gpu);
        const long buffers = emulator::counters().command_buffers;
        emulator::cut_command_buffer(kTimeout, n, commands);
        bool has_failed = false, has_torn = false;
        try {
          call(twins.gpu);
        } catch (const DeviceError& error) {
          has_failed = true;
          has_torn = is_torn(error);
        }
        device.synchronize();
        emulator::wait_until_idle();
        const bool was_met = emulator::counters().command_buffers - buffers > n;
        emulator::reset_faults();
        emulator::commit_and_continue_every(0);
        num_torn += has_torn ? 1 : 0;
        if (has_failed) {
          ++num_failures;
          EXPECT_EQ(twins.gpu.t->optimizer()->time_step(), before.time_step);
          if (has_torn) restore(twins.gpu, before);
          EXPECT_EQ(state_of(twins.gpu), before);
          twins.align();
          call(twins.gpu);
        } else if (was_met) {
          ++num_made_up;
        }
        call(twins.cpu);
        expect_near(state_of(twins.gpu), state_of(twins.cpu), 1e-5);
        if (!was_met || HasFailure()) {
          EXPECT_GE(n, min_buffers);
          break;
        }
      }
      if (HasFailure()) return;
    }
    EXPECT_GT(num_failures, 0);
    const bool is_in_place = num_made_up == 0;
    EXPECT_EQ(is_in_place, device == Device::gpu());
    // The last command buffer, once for each number of commands.
    EXPECT_EQ(is_in_place ? num_torn : num_made_up, 7);
    if (!is_in_place) {
      EXPECT_EQ(num_torn, 0);
    }
  }
};

void step(SmallNet& net) { net.step().wait(); }

// A step of many pieces: no variable changes before all of them are done.
TEST_F(CutRuns, AStepInPiecesIsAllOrNothing) {
  cut_everywhere(composed, {.max_gpu_ms = 1e-9}, step, /*min_buffers=*/12);
  cut_everywhere(Device::gpu(), {.max_gpu_ms = 1e-9}, step, 12);
}

TEST_F(CutRuns, AStepInAFewPiecesIsAllOrNothing) {
  cut_everywhere(composed, {.max_gpu_ms = 2e-4}, step, /*min_buffers=*/3);
  cut_everywhere(Device::gpu(), {.max_gpu_ms = 2e-4}, step, 3);
}

TEST_F(CutRuns, AnUpdateInPiecesIsAllOrNothing) {
  Twins twins({.max_gpu_ms = 1e-9}, composed);
  for (SmallNet* net : {&twins.gpu, &twins.cpu}) net->phases();
  for (int n = 0;; ++n) {
    for (SmallNet* net : {&twins.gpu, &twins.cpu}) {
      net->forward();
      net->t->execute_gradient().wait();
    }
    const Floats before = twins.gpu.parameters();
    const long buffers = emulator::counters().command_buffers;
    emulator::cut_command_buffer(kInternal, n, 1);
    bool has_failed = false;
    try {
      twins.gpu.t->execute_optimizer_update().wait();
    } catch (const DeviceError&) {
      has_failed = true;
    }
    emulator::wait_until_idle();
    const bool was_met = emulator::counters().command_buffers - buffers > n;
    emulator::reset_faults();
    emulator::commit_and_continue_every(0);
    if (has_failed) {
      EXPECT_EQ(twins.gpu.parameters(), before) << n;
    } else {
      twins.cpu.t->execute_optimizer_update().wait();
      twins.expect_equal();
    }
    if (!was_met) {
      EXPECT_GE(n, 3);
      return;
    }
    if (HasFailure()) return;
    if (has_failed) {
      for (SmallNet* net : {&twins.gpu, &twins.cpu}) net->phases();
      twins.expect_equal();
    }
  }
}

// One that the driver may end at any moment.
TEST_F(CutRuns, ALongStepInOnePieceIsAllOrNothing) {
  const auto device = metal::make_context([](metal::GpuLimits& limits) {
    limits.flops_per_second = 1;
    limits.uses_update_kernels = false;
  });
  ASSERT_TRUE(device);
  for (const int commands : {0, 1, 2, 3, 5, 1000}) {
    for (int n = 0; n < 2; ++n) {
      SmallNet net(Device(device), {.max_gpu_ms = 0});
      net.compile();
      step(net);
      step(net);
      const NetState before = state_of(net);
      emulator::cut_command_buffer(kTimeout, n, commands);
      bool has_failed = false;
      try {
        step(net);
      } catch (const DeviceError&) {
        has_failed = true;
      }
      emulator::reset_faults();
      emulator::commit_and_continue_every(0);
      EXPECT_EQ(has_failed, n == 0);
      const NetState after = state_of(net);
      EXPECT_EQ(after == before, has_failed);
      EXPECT_EQ(after.time_step, before.time_step + (has_failed ? 0 : 1));
      step(net);
    }
  }
  device->drain();
}

TEST_F(CutRuns, TheWatchdogsErrorsHaveAHint) {
  const struct {
    int code;
    const char* text;
  } errors[] = {
      {kTimeout, ""},
      {14, ""},
      {kInternal, "Impacting Interactivity (0000000e:kIOGPUCommandBuffer...)"},
      {kInternal, "Internal Error (0000000e:Internal Error)"},
      {9, "kIOGPUCommandBufferCallbackErrorImpactingInteractivity"},
  };
  SmallNet net(Device::gpu());
  net.compile();
  for (const auto& [code, text] : errors) {
    emulator::cut_command_buffer(code, 0, 0, text);
    const ErrorInfo error = error_of<DeviceError>([&] { step(net); });
    EXPECT_NE(error.hint.find("max_gpu_ms"), std::string::npos) << code << text;
    EXPECT_NE(error.got.find(text), std::string::npos);
  }
  emulator::cut_command_buffer(kInternal, 0, 0, "Internal Error (00000001)");
  const ErrorInfo error = error_of<DeviceError>([&] { step(net); });
  EXPECT_EQ(error.hint.find("max_gpu_ms"), std::string::npos);
}

// Once there were too many errors, macOS ignores a queue for good.
TEST_F(CutRuns, AfterIgnoredSubmissionsWorkGoesOn) {
  for (const char* text :
       {"",
        "Ignored (00000004:kIOGPUCommandBufferCallbackErrorSubmissions"
        "Ignored)"}) {
    Twins twins;
    for (SmallNet* net : {&twins.gpu, &twins.cpu}) step(*net);
    emulator::ignore_after_failure(true);
    emulator::cut_command_buffer(kTimeout, 0, 0, text);
    EXPECT_THROW(step(twins.gpu), DeviceError);
    twins.align();
    emulator::ignore_after_failure(false);  // what is dead stays dead
    int errors = 0;
    for (int i = 0; i < 5; ++i) {
      try {
        step(twins.gpu);
      } catch (const DeviceError& error) {
        ++errors;
        EXPECT_NE(error.info().hint.find("new queue"), std::string::npos);
        twins.align();
        continue;
      }
      step(twins.cpu);
    }
    EXPECT_LE(errors, 1);
    twins.expect_equal();
  }
}

TEST_F(CutRuns, ManyInFlightMeetAQueueThatIsIgnored) {
  Twins twins;
  for (SmallNet* net : {&twins.gpu, &twins.cpu}) step(*net);
  emulator::hold_work(true);
  emulator::ignore_after_failure(true);
  emulator::cut_command_buffer(kTimeout, 3, 0);
  std::vector<Execution> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(twins.gpu.step());
  emulator::hold_work(false);
  int errors = 0;
  for (const Execution& run : runs) {
    try {
      run.wait();
    } catch (const DeviceError&) {
      ++errors;
    }
  }
  EXPECT_GE(errors, 1);
  EXPECT_LE(errors, 9);
  emulator::reset_faults();
  step(twins.gpu);
  for (float value : twins.gpu.parameters()) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace traingraph
