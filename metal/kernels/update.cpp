// SPDX-License-Identifier: MIT
#include "metal/kernels/update.h"

#include <algorithm>

#include "graph/op_def.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

static_assert(sizeof(UpdateParams) == 11 * 4, "as the kernels declare it");
static_assert(sizeof(UpdateTensor) == 7 * 8 + 2 * 4, "likewise");

// The bits of UpdateParams::options, as in update.metal.
enum Option : std::uint32_t {
  kHasScale = 1,
  kClipsByValue = 2,
  kL1 = 4,
  kL2 = 8,
  kMomentum = 16,
  kNesterov = 32,
  kAmsgrad = 64,
  kDecoupledDecay = 128,
  kCentered = 256,
};

void set(UpdateParams& params, Option option, bool is_on) {
  if (is_on) params.options |= option;
}

/// What the attributes of all updates share.
template <class Attrs>
UpdateParams params_of(const Attrs& attrs) {
  UpdateParams params{.lr_scale = attrs.lr_scale,
                      .rescale = attrs.gradient_rescale,
                      .clip_min = attrs.gradient_clip_min,
                      .clip_max = attrs.gradient_clip_max,
                      .strength = attrs.regularization_scale};
  set(params, kClipsByValue, attrs.clips_by_value);
  return params;
}

void regularize(UpdateParams& params, RegularizationType type) {
  set(params, kL1, type == RegularizationType::L1);
  set(params, kL2, type == RegularizationType::L2);
}

bool has(const Node& node, int input) {
  return input < static_cast<int>(node.inputs.size()) &&
         node.inputs[input] != kNoValue;
}

UpdateRule sgd_rule(const Node& node) {
  const auto& attrs = std::get<SgdUpdateAttrs>(node.attrs);
  UpdateParams params = params_of(attrs);
  regularize(params, attrs.regularization_type);
  params.momentum = attrs.momentum_scale;
  set(params, kMomentum, has(node, 2));
  set(params, kNesterov, attrs.uses_nesterov_momentum);
  return {Kernel::SgdUpdate, params, {0, 1, 2, -1, -1, 3, 4}};
}

UpdateRule adam_rule(const Node& node) {
  const auto& attrs = std::get<AdamUpdateAttrs>(node.attrs);
  UpdateParams params = params_of(attrs);
  if (!attrs.decoupled_decay) regularize(params, attrs.regularization_type);
  params.beta1 = attrs.beta1;
  params.beta2 = attrs.beta2;
  params.epsilon = attrs.epsilon;
  set(params, kAmsgrad, attrs.uses_amsgrad);
  set(params, kDecoupledDecay, attrs.decoupled_decay);
  return {Kernel::AdamUpdate, params, {0, 1, 2, 3, 4, 5, 6}};
}

UpdateRule rmsprop_rule(const Node& node) {
  const auto& attrs = std::get<RmspropUpdateAttrs>(node.attrs);
  UpdateParams params = params_of(attrs);
  regularize(params, attrs.regularization_type);
  params.momentum = attrs.momentum_scale;
  params.beta1 = attrs.alpha;
  params.epsilon = attrs.epsilon;
  set(params, kMomentum, has(node, 3));
  set(params, kCentered, attrs.is_centered);
  return {Kernel::RmspropUpdate, params, {0, 1, 2, 3, 4, 5, 6}};
}

UpdateRule rule_of(const Node& node) {
  switch (node.op->kind) {
    case OpKind::SgdUpdate:
      return sgd_rule(node);
    case OpKind::AdamUpdate:
      return adam_rule(node);
    case OpKind::RmspropUpdate:
      return rmsprop_rule(node);
    case OpKind::AccumulateGradient:
      return {Kernel::AccumulateGradient, {}, {0, 1, -1, -1, -1, 2, -1}};
    default:
      throw InternalError("no update kernel for " + std::string(node.op->name));
  }
}

/// The number of a place's first element in its buffer.
std::uint64_t element(const UpdateTask::Place& place) {
  return place.offset / sizeof(float);
}

UpdateTensor tensor_of(const UpdateTask& task, std::int64_t first_chunk) {
  const auto& places = task.places;
  return {.parameter = element(places[kParameter]),
          .gradient = element(places[kGradient]),
          .slots = {element(places[kSlot1]), element(places[kSlot2]),
                    element(places[kSlot3])},
          .hyperparameters = element(places[kHyperparameters]),
          .scale = element(places[kScale]),
          .first_chunk = static_cast<std::uint32_t>(first_chunk),
          .count = static_cast<std::uint32_t>(task.rule.count)};
}

std::int64_t num_chunks(const UpdateTask& task) {
  return (task.rule.count + kUpdateChunk - 1) / kUpdateChunk;
}

UpdateLaunch empty_launch(const UpdateTask& task) {
  UpdateLaunch launch{.kernel = task.rule.kernel,
                      .params = task.rule.params,
                      .tensors = {},
                      .buffers = {}};
  for (int i = 0; i < kNumUpdateBuffers; ++i) {
    launch.buffers[i] = task.places[i].buffer;
  }
  return launch;
}

/// May the task join the launch?
bool takes(const UpdateLaunch& launch, const UpdateTask& task) {
  const UpdateLaunch own = empty_launch(task);
  UpdateParams params = launch.params;
  params.num_tensors = 0;
  return launch.kernel == own.kernel && params == own.params &&
         launch.buffers == own.buffers &&
         launch.tensors.size() < kMaxUpdateTensors &&
         launch.num_chunks + num_chunks(task) <= kMaxUpdateChunks;
}

}  // namespace

bool has_update_kernel(const Program& program, const Node& node) {
  switch (node.op->kind) {
    case OpKind::SgdUpdate:
    case OpKind::AdamUpdate:
    case OpKind::RmspropUpdate:
    case OpKind::AccumulateGradient:
      break;
    default:
      return false;
  }
  // Counts of elements and positions are 32 bits.
  const TensorDescriptor& parameter = program.desc(node.inputs[kParameter]);
  return parameter.data_type == DataType::Float32 &&
         parameter.shape.num_elements() <= kMaxUpdateChunks * kUpdateChunk / 4;
}

UpdateRule update_rule(const Program& program, const Node& node) {
  UpdateRule rule = rule_of(node);
  rule.count = program.shape(node.inputs[kParameter]).num_elements();
  for (int& input : rule.inputs) {
    if (input >= 0 && !has(node, input)) input = -1;
  }
  set(rule.params, kHasScale, rule.inputs[kScale] >= 0);
  return rule;
}

std::vector<UpdateLaunch> plan_updates(std::span<const UpdateTask> tasks) {
  std::vector<UpdateLaunch> launches;
  for (bool accumulates : {true, false}) {
    for (const UpdateTask& task : tasks) {
      const bool is_sum = task.rule.kernel == Kernel::AccumulateGradient;
      if (is_sum != accumulates || task.rule.count == 0) continue;
      auto to = std::ranges::find_if(launches, [&](const UpdateLaunch& launch) {
        return takes(launch, task);
      });
      if (to == launches.end()) {
        launches.push_back(empty_launch(task));
        to = launches.end() - 1;
      }
      to->tensors.push_back(tensor_of(task, to->num_chunks));
      to->num_chunks += num_chunks(task);
      to->params.num_tensors = static_cast<std::uint32_t>(to->tensors.size());
    }
  }
  return launches;
}

}  // namespace traingraph::metal
