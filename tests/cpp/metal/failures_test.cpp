// SPDX-License-Identifier: MIT
// Failures while training, at every place in turn: each arrives with the right
// type where it belongs, changes no parameter, and the next step is right.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "metal/gpu_test.h"

namespace traingraph {
namespace {

using namespace testing;

class Failures : public GpuTest {};

// MTLCommandBufferError
enum Code { kInternal = 1, kTimeout = 2, kOutOfMemory = 8 };
constexpr int kCodes[] = {1, 2, 3, 4, 7, 8, 9, 10, 11, 12};

/// MPSGraph does with one command buffer per executable.
void fail_whole_command_buffer(int code, int after) {
  emulator::commit_and_continue_every(0);
  emulator::fail_command_buffer(code, after);
}

/// Calls, and once more when it throws `ErrorType`; `check` sees the error.
template <class ErrorType, class Call, class Check>
int try_twice(Call call, Check check) {
  try {
    call();
    return 0;
  } catch (const ErrorType& error) {
    check(error);
  }
  call();
  return 1;
}

/// Everything one does with a graph, each call despite an error. How many?
template <class ErrorType, class Check>
int do_all_despite(SmallNet& net, Check check) {
  int errors = 0;
  const auto attempt = [&](auto call) {
    errors += try_twice<ErrorType>(call, check);
  };
  attempt([&] { net.compile(); });
  attempt([&] { net.step({.synchronous = true}); });
  attempt([&] { net.step({.batch_size = 4, .synchronous = true}); });
  // Staging buffers, while earlier work is in flight.
  for (int i = 0; i < 3; ++i) attempt([&] { net.step(); });
  attempt([&] { net.forward(); });
  attempt([&] { net.t->execute_gradient(); });
  attempt([&] { net.t->execute_optimizer_update(); });
  attempt([&] { net.infer(); });
  attempt([&] { net.parameters(); });
  net.t->memory();
  return errors;
}

/// `arm(n)` lets the n-th event fail; until no n fails anything any more.
template <class ErrorType, class Arm, class Check>
int do_all_despite_each(Arm arm, Check check) {
  SmallNet cpu(Device::cpu());
  do_all_despite<Error>(cpu, [](const Error& e) { ADD_FAILURE() << e.what(); });
  const Floats expected = cpu.parameters(), prediction = cpu.infer();
  for (int n = 0;; ++n) {
    emulator::reset_faults();
    emulator::delay_completion(0.001);
    arm(n);
    SmallNet gpu(Device::gpu());
    const int errors = do_all_despite<ErrorType>(gpu, check);
    emulator::reset_faults();
    expect_near(gpu.parameters(), expected, 1e-5);
    expect_near(gpu.infer(), prediction, 1e-5);
    if (errors == 0) return n;
    EXPECT_EQ(errors, 1);
    if (::testing::Test::HasFailure()) return n;
  }
}

TEST_F(Failures, NoMemoryAnywhere) {
  const int places = do_all_despite_each<OutOfMemoryError>(
      [](int n) { emulator::fail_allocation(n); },
      [](const Error& error) { EXPECT_FALSE(error.node().empty()); });
  EXPECT_GT(places, 40);
}

TEST_F(Failures, TheCompilerFailsAnywhere) {
  const int places = do_all_despite_each<DeviceError>(
      [](int n) { emulator::fail_compile(n); }, expect_names_layers);
  EXPECT_GE(places, 6);  // of the plans that run
}

TEST_F(Failures, MPSGraphRefusesANode) {
  for (const char* op : {"matrixMultiplication", "multiplication"}) {
    const auto arm = [&](int n) { emulator::raise_in_operation(op, n); };
    const int places =
        do_all_despite_each<UnsupportedError>(arm, [](const Error& error) {
          EXPECT_FALSE(error.node().empty());
          EXPECT_FALSE(error.op().empty());
          EXPECT_NE(error.got().find("fails on demand"), std::string::npos);
        });
    EXPECT_GE(places, 8) << op;
  }
}

/// Twins, of which one meets failures between steps that both do.
class FailingSteps : public Failures {
 protected:
  /// Lets the n-th event of `call` fail, for each n; `call` is made again
  /// after each failure and then must do what it does on the CPU.
  template <class ErrorType, class Arm, class Call, class Check>
  int repeat_despite_each(Arm arm, Call call, Check check) {
    Twins twins(options_);
    for (int n = 0;; ++n) {
      call(twins.gpu);
      call(twins.cpu);
      twins.expect_equal();
      const Floats before = twins.gpu.parameters();
      const long buffers = emulator::counters().command_buffers;
      arm(n);
      const bool failed = try_once<ErrorType>(twins.gpu, call, check);
      const bool was_met =
          failed || (fails_buffers_ &&
                     emulator::counters().command_buffers - buffers > n);
      emulator::reset_faults();
      if (!was_met || HasFailure()) return n;
      if (!failed) {
        // Copies that the host made instead.
        call(twins.cpu);
        continue;
      }
      EXPECT_EQ(twins.gpu.parameters(), before) << "after failure " << n;
      twins.align();
    }
  }
  CompileOptions options_;
  bool fails_buffers_ = false;  // what arm() does

 private:
  template <class ErrorType, class Call, class Check>
  static bool try_once(SmallNet& net, Call call, Check check) {
    try {
      call(net);
    } catch (const ErrorType& error) {
      check(error);
      return true;
    }
    return false;
  }
};

void step(SmallNet& net) { net.step().wait(); }
void phases(SmallNet& net) { net.phases(); }

TEST_F(FailingSteps, EncodingRaises) {
  const auto arm = [](int n) { emulator::raise_in_encode(n); };
  const auto check = [](const Error& error) {
    expect_names_layers(error);
    EXPECT_NE(error.got().find("fails on demand"), std::string::npos);
  };
  EXPECT_EQ(repeat_despite_each<DeviceError>(arm, step, check), 1);
  // The update has kernels alone, and no executable.
  EXPECT_EQ(repeat_despite_each<DeviceError>(arm, phases, check), 2);
  options_.max_gpu_ms = 1e-9;
  EXPECT_GT(repeat_despite_each<DeviceError>(arm, phases, check), 8);
}

TEST_F(FailingSteps, ACommandBufferFails) {
  for (int code : kCodes) {
    if (code == kOutOfMemory) continue;
    const auto arm = [&](int n) { fail_whole_command_buffer(code, n); };
    const auto check = [&](const Error& error) {
      expect_names_layers(error);
      EXPECT_NE(error.got().find("code " + std::to_string(code)),
                std::string::npos);
      const bool has_hint =
          error.info().hint.find("max_gpu_ms") != std::string::npos;
      EXPECT_EQ(has_hint, code == kTimeout);
    };
    EXPECT_EQ(repeat_despite_each<DeviceError>(arm, phases, check), 3);
  }
}

TEST_F(FailingSteps, TheGPURunsOutOfMemory) {
  const auto arm = [](int n) { fail_whole_command_buffer(kOutOfMemory, n); };
  for (const auto& call : {step, phases}) {
    const int places =
        repeat_despite_each<OutOfMemoryError>(arm, call, expect_names_layers);
    EXPECT_EQ(places, call == step ? 1 : 3);
  }
}

// It may go on with another one several times per executable, of which the
// update has none.
TEST_F(FailingSteps, AnyOfTheBuffersThatMPSGraphUsesFails) {
  fails_buffers_ = true;
  const auto arm = [](int n) {
    emulator::commit_and_continue_every(1, 3);
    emulator::fail_command_buffer(kInternal, n);
  };
  for (const auto& call : {step, phases}) {
    const int places =
        repeat_despite_each<DeviceError>(arm, call, expect_names_layers);
    EXPECT_GE(places, call == step ? 4 : 9);
  }
}

TEST_F(FailingSteps, TheFirstOfBuffersThatNobodyToldOfFails) {
  SmallNet net(Device::gpu());
  net.compile();
  step(net);
  const Floats before = net.parameters();
  emulator::commit_and_continue_every(1);
  emulator::commit_silently(true);
  emulator::fail_command_buffer(kInternal);
  EXPECT_THROW(step(net), DeviceError);
  emulator::reset_faults();
  EXPECT_EQ(net.parameters(), before);
}

// What was committed before the exception works on memory of the submission.
TEST_F(FailingSteps, AnExecutionIsNotOverWhileItsBuffersWork) {
  for (bool is_silent : {false, true}) {
    SmallNet net(Device::gpu());
    net.compile();
    step(net);
    std::atomic<bool> is_over = false;
    emulator::corrupt_operation("matrixMultiplication", [&](auto&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      is_over = true;
    });
    emulator::commit_and_continue_every(1);
    emulator::commit_silently(is_silent);
    emulator::raise_in_encode();
    EXPECT_THROW(step(net), DeviceError);
    EXPECT_TRUE(is_over);
    emulator::wait_until_idle();
    emulator::reset_faults();
  }
}

TEST_F(FailingSteps, AnyOfManyPiecesFails) {
  fails_buffers_ = true;
  options_.max_gpu_ms = 1e-9;
  const auto arm = [](int n) { fail_whole_command_buffer(kInternal, n); };
  EXPECT_GT(repeat_despite_each<DeviceError>(arm, phases, expect_names_layers),
            8);
}

TEST_F(FailingSteps, AFailedStepLeavesTheStatisticsAlone) {
  for (int every : {0, 1}) {
    Twins twins;
    step(twins.gpu);
    const Floats before = twins.gpu.statistics();
    emulator::commit_and_continue_every(every);
    emulator::fail_command_buffer(kInternal);
    EXPECT_THROW(step(twins.gpu), DeviceError);
    emulator::reset_faults();
    EXPECT_EQ(twins.gpu.statistics(), before);
  }
}

TEST_F(Failures, AFailedPhaseFailsThoseThatFollow) {
  for (int failing = 0; failing < 3; ++failing) {
    Twins twins;
    for (SmallNet* net : {&twins.gpu, &twins.cpu}) net->phases();
    const Floats before = twins.gpu.parameters();
    emulator::delay_completion(0.002);
    fail_whole_command_buffer(kInternal, failing);
    const Execution executions[] = {twins.gpu.forward(),
                                    twins.gpu.t->execute_gradient(),
                                    twins.gpu.t->execute_optimizer_update()};
    for (int phase = 0; phase < failing; ++phase) executions[phase].wait();
    for (int phase = failing; phase < 3; ++phase) {
      EXPECT_THROW(executions[phase].wait(), DeviceError) << phase;
    }
    emulator::reset_faults();
    EXPECT_EQ(twins.gpu.parameters(), before);
    EXPECT_EQ(twins.gpu.t->optimizer()->time_step(),
              twins.cpu.t->optimizer()->time_step());
    twins.align();
    for (SmallNet* net : {&twins.gpu, &twins.cpu}) net->phases();
    twins.expect_equal();
  }
}

TEST_F(Failures, ReadingFailsOnce) {
  Twins twins;
  twins.gpu.step().wait();
  const Floats before = twins.gpu.parameters();
  emulator::fail_command_buffer(kInternal);
  EXPECT_THROW(twins.gpu.parameters(), DeviceError);
  EXPECT_EQ(twins.gpu.parameters(), before);
}

}  // namespace
}  // namespace traingraph
