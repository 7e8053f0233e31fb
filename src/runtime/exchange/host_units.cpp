// SPDX-License-Identifier: MIT
#include "runtime/exchange/host_units.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "compiler/distribution/collectives.h"
#include "graph/op_def.h"

namespace traingraph {
namespace {

Mark mark_of(const ExchangeEvent& event) {
  Mark mark{.before = event.before};
  switch (event.step) {
    case ExchangeStep::Announce:
      break;
    case ExchangeStep::SendLosses:
    case ExchangeStep::Send:
      mark.reads = true;
      break;
    case ExchangeStep::Weigh:
    case ExchangeStep::Receive:
    case ExchangeStep::ReceiveLosses:
      mark.writes = true;
      break;
    case ExchangeStep::Merge:
    case ExchangeStep::Gather:
      mark.reads = mark.writes = true;
  }
  return mark;
}

class HostUnitBinder {
 public:
  HostUnitBinder(const Compilation& compilation, EntryPoint entry_point,
                 const Placement& placement, std::span<const UnitId> units,
                 const LinkedParts& linked)
      : graph_(*compilation.graph),
        program_(compilation.program(plan_of(entry_point))),
        plan_(compilation.plan(plan_of(entry_point))),
        entry_point_(entry_point),
        placement_(placement),
        units_(units),
        linked_(linked) {
    out_.weighs_sums = gradient_sums(graph_, program_.variant).weighs;
    find_summed();
  }

  HostUnits run() {
    find_weights();
    if (!exchanges()) return {};
    for (const UnitId id : units_) {
      const Unit& unit = program_.lowered.units[id];
      if (unit.is_host) {
        bind(unit);
        continue;
      }
      if (unit.phase != Phase::Forward || reads_weight(unit)) need_weight();
      ++before_;
    }
    need_weight();
    out_.events.insert(out_.events.begin(), {.step = ExchangeStep::Announce});
    return std::move(out_);
  }

 private:
  bool exchanges() const { return !out_.weights.empty() || has_host_units(); }

  bool has_host_units() const {
    return std::ranges::any_of(
        units_, [&](UnitId id) { return program_.lowered.units[id].is_host; });
  }

  /// Parameters by what is summed for them.
  void find_summed() {
    const Program& program = program_.assembled.program;
    for (const Node& node : program.nodes()) {
      if (node.op->kind != OpKind::AllReduceDone) continue;
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        summed_.emplace(node.inputs[i], node.outputs[i]);
      }
    }
    for (const Trained& trained : program_.assembled.trained) {
      tensor_of_.emplace(trained.gradient, trained.tensor);
    }
  }

  /// What a linked graph passes on has been weighed there.
  void find_weights() {
    const bool weighs = differentiates(entry_point_)
                            ? !out_.weighs_sums
                            : entry_point_ == EntryPoint::Forward;
    if (!weighs) return;
    const auto add = [&](TensorIndex tensor) {
      float* const weight = find_hidden(tensor);
      const bool is_known =
          std::ranges::find(out_.weights, weight) != out_.weights.end();
      if (!weight || is_known) return;
      out_.weights.push_back(weight);
      hidden_.push_back(program_.assembled.find(tensor));
    };
    if (entry_point_ != EntryPoint::Forward || graph_.reduce_losses) {
      add(graph_.gradient_weight);
    }
    if (entry_point_ == EntryPoint::Forward) return;
    for (std::size_t i = 0; i < graph_.user_gradients.size(); ++i) {
      if (linked_.is_upstream(graph_.user_gradients[i])) continue;
      add(graph_.user_weights[i]);
    }
    float* const factors = find_hidden(graph_.accumulation);
    if (!factors || out_.weights.empty() || !graph_.is_linkable) return;
    out_.factors = {reinterpret_cast<formulas::AccumulationFactors*>(factors),
                    graph_.trainable.size()};
    hidden_.push_back(program_.assembled.find(graph_.accumulation));
  }

  bool reads_weight(const Unit& unit) const {
    return std::ranges::any_of(unit.reads, [&](StorageId storage) {
      const ValueId value = program_.lowered.storages[storage].value;
      return value != kNoValue &&
             std::ranges::find(hidden_, value) != hidden_.end();
    });
  }

  /// Once, before the gradients and what else is exchanged: that is of
  /// processes at the same call.
  void need_weight() {
    if (std::exchange(has_weight_, true)) return;
    add(ExchangeStep::Weigh);
  }

  void add(ExchangeStep step, int bucket = -1, int statistics = -1) {
    out_.events.push_back({before_, step, bucket, statistics});
  }

  void bind_statistics(const Node& node, const Unit& unit) {
    const StorageId storage = unit.args.front();
    add(ExchangeStep::Merge, -1, static_cast<int>(out_.statistics.size()));
    out_.statistics.push_back(
        {.values = {floats_of(storage),
                    program_.lowered.storages[storage].bytes / sizeof(float)},
         .are_moments = node.op->kind == OpKind::ReduceMoments,
         .node = node.name});
  }

  void bind(const Unit& unit) {
    const Node& node = program_.assembled.program.node(unit.nodes.front());
    need_weight();
    switch (node.op->kind) {
      case OpKind::AllReduceStart:
        return start(node, unit);
      case OpKind::AllReduceDone:
        return finish(node);
      case OpKind::ReduceMoments:
      case OpKind::AllReduce:
        return bind_statistics(node, unit);
      default:
        out_.shards = bind_shards(graph_, placement_, linked_);
        if (out_.shards.longest_bytes > 0) add(ExchangeStep::Gather);
    }
  }

  void start(const Node& node, const Unit& unit) {
    const std::size_t first = out_.buckets.size();
    bool sends_losses = false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const auto trained = tensor_of_.find(summed_.at(node.outputs[i]));
      if (trained == tensor_of_.end()) {
        out_.losses.push_back(floats_of(unit.args[i]));
        sends_losses = true;
      } else if (!linked_.skips_update(trained->second)) {
        append(unit.args[i], trained->second, first);
      }
    }
    begun_[node.outputs.front()] = {first, out_.buckets.size()};
    if (sends_losses) return add(ExchangeStep::SendLosses);
    for (std::size_t i = first; i < out_.buckets.size(); ++i) {
      out_.numbers += static_cast<std::int64_t>(out_.buckets[i].values.size());
      add(ExchangeStep::Send, static_cast<int>(i));
    }
  }

  void finish(const Node& node) {
    const auto [first, last] = begun_.at(node.inputs.front());
    const bool are_gradients = tensor_of_.contains(node.outputs.front());
    if (!are_gradients) return add(ExchangeStep::ReceiveLosses);
    for (std::size_t i = first; i < last; ++i) {
      add(ExchangeStep::Receive, static_cast<int>(i));
    }
  }

  std::byte* bytes_of(StorageId storage) const {
    return placement_.context()->host_view(
        placement_.locate(program_, plan_, plan_of(entry_point_), storage));
  }
  float* floats_of(StorageId storage) const {
    return reinterpret_cast<float*>(bytes_of(storage));
  }

  /// Null: no unit reads it.
  float* find_hidden(TensorIndex tensor) const {
    const auto& place = placement_.of(tensor);
    if (!place) return nullptr;
    return reinterpret_cast<float*>(
        placement_.context()->host_view(place->locate()));
  }

  /// To the last piece of the bucket, unless there is something else between.
  void append(StorageId storage, TensorIndex tensor, std::size_t first) {
    float* const begin = floats_of(storage);
    const std::size_t size =
        program_.lowered.storages[storage].bytes / sizeof(float);
    auto& buckets = out_.buckets;
    auto memory = memory_of(storage);
    const bool is_first = buckets.size() == first;
    // Arenas of linked graphs are apart, wherever they lie.
    if (is_first || buckets.back().memory != memory ||
        !is_next(buckets.back().values, begin)) {
      buckets.push_back({.values = {begin, 0},
                         .gaps = {},
                         .parameters = {},
                         .memory = std::move(memory),
                         .sum = std::make_shared<Operation>()});
    }
    BoundBucket& bucket = buckets.back();
    float* const start = bucket.values.data();
    float* const end = start + bucket.values.size();
    if (begin > end) bucket.gaps.push_back({end, begin});
    bucket.values = {start, static_cast<std::size_t>(begin - start) + size};
    bucket.parameters.push_back(graph_.tensors[tensor].name);
  }

  std::shared_ptr<const void> memory_of(StorageId storage) const {
    const bool is_in_arena = plan_.offset_of[storage] != Plan::kNotInArena;
    if (is_in_arena) return placement_.arena(plan_of(entry_point_))->buffer();
    const ValueId value = program_.lowered.storages[storage].value;
    const TensorIndex tensor = program_.assembled.program.value(value).tensor;
    return placement_.of(tensor)->arena->buffer();
  }

  /// Does it follow, but for the alignment?
  bool is_next(std::span<float> values, const float* begin) const {
    const float* const end = values.data() + values.size();
    const std::size_t gap =
        placement_.context()->target().alignment() / sizeof(float);
    return begin >= end && static_cast<std::size_t>(begin - end) < gap;
  }

  const MergedGraph& graph_;
  const CompiledProgram& program_;
  const Plan& plan_;
  const EntryPoint entry_point_;
  const Placement& placement_;
  const std::span<const UnitId> units_;
  const LinkedParts& linked_;
  int before_ = 0;  // units of the device so far
  bool has_weight_ = false;
  std::vector<ValueId> hidden_;                         // that the host writes
  std::unordered_map<ValueId, ValueId> summed_;         // by what is begun
  std::unordered_map<ValueId, TensorIndex> tensor_of_;  // by gradient
  struct Range {
    std::size_t first, last;
  };
  std::unordered_map<ValueId, Range> begun_;  // buckets, by the first value
  HostUnits out_;
};

}  // namespace

std::string name_of(const BoundBucket& bucket, int index) {
  return "gradients " + std::to_string(index) + " (" +
         first_and_last(bucket.parameters) + ")";
}

std::vector<Mark> marks_of(const HostUnits& units) {
  std::vector<Mark> marks;
  for (const ExchangeEvent& event : units.events) {
    marks.push_back(mark_of(event));
  }
  return marks;
}

HostUnits bind_host_units(const Compilation& compilation,
                          EntryPoint entry_point, const Placement& placement,
                          std::span<const UnitId> units,
                          const LinkedParts& linked) {
  if (is_inference(entry_point)) return {};
  return HostUnitBinder(compilation, entry_point, placement, units, linked)
      .run();
}

}  // namespace traingraph
