// SPDX-License-Identifier: MIT
// The update kernels as C++ against the CPU's steps, bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cpu/ops/update_steps.h"
#include "graph/op_def.h"
#include "metal/kernels/sources.h"
#include "metal/kernels/update.h"

// The shading language's keywords are macros in it.
#include <metal_stdlib>

// The emulator's own copy has another name.
namespace update_kernel_test {
using namespace ::metal;
#include "metal/kernels/update.metal"
}  // namespace update_kernel_test
#undef kernel
#undef device
#undef constant
#undef thread

namespace traingraph::metal {
namespace {

using Floats = std::vector<float>;
namespace shader = update_kernel_test;

// The number of slots; parameter and gradient are apart.
constexpr int kNumSlots = 3;
constexpr float kUntouched = -7;

/// Some memory of a device, one vector for each buffer.
using Memory = std::vector<Floats>;

/// All threads of a launch, and some to spare.
void run(const UpdateLaunch& launch, Memory& memory) {
  const formulas::UpdateCall& call = launch.call;
  const std::vector<formulas::UpdateTensor>& table = launch.tensors;
  float* at[kNumUpdateBuffers];
  for (int b = 0; b < kNumUpdateBuffers; ++b) {
    at[b] = launch.buffers[b] < 0 ? nullptr : memory[launch.buffers[b]].data();
  }
  const auto num_threads = static_cast<std::uint32_t>(
      formulas::kThreadsPerChunk * launch.num_chunks + 1000);
  for (std::uint32_t id = 0; id < num_threads; ++id) {
    switch (launch.op) {
#define UPDATE(Op, name, Step)                                          \
  case OpKind::Op:                                                      \
    shader::name(at[0], at[1], at[2], at[3], at[4], at[5], at[6], call, \
                 table.data(), id);                                     \
    break;
      TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
      default:
        shader::accumulate_gradient(at[kUpdatedParameter], at[kUpdateGradient],
                                    at[kUpdateHyperparameters], call,
                                    table.data(), id);
    }
  }
}

/// Draws attributes and numbers, and says what it drew when a check fails.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int end) { return static_cast<int>(engine_() % end); }
  bool flip() { return below(2) == 0; }
  float number(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(engine_);
  }
  Floats numbers(std::int64_t count, float low, float high) {
    Floats all(count);
    for (float& x : all) x = number(low, high);
    return all;
  }

 private:
  std::mt19937 engine_;
};

template <class Attrs>
void draw_preparation(Random& random, Attrs& attrs) {
  attrs.clips_by_value = random.flip();
  attrs.gradient_clip_min = random.number(-0.9f, 0);
  attrs.gradient_clip_max = random.number(0, 0.9f);
  attrs.gradient_rescale = random.flip() ? 1 : random.number(0.1f, 2);
  attrs.lr_scale = random.flip() ? 1 : random.number(0, 2);
  attrs.regularization_type = static_cast<RegularizationType>(random.below(3));
  attrs.regularization_scale = random.number(0, 0.3f);
}

Attributes draw_attrs(Random& random, OpKind op) {
  if (op == OpKind::SgdUpdate) {
    SgdUpdateAttrs attrs;
    draw_preparation(random, attrs);
    attrs.momentum_scale = random.flip() ? 0 : random.number(0.1f, 0.99f);
    attrs.uses_nesterov_momentum = random.flip();
    return attrs;
  }
  if (op == OpKind::AdamUpdate) {
    AdamUpdateAttrs attrs;
    draw_preparation(random, attrs);
    attrs.uses_amsgrad = random.flip();
    attrs.decoupled_decay = random.flip();
    attrs.epsilon = random.flip() ? 1e-8f : 1e-3f;
    return attrs;
  }
  RmspropUpdateAttrs attrs;
  draw_preparation(random, attrs);
  attrs.momentum_scale = random.flip() ? 0 : random.number(0.1f, 0.99f);
  attrs.is_centered = random.flip();
  return attrs;
}

/// One update among those of a launch: a node, its numbers, what it must give.
struct Case {
  Program program;
  std::int64_t count = 0;
  Floats p, g, slots[kNumSlots], hyperparameters, scale;
  bool has_scale = false;

  const Node& node() const { return program.node(0); }
};

/// Does the node have the slot, by its inputs?
bool has_slot(OpKind op, const Attributes& attrs, int input) {
  if (op == OpKind::SgdUpdate) {
    return std::get<SgdUpdateAttrs>(attrs).momentum_scale != 0;
  }
  if (op == OpKind::AdamUpdate) {
    return input != 4 || std::get<AdamUpdateAttrs>(attrs).uses_amsgrad;
  }
  const auto& rms = std::get<RmspropUpdateAttrs>(attrs);
  return input == 2 || (input == 3 ? rms.momentum_scale != 0 : rms.is_centered);
}

Case draw_case(Random& random, OpKind op, const Attributes& attrs,
               bool has_scale) {
  Case c;
  c.count = 1 + random.below(random.flip() ? 40 : 3000);
  c.has_scale = has_scale;
  c.p = random.numbers(c.count, -1, 1);
  c.p[random.below(static_cast<int>(c.count))] = 0;  // it has no sign
  c.g = random.numbers(c.count, -2, 2);
  if (random.below(4) == 0) {
    constexpr float kOdd[] = {std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity(), -0.0f};
    c.g[random.below(static_cast<int>(c.count))] = kOdd[random.below(3)];
  }
  c.slots[0] = random.numbers(c.count, op == OpKind::RmspropUpdate ? 0 : -1, 1);
  c.slots[1] = random.numbers(c.count, op == OpKind::AdamUpdate ? 0 : -1, 1);
  c.slots[2] = random.numbers(c.count, op == OpKind::AdamUpdate ? 0 : -1, 1);
  const int last_slot = op == OpKind::SgdUpdate ? 2 : 4;
  std::vector<ValueId> inputs;
  const auto add = [&](Role role, Shape shape) {
    inputs.push_back(c.program.add_value(role, {std::move(shape)}, "value"));
  };
  add(Role::Variable, {c.count});
  add(Role::Input, {c.count});
  for (int input = 2; input <= last_slot; ++input) {
    if (has_slot(op, attrs, input)) {
      add(Role::Variable, {c.count});
    } else {
      inputs.push_back(kNoValue);
    }
  }
  add(Role::Input, {4});
  if (has_scale) {
    add(Role::Input, {1});
  } else {
    inputs.push_back(kNoValue);
  }
  c.program.append(op, attrs, inputs, "update");
  return c;
}

/// Updates in place by the CPU's loops.
void step_on_cpu(Case& c) {
  const formulas::Hyperparameters now{.learning_rate = c.hyperparameters[0],
                                      .corrected_rate = c.hyperparameters[1],
                                      .clips = c.hyperparameters[2]};
  const auto params = update_params(c.node());
  const auto apply_all = [&]<class Step>(std::type_identity<Step>) {
    const Step step(params, now, c.has_scale ? c.scale[0] : 1.0f, {});
    const cpu::Slots slots{c.slots[0].data(), c.slots[1].data(),
                           c.slots[2].data()};
    for (std::int64_t i = 0; i < c.count; ++i) {
      cpu::apply(step, c.g[i], c.p[i], slots, i);
    }
  };
  switch (c.node().op->kind) {
#define UPDATE(Op, name, Step)                                 \
  case OpKind::Op:                                             \
    cpu::with_step<formulas::Step>(params.options, apply_all); \
    break;
    TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
    default:
      FAIL() << "no optimizer";
  }
}

/// Lays numbers out in buffers, with gaps.
class Layout {
 public:
  Layout(Random& random, Memory& memory) : random_(random), memory_(memory) {}

  UpdateTask::Place put(int buffer, const Floats& values) {
    Floats& to = memory_[buffer];
    to.insert(to.end(), random_.below(70), kUntouched);
    const std::size_t offset = to.size() * sizeof(float);
    to.insert(to.end(), values.begin(), values.end());
    return {buffer, offset};
  }

 private:
  Random& random_;
  Memory& memory_;
};

// Buffers: parameters, gradients, slots (all three), hyperparameters and
// scales.
enum { kOfParameters, kOfGradients, kOfSlots, kOfHyperparameters, kNumBuffers };

UpdateTask task_of(Case& c, Layout& layout) {
  UpdateTask task;
  task.spec = update_spec(c.program, c.node());
  const auto put = [&](UpdateBuffer b, int buffer, const Floats& values) {
    if (task.spec.inputs[b] >= 0) task.places[b] = layout.put(buffer, values);
  };
  put(kUpdatedParameter, kOfParameters, c.p);
  put(kUpdateGradient, kOfGradients, c.g);
  for (int s = 0; s < kNumSlots; ++s) {
    put(static_cast<UpdateBuffer>(kUpdateSlots + s), kOfSlots, c.slots[s]);
  }
  put(kUpdateHyperparameters, kOfHyperparameters, c.hyperparameters);
  put(kUpdateScale, kOfHyperparameters, c.scale);
  return task;
}

void expect_bits(const Floats& memory, const UpdateTask::Place& place,
                 const Floats& expected, const char* what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float got = memory[place.offset / sizeof(float) + i];
    if (std::isnan(expected[i]) && std::isnan(got)) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got),
              std::bit_cast<std::uint32_t>(expected[i]))
        << what << '[' << i << "]: " << got << " for " << expected[i];
  }
}

std::size_t num_untouched(const Memory& memory) {
  std::size_t count = 0;
  for (const Floats& buffer : memory) {
    count += std::ranges::count(buffer, kUntouched);
  }
  return count;
}

void expect_like_cpu(unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  constexpr OpKind kOps[] = {OpKind::SgdUpdate, OpKind::AdamUpdate,
                             OpKind::RmspropUpdate};
  const OpKind op = kOps[random.below(3)];
  const Attributes attrs = draw_attrs(random, op);
  const bool has_scale = random.flip(), clips = random.flip();
  const Floats hyperparameters{0.05f, 0.03f, clips ? 1.0f : 0.0f, 0};
  Memory memory(kNumBuffers);
  Layout layout(random, memory);
  std::vector<Case> cases;
  std::vector<UpdateTask> tasks;
  const int num_tensors = 1 + random.below(6);
  for (int t = 0; t < num_tensors; ++t) {
    Case& c = cases.emplace_back(draw_case(random, op, attrs, has_scale));
    c.hyperparameters = hyperparameters;
    c.scale = {random.number(0.2f, 1)};
    tasks.push_back(task_of(c, layout));
  }
  const std::size_t untouched = num_untouched(memory);
  const auto launches = plan_updates(tasks, kUpdateLimits);
  EXPECT_EQ(launches.size(), 1u);
  for (const UpdateLaunch& launch : launches) run(launch, memory);
  for (int t = 0; t < num_tensors; ++t) {
    Case& c = cases[t];
    step_on_cpu(c);
    const auto& places = tasks[t].places;
    expect_bits(memory[kOfParameters], places[kUpdatedParameter], c.p,
                "parameter");
    for (int s = 0; s < kNumSlots; ++s) {
      if (places[kUpdateSlots + s].buffer < 0) continue;
      expect_bits(memory[kOfSlots], places[kUpdateSlots + s], c.slots[s],
                  "slot");
    }
    expect_bits(memory[kOfGradients], places[kUpdateGradient], c.g, "gradient");
  }
  EXPECT_EQ(num_untouched(memory), untouched);
}

TEST(UpdateKernels, GiveTheBitsOfTheCpu) {
  for (unsigned seed = 1; seed <= 400; ++seed) {
    expect_like_cpu(seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(UpdateKernels, AccumulateStartsOverWhateverWasThere) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (float keep : {0.0f, 1.0f, 0.5f}) {
    Memory memory{{kNan, 3, -4}, {2, 5, 7}, {9, keep, 0.25f}};
    UpdateTask task;
    task.spec.op = OpKind::AccumulateGradient;
    task.spec.count = 3;
    task.places[kUpdatedParameter] = {0, 0};
    task.places[kUpdateGradient] = {1, 0};
    task.places[kUpdateHyperparameters] = {2, sizeof(float)};
    const auto launches = plan_updates(std::vector{task}, kUpdateLimits);
    ASSERT_EQ(launches.size(), 1u);
    run(launches[0], memory);
    EXPECT_EQ(std::isnan(memory[0][0]), keep != 0);
    if (keep == 0) {
      EXPECT_EQ(memory[0][0], 0.5f);
    }
    EXPECT_EQ(memory[0][1], keep * 3 + 1.25f);
    EXPECT_EQ(memory[0][2], keep * -4 + 1.75f);
  }
}

TEST(UpdateKernels, SourceIsWhatMetalCompiles) {
  const std::string source = kUpdateSource;
  EXPECT_NE(source.find("#include <metal_stdlib>\n"), source.npos);
  EXPECT_NE(source.find("#pragma METAL fp contract(off)\n"), source.npos);
  for (int i = static_cast<int>(kFirstUpdateKernel); i < kNumKernels; ++i) {
    const std::string name = kKernelNames[i];
    EXPECT_NE(source.find(name), source.npos) << name;
  }
  EXPECT_EQ(source.find("#include \""), source.npos);
}

}  // namespace
}  // namespace traingraph::metal
