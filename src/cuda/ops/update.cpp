// SPDX-License-Identifier: MIT
// Optimizer updates: those that were joined and take the same step share a
// launch. Accumulators, and the scales of gradients.
#include "cuda/ops/update.h"

#include <algorithm>
#include <bit>
#include <map>

#include "base/divide_up.h"
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/walk.h"
#include "lowering/fusion_query.h"
#include "lowering/update_table.h"
#include "ops/update.h"

namespace traingraph::cuda {
namespace {

// As kernels/update.cuh has them.
constexpr unsigned kUpdateThreads = 256;
constexpr std::int64_t kChunkElements = 1024;
constexpr std::size_t kWordsPerEntry = 9;
/// A kernel has up to 32 kB of parameters.
constexpr std::size_t kMaxTensors = 256;
/// Gradients of joined updates are in memory at once; those of a launch that is
/// worth its while need not wait for more.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 22;

/// What the updates of a launch have in common.
struct UpdateGroup {
  OpKind op;
  DataType type;
  std::array<std::uint32_t, sizeof(formulas::UpdateParams) / 4> params;
  auto operator<=>(const UpdateGroup&) const = default;
};

struct UpdateLaunchDraft {
  std::vector<Parameter> words;
  std::int64_t num_chunks = 0;
};

const char* step_name(OpKind op) {
  switch (op) {
#define UPDATE(Op, name, Step) \
  case OpKind::Op:             \
    return #Step;
    TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
    default:
      return nullptr;
  }
}

/// Where the update finds its gradient: in a slice of a larger one, perhaps.
Parameter gradient_of(UnitBuilder& update) {
  auto producer = update.fusion().join_producer(kUpdateGradient);
  if (!producer) return {update.read(kUpdateGradient), 0};
  const std::int64_t first = producer->attrs<SliceAttrs>().start[0];
  return {producer->read(0), first * static_cast<std::int64_t>(sizeof(float))};
}

void add_entry(UnitBuilder& update, UpdateLaunchDraft& draft) {
  const auto inputs = update_inputs(update.node());
  const std::int64_t count = update.input_shape(0).num_elements();
  std::vector<Parameter> entry = {{update.mutate(0), 0}, gradient_of(update)};
  for (int s = 0; s < formulas::kMaxUpdateSlots; ++s) {
    const int input = inputs[kUpdateSlots + s];
    entry.push_back(input < 0 ? Parameter{} : Parameter{update.mutate(input)});
  }
  entry.push_back({update.read(inputs[kUpdateHyperparameters])});
  const int scale = inputs[kUpdateScale];
  entry.push_back(scale < 0 ? Parameter{} : Parameter{update.read(scale)});
  entry.push_back({-1, count});
  entry.push_back({-1, draft.num_chunks});
  draft.words.insert(draft.words.end(), entry.begin(), entry.end());
  draft.num_chunks += divide_up(count, kChunkElements);
}

std::string text_of(const formulas::UpdateParams& p) {
  std::string text = "UpdateParams{" + std::to_string(p.options) + "u";
  for (const float each :
       {p.lr_scale, p.rescale, p.clip_min, p.clip_max, p.strength, p.momentum,
        p.beta1, p.beta2, p.epsilon}) {
    text += ", " + literal(each);
  }
  return text + "}";
}

Launch launch_of(const UpdateGroup& group, const UpdateLaunchDraft& draft) {
  const auto params = std::bit_cast<formulas::UpdateParams>(group.params);
  const std::string options =
      "FixedOptions<" + std::to_string(params.options) + "u>";
  KernelWriter kernel("update.cuh");
  const std::string words = kernel.words(draft.words);
  const std::size_t count = draft.words.size() / kWordsPerEntry;
  kernel.body("  update<" + std::string(step_name(group.op)) + "<" + options +
              ">, " + type_text(group.type) + ">(" + words + ".at, " +
              std::to_string(count) + ", " + text_of(params) + ", " + options +
              "());\n");
  return std::move(kernel).launch(std::max<std::int64_t>(draft.num_chunks, 1),
                                  kUpdateThreads);
}

void lower_updates(UnitBuilder& unit) {
  std::map<UpdateGroup, UpdateLaunchDraft> drafts;
  std::optional<UnitBuilder> update = unit;
  while (update) {
    const auto params = update_params(update->node());
    const UpdateGroup group{
        update->node().op->kind, update->input_desc(0).data_type,
        std::bit_cast<decltype(UpdateGroup::params)>(params)};
    add_entry(*update, drafts[group]);
    update = update->fusion().join_next();
  }
  std::vector<Launch> launches;
  for (const auto& [group, draft] : drafts) {
    launches.push_back(launch_of(group, draft));
  }
  emit(unit, std::move(launches));
}

}  // namespace

void join_updates(FusionSearch& search) {
  if (search.separates_updates()) return;
  const Program& program = search.program();
  std::vector<NodeId> group;
  std::int64_t num_elements = 0;
  const auto is_there = [&](ValueId value, NodeId first, NodeId id) {
    return value == kNoValue || (program.value(value).producer < first &&
                                 !search.changes_between(value, first, id));
  };
  const auto end_group = [&] {
    if (group.size() > 1) search.join_all(group);
    group.clear();
    num_elements = 0;
  };
  const auto num_nodes = static_cast<NodeId>(program.nodes().size());
  for (NodeId id = 0; id < num_nodes; ++id) {
    const Node& node = program.node(id);
    if (!is_optimizer_update(node.op->kind) || !search.is_free(id)) continue;
    const NodeId first = group.empty() ? id : group.front();
    const bool joins =
        group.size() < kMaxTensors && num_elements < kMaxElements &&
        node.phase == program.node(first).phase &&
        std::ranges::all_of(
            node.inputs,
            [&](ValueId value) { return is_there(value, first, id); });
    if (!joins) end_group();
    group.push_back(id);
    num_elements += program.shape(node.inputs[0]).num_elements();
  }
  end_group();
}

#define UPDATE(Op, name, Step) \
  void lower_##name(UnitBuilder& unit) { lower_updates(unit); }
TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE

void lower_clip_scale(UnitBuilder& unit) {
  const auto attrs = unit.attrs<ClipScaleAttrs>();
  const int num_inputs = static_cast<int>(unit.node().inputs.size());
  const bool has_gradients = unit.input_shape(num_inputs - 1).rank() == 2;
  const int num_squares = has_gradients ? (num_inputs - 1) / 2 : num_inputs - 1;
  std::vector<int> args;
  for (int i = 0; i < num_inputs; ++i) args.push_back(unit.read(i));
  std::vector<Parameter> parts;
  for (int i = 0; i < num_squares; ++i) {
    const int gradient = 1 + num_squares + i;
    const std::int64_t count =
        has_gradients ? unit.input_shape(gradient).num_elements() : 0;
    parts.push_back({args[1 + i]});
    parts.push_back(count > 0 ? Parameter{args[gradient]} : Parameter{});
    parts.push_back({-1, count});
  }
  KernelWriter kernel("scale.cuh");
  const std::string words = kernel.words(parts);
  const std::string now = kernel.pointer(args[0], DataType::Float32);
  const std::string scale = kernel.pointer(unit.write(0), DataType::Float32);
  kernel.body("  clip_scale(" + words + ".at, " + std::to_string(num_squares) +
              ", reinterpret_cast<const Hyperparameters*>(" + now + "), " +
              literal(attrs.custom_norm) + ", " + literal(attrs.maximum_norm) +
              ", " + scale + ");\n");
  emit(unit, {std::move(kernel).launch(1, kUpdateThreads)});
}

void lower_update_loss_scale(UnitBuilder& unit) {
  const auto attrs = unit.attrs<LossScaleAttrs>();
  const int num_inputs = static_cast<int>(unit.node().inputs.size());
  KernelWriter kernel("scale.cuh");
  const std::string state = kernel.pointer(unit.mutate(0), DataType::Float32);
  const std::string given = kernel.pointer(unit.read(1), DataType::Float32);
  std::vector<Parameter> squares;
  for (int i = 2; i < num_inputs; ++i) squares.push_back({unit.read(i)});
  const std::string words = kernel.words(squares);
  const std::string scale = kernel.pointer(unit.write(0), DataType::Float32);
  const std::string own = kernel.pointer(unit.write(1), DataType::Float32);
  kernel.body("  update_loss_scale(" + words + ".at, " +
              std::to_string(squares.size()) +
              ", reinterpret_cast<LossScale*>(" + state +
              "), reinterpret_cast<const Hyperparameters*>(" + given + "), " +
              literal(static_cast<float>(attrs.interval)) + ", " +
              literal(attrs.beta1) + ", " + literal(attrs.beta2) + ", " +
              scale + ", reinterpret_cast<Hyperparameters*>(" + own + "));\n");
  emit(unit, {std::move(kernel).launch(1, kUpdateThreads)});
}

void lower_accumulate_gradient(UnitBuilder& unit) {
  const std::int64_t count = unit.input_shape(0).num_elements();
  KernelWriter kernel("map.cuh");
  kernel.include("update.cuh");
  const std::string sum = kernel.pointer(unit.mutate(0), DataType::Float32);
  const std::string gradient = kernel.pointer(unit.read(1), DataType::Float32);
  const std::string factors = kernel.pointer(unit.read(2), DataType::Float32);
  kernel.body(
      "  const AccumulationFactors factors = "
      "*reinterpret_cast<const AccumulationFactors*>(" +
      factors + ");\n  map<4>(" + sum + ", " + literal(count) +
      ", [&](Index i) { return accumulated(factors, " + sum + "[i], " +
      gradient + "[i]); });\n");
  emit(unit, {std::move(kernel).launch(map_blocks(count, 4), kMapThreads)});
}

}  // namespace traingraph::cuda
