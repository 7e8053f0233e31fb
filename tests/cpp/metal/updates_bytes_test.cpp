// SPDX-License-Identifier: MIT
// What updates in place save: memory, as planned and reported, bytes that are
// moved, and commands.
#include <gtest/gtest.h>

#include "metal/update_net.h"
#include "runtime/device/device_context.h"
#include "support/run_program.h"

namespace traingraph::testing {
namespace {

class UpdatesBytes : public UpdateTest {};

constexpr int kLayers = 50;  // 100 tensors

OptimizerPtr adam() { return std::make_shared<optimizers::Adam>(0.01f); }

struct Commands {
  long dispatches, copies, executables;
  bool operator==(const Commands&) const = default;
};

template <class Call>
Commands commands_of(const Call& call) {
  Device::gpu().synchronize();
  emulator::wait_until_idle();
  emulator::commit_and_continue_every(0);
  const emulator::Counters before = emulator::counters();
  call();
  const emulator::Counters after = emulator::counters();
  return {after.dispatches - before.dispatches, after.copies - before.copies,
          after.executable_runs - before.executable_runs};
}

/// The commands of a step that finds its inputs on the device.
Commands commands_of_a_step(const Device& device) {
  Stack net(device, adam(), kLayers);
  net.compile();
  net.step().wait();
  net.bind();
  return commands_of([&] { net.t->execute({}, {}).wait(); });
}

TEST_F(UpdatesBytes, AHundredTensorsAreTwoLaunchesAndNoCopy) {
  const Commands got = commands_of_a_step(Device::gpu());
  const Commands before = commands_of_a_step(composed);
  EXPECT_EQ(got.dispatches, 2);
  EXPECT_EQ(got.executables, 1);
  EXPECT_EQ(before.dispatches, 0);
  EXPECT_EQ(before.executables, 1);
  // Parameter, momentum, velocity: what is left are the step's own numbers.
  EXPECT_EQ(before.copies - got.copies, 3 * 2 * kLayers);
  EXPECT_LE(got.copies, 5);
}

TEST_F(UpdatesBytes, AnUpdateByItselfHasNoExecutable) {
  Stack net(Device::gpu(), adam(), kLayers);
  net.compile();
  net.phases().wait();
  net.pass();
  const Commands got =
      commands_of([&] { net.t->execute_optimizer_update().wait(); });
  EXPECT_EQ(got.dispatches, 2);
  EXPECT_EQ(got.executables, 0);
}

TEST_F(UpdatesBytes, SumsOfGradientsAreTwoLaunches) {
  Stack net(Device::gpu(), adam(), kLayers, {.accumulate_gradients = true});
  net.compile();
  net.phases().wait();
  net.bind();
  net.t->execute_forward({}, {}).wait();
  const Commands got = commands_of([&] { net.t->execute_gradient().wait(); });
  EXPECT_EQ(got.dispatches, 2);
  EXPECT_EQ(got.executables, 1);
  EXPECT_LE(got.copies, 5);
}

/// Bytes of the parameters, and what they take in an arena.
struct Sizes {
  std::size_t bytes = 0, padded = 0;
};

Sizes sizes_of(const Stack& net) {
  const std::size_t unit = Device::gpu().context()->target().alignment();
  Sizes sizes;
  for (const Tensor& tensor : net.t->parameters()) {
    const std::size_t bytes = 4 * tensor.shape().num_elements();
    sizes.bytes += bytes;
    sizes.padded += (bytes + unit - 1) / unit * unit;
  }
  return sizes;
}

// New values of parameter, momentum and velocity had scratch: 12 bytes for
// each parameter. In a step that runs as one the gradient has memory now, 4
// bytes, which it had inside of MPSGraph before.
TEST_F(UpdatesBytes, ScratchOfNewValuesIsGone) {
  Stack net(Device::gpu(), adam(), kLayers), before(composed, adam(), kLayers);
  net.compile();
  before.compile();
  const Sizes sizes = sizes_of(net);
  const MemoryReport got = net.t->memory(), old = before.t->memory();
  EXPECT_EQ(old.step.workspace_bytes, 3 * sizes.bytes);
  EXPECT_EQ(got.step.workspace_bytes, 0u);
  EXPECT_EQ(old.step.arena_bytes - got.step.arena_bytes, 2 * sizes.padded);
  EXPECT_EQ(old.phases.workspace_bytes, 3 * sizes.bytes);
  EXPECT_EQ(got.phases.workspace_bytes, 0u);
  EXPECT_EQ(old.phases.unplanned_bytes - got.phases.unplanned_bytes,
            3 * sizes.padded);
  EXPECT_EQ(got.phases.gradient_bytes, old.phases.gradient_bytes);
  EXPECT_EQ(got.optimizer_bytes, old.optimizer_bytes);
}

double bytes_of_a_step(const Stack& net) {
  double bytes = 0;
  for (const UnitSpan& unit : net.t->report().units) bytes += unit.cost.bytes;
  return bytes;
}

TEST_F(UpdatesBytes, ReportsSayWhatIsMoved) {
  Stack net(Device::gpu(), adam(), kLayers), before(composed, adam(), kLayers);
  net.compile();
  before.compile();
  EXPECT_EQ(bytes_of_a_step(before) - bytes_of_a_step(net),
            16.0 * net.num_parameters());
}

/// The bytes for each parameter that one unit moves which computes a gradient
/// from x and updates by it, but for those of x and of the hyperparameters.
double bytes_for_a_parameter(const Device& device) {
  constexpr std::int64_t kCount = 1024;
  Program program;
  const auto variable = [&](const char* name) {
    return program.add_value(Role::Variable, {{kCount}}, name);
  };
  const ValueId x = program.add_value(Role::Input, {{kCount}}, "x"),
                hyperparameters =
                    program.add_value(Role::Input, {{4}}, "hyperparameters"),
                p = variable("p"), m = variable("m"), v = variable("v");
  const ValueId g = program.append_one(
      OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Sin}, {x}, "g");
  program.append(OpKind::AdamUpdate, AdamUpdateAttrs{},
                 {p, g, m, v, kNoValue, hyperparameters, kNoValue}, "update");
  const ProgramRun run(program, {}, device.context());
  const LoweredProgram& lowered = run.lowered();
  EXPECT_EQ(lowered.units.size(), 1u);
  const Unit& unit = lowered.units.at(0);
  std::size_t bytes = 0;
  for (const auto* list : {&unit.reads, &unit.writes, &unit.scratch}) {
    for (StorageId id : *list) {
      const Storage& storage = lowered.storages[id];
      const bool is_again = list != &unit.reads && storage.is_read_back;
      bytes += storage.bytes * (is_again ? 2 : 1);
    }
  }
  return static_cast<double>(bytes - 4 * kCount - 16) / kCount;
}

TEST_F(UpdatesBytes, AdamMoves32BytesForAParameter) {
  EXPECT_EQ(bytes_for_a_parameter(composed), 48);
  EXPECT_EQ(bytes_for_a_parameter(Device::gpu()), 32);
}

}  // namespace
}  // namespace traingraph::testing
