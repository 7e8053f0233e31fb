// SPDX-License-Identifier: MIT
#include "lowering/update_table.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "graph/op_def.h"
#include "ops/update.h"

namespace traingraph {
namespace {

using formulas::UpdateParams;
using formulas::UpdateTensor;

bool has(const Node& node, int input) {
  return input < static_cast<int>(node.inputs.size()) &&
         node.inputs[input] != kNoValue;
}

/// Is there a slot named "momentum"?
bool has_momentum(const Node& node) {
  const auto& inputs = node.op->inputs;
  const auto found = std::ranges::find_if(inputs, [](const InputDef& input) {
    return std::string_view(input.name) == "momentum";
  });
  return found != inputs.end() &&
         has(node, static_cast<int>(found - inputs.begin()));
}

/// The number of a place's first element in its buffer.
std::uint64_t element(const UpdateTask::Place& place) {
  return place.offset / sizeof(float);
}

UpdateTensor tensor_of(const UpdateTask& task, std::int64_t first_chunk) {
  const auto& places = task.places;
  UpdateTensor tensor{
      .parameter = element(places[kUpdatedParameter]),
      .gradient = element(places[kUpdateGradient]),
      .slots = {},
      .hyperparameters = element(places[kUpdateHyperparameters]),
      .scale = element(places[kUpdateScale]),
      .first_chunk = static_cast<std::uint32_t>(first_chunk),
      .count = static_cast<std::uint32_t>(task.spec.count)};
  for (int s = 0; s < formulas::kMaxUpdateSlots; ++s) {
    tensor.slots[s] = element(places[kUpdateSlots + s]);
  }
  return tensor;
}

std::int64_t num_chunks(const UpdateTask& task) {
  constexpr std::int64_t kChunk = formulas::kElementsPerChunk;
  return (task.spec.count + kChunk - 1) / kChunk;
}

UpdateLaunch empty_launch(const UpdateTask& task) {
  UpdateLaunch launch{.op = task.spec.op,
                      .call = {task.spec.params, 0},
                      .tensors = {},
                      .buffers = {}};
  for (int i = 0; i < kNumUpdateBuffers; ++i) {
    launch.buffers[i] = task.places[i].buffer;
  }
  return launch;
}

bool are_equal(const UpdateParams& a, const UpdateParams& b) {
  using Words = std::array<std::uint32_t, sizeof(UpdateParams) / 4>;
  return std::bit_cast<Words>(a) == std::bit_cast<Words>(b);
}

/// May the task join the launch?
bool takes(const UpdateLaunch& launch, const UpdateTask& task,
           const UpdateLimits& limits) {
  const UpdateLaunch own = empty_launch(task);
  return launch.op == own.op &&
         are_equal(launch.call.params, own.call.params) &&
         launch.buffers == own.buffers &&
         launch.tensors.size() < limits.num_tensors &&
         launch.num_chunks + num_chunks(task) <= limits.num_chunks;
}

}  // namespace

UpdateParams update_params(const Node& node) {
  UpdateParams params = update_params(node.attrs, has_momentum(node));
  const bool has_scale = update_inputs(node)[kUpdateScale] >= 0;
  if (has_scale) params.options |= formulas::kHasScale;
  return params;
}

std::array<int, kNumUpdateBuffers> update_inputs(const Node& node) {
  std::array<int, kNumUpdateBuffers> inputs{};
  inputs.fill(-1);
  const auto set = [&](int buffer, int input) {
    if (has(node, input)) inputs[buffer] = input;
  };
  set(kUpdatedParameter, 0);
  set(kUpdateGradient, 1);
  if (node.op->kind == OpKind::AccumulateGradient) {
    set(kUpdateHyperparameters, 2);
    return inputs;
  }
  const int scale = static_cast<int>(node.op->inputs.size()) - 1;
  for (int i = 2; i < scale - 1; ++i) set(kUpdateSlots + i - 2, i);
  set(kUpdateHyperparameters, scale - 1);
  set(kUpdateScale, scale);
  return inputs;
}

bool has_update_launch(const Program& program, const Node& node,
                       const UpdateLimits& limits) {
  const OpKind op = node.op->kind;
  if (op != OpKind::AccumulateGradient && !is_optimizer_update(op)) {
    return false;
  }
  const TensorDescriptor& parameter = program.desc(node.inputs[0]);
  return parameter.data_type == DataType::Float32 &&
         parameter.shape.num_elements() <=
             limits.num_chunks * formulas::kThreadsPerChunk;
}

UpdateSpec update_spec(const Program& program, const Node& node) {
  UpdateSpec spec;
  spec.op = node.op->kind;
  spec.count = program.shape(node.inputs[0]).num_elements();
  spec.inputs = update_inputs(node);
  if (is_optimizer_update(spec.op)) spec.params = update_params(node);
  return spec;
}

std::vector<UpdateLaunch> plan_updates(std::span<const UpdateTask> tasks,
                                       const UpdateLimits& limits) {
  std::vector<UpdateLaunch> launches;
  for (bool accumulates : {true, false}) {
    for (const UpdateTask& task : tasks) {
      const bool is_sum = task.spec.op == OpKind::AccumulateGradient;
      if (is_sum != accumulates || task.spec.count == 0) continue;
      auto to = std::ranges::find_if(launches, [&](const UpdateLaunch& launch) {
        return takes(launch, task, limits);
      });
      if (to == launches.end()) {
        launches.push_back(empty_launch(task));
        to = launches.end() - 1;
      }
      to->tensors.push_back(tensor_of(task, to->num_chunks));
      to->num_chunks += num_chunks(task);
      to->call.num_tensors = static_cast<std::uint32_t>(to->tensors.size());
    }
  }
  return launches;
}

}  // namespace traingraph
