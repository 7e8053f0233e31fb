// SPDX-License-Identifier: MIT
#include "runtime/exchange/exchange_plan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/gradient_buckets.h"
#include "graph/op_def.h"
#include "runtime/execution/batches.h"

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

class ExchangePlanner {
 public:
  ExchangePlanner(const Compilation& compilation, Segment segment,
                  const Placement& placement, std::span<const UnitId> units,
                  std::span<const Location> losses, const LinkedParts& linked)
      : graph_(*compilation.graph),
        program_(compilation.program(plan_of(segment))),
        plan_(compilation.plan(plan_of(segment))),
        segment_(segment),
        placement_(placement),
        units_(units),
        losses_(losses),
        linked_(linked),
        end_(static_cast<int>(units.size())),
        first_merge_(end_) {
    std::vector<int> position(plan_.order.size(), 0);
    for (std::size_t at = 0; at < plan_.order.size(); ++at) {
      position[plan_.order[at]] = static_cast<int>(at);
    }
    for (UnitId id : units) positions_.push_back(position[id]);
    for (const Trained& trained : program_.assembled.trained) {
      tensor_of_.emplace(trained.gradient, trained.tensor);
    }
  }

  ExchangePlan run() {
    out_.is_shared_out = graph_.shares.has_value();
    if (is_exchanging()) exchange_gradients();
    const bool sums = !out_.buckets.empty();
    if (differentiates(segment_) && (sums || graph_.is_linkable))
      find_weights();
    const bool is_early = sums || !out_.weights.empty();
    if (updates(segment_)) {
      out_.shares = bind_shares(graph_, placement_, linked_.skips_update);
    }
    const bool gathers = out_.shares.longest_bytes > 0;
    if (graph_.reduces_losses && runs_forward(segment_)) find_losses();
    const bool reduces = !out_.losses.empty();
    for (const SharedStatistics& each : program_.lowered.statistics) bind(each);
    const bool merges = !out_.statistics.empty();
    if (!is_early && !gathers && !reduces && !merges) return {};
    add(0, ExchangeStep::Announce);
    // Statistics are those of processes that are at the same call.
    add(std::min(is_early ? weigh_before() : end_, first_merge_),
        ExchangeStep::Weigh);
    if (gathers) add(end_, ExchangeStep::Gather);
    if (reduces) {
      add(sums ? weigh_before() : end_, ExchangeStep::SendLosses);
      add(end_, ExchangeStep::ReceiveLosses);
    }
    std::ranges::stable_sort(out_.events, {}, [](const ExchangeEvent& event) {
      return std::pair(event.before, event.step);
    });
    for (const ExchangeEvent& event : out_.events) {
      out_.marks.push_back(mark_of(event));
    }
    return std::move(out_);
  }

 private:
  /// Gradients that are added up over several passes go with the update, those
  /// of linked graphs with that of whichever makes it.
  bool is_exchanging() const {
    if (graph_.is_linkable && !graph_.update) return false;
    const bool adds_up = !graph_.accumulators.empty();
    if (segment_ == Segment::Gradient) return !adds_up;
    if (segment_ == Segment::Update) return adds_up;
    return segment_ == Segment::Step;
  }

  void find_losses() {
    for (const Location& at : losses_) out_.losses.push_back(floats_at(at));
    out_.weighs_losses = graph_.weights_gradients;
  }

  /// Passes of linked graphs make one gradient, each of other samples, so they
  /// are weighed one by one.
  void exchange_gradients() {
    out_.weighs_sums = segment_ == Segment::Update &&
                       graph_.weights_gradients && !graph_.is_linkable;
    for (const Bucket& bucket : plan_.buckets) bind(bucket);
    for (const BoundBucket& bucket : out_.buckets) {
      out_.numbers += static_cast<std::int64_t>(bucket.values.size());
    }
    if (segment_ != Segment::Step) return;
    out_.only_updates_read_sums = only_updates_read_sums();
    for (const BoundBucket& bucket : out_.buckets) {
      constexpr std::uint64_t kFactor = 1000003;  // any that mixes
      const auto offset = static_cast<std::uint64_t>(
          bucket.values.data() - out_.buckets.front().values.data());
      out_.layout = out_.layout * kFactor + offset;
    }
  }

  /// Norms do as well, and the loss scale's verdict, and users.
  bool only_updates_read_sums() const {
    std::unordered_set<StorageId> gradients;
    for (const auto& [gradient, tensor] : tensor_of_) {
      gradients.insert(program_.lowered.storage_of[gradient]);
    }
    const auto is_gradient = [&](StorageId storage) {
      return gradients.contains(storage);
    };
    const auto readable = readable_values(graph_, program_.assembled);
    return std::ranges::none_of(
               readable,
               [&](ValueId value) {
                 return is_gradient(program_.lowered.storage_of[value]);
               }) &&
           std::ranges::all_of(units_, [&](UnitId id) {
             const Unit& unit = program_.lowered.units[id];
             return unit.phase != Phase::Update || unit.sums_gradients ||
                    std::ranges::none_of(unit.args, is_gradient);
           });
  }

  int weigh_before() const {
    return segment_ == Segment::Step ? place_of(plan_.begin_of[1]) : 0;
  }

  /// The first unit of the segment that is not before a position of the plan.
  int place_of(int position) const {
    return static_cast<int>(std::ranges::lower_bound(positions_, position) -
                            positions_.begin());
  }

  /// If a unit of the segment needs them.
  void bind(const SharedStatistics& statistics) {
    const auto unit = std::ranges::find(units_, statistics.before);
    if (unit == units_.end()) return;
    const int before = static_cast<int>(unit - units_.begin());
    const Location at = placement_.locate(program_, plan_, plan_of(segment_),
                                          statistics.storage);
    const std::size_t bytes =
        program_.lowered.storages[statistics.storage].bytes;
    auto* const values =
        reinterpret_cast<double*>(placement_.context()->host_view(at));
    out_.events.push_back(
        {.before = before,
         .step = ExchangeStep::Merge,
         .statistics = static_cast<int>(out_.statistics.size())});
    out_.statistics.push_back(
        {.values = {values, bytes / sizeof(double)},
         .are_moments = statistics.are_moments,
         .node = program_.assembled.program.node(statistics.node).name});
    first_merge_ = std::min(first_merge_, before);
  }

  void add(int before, ExchangeStep step, int bucket = -1) {
    out_.events.push_back({.before = before, .step = step, .bucket = bucket});
  }

  float* floats_at(Location at) const {
    return reinterpret_cast<float*>(placement_.context()->host_view(at));
  }

  /// Null: no unit reads it.
  float* find_hidden(TensorIndex tensor) const {
    const auto& place = placement_.of(tensor);
    return place ? floats_at(place->locate()) : nullptr;
  }

  /// What a linked graph passes on has been weighed there.
  void find_weights() {
    const auto add = [&](TensorIndex tensor) {
      float* const weight = find_hidden(tensor);
      const bool is_known =
          std::ranges::find(out_.weights, weight) != out_.weights.end();
      if (weight && !is_known) out_.weights.push_back(weight);
    };
    add(graph_.gradient_weight);
    for (std::size_t i = 0; i < graph_.user_gradients.size(); ++i) {
      if (linked_.is_fed(graph_.user_gradients[i])) continue;
      add(graph_.user_weights[i]);
    }
    float* const factors = find_hidden(graph_.accumulation);
    if (!factors || out_.weights.empty() || !graph_.is_linkable) return;
    out_.factors = {factors, 2 * graph_.trainable.size()};
  }

  void bind(const Bucket& bucket) {
    const int send_before =
        segment_ == Segment::Update
            ? 0
            : std::max(place_of(bucket.ready_after + 1), weigh_before());
    const int needed_before =
        segment_ == Segment::Gradient ? end_ : place_of(bucket.needed_before);
    const std::size_t first = out_.buckets.size();
    for (ValueId gradient : bucket.gradients) {
      if (linked_.skips_update(tensor_of_.at(gradient))) continue;
      append(gradient, first);
    }
    for (std::size_t i = first; i < out_.buckets.size(); ++i) {
      add(send_before, ExchangeStep::Send, static_cast<int>(i));
    }
    for (std::size_t i = first; i < out_.buckets.size(); ++i) {
      add(needed_before, ExchangeStep::Receive, static_cast<int>(i));
    }
  }

  /// To the last piece of the bucket, unless there is something else between.
  void append(ValueId gradient, std::size_t first) {
    const StorageId storage = program_.lowered.storage_of[gradient];
    const Location at =
        placement_.locate(program_, plan_, plan_of(segment_), storage);
    float* const begin = floats_at(at);
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
    bucket.parameters.push_back(parameter_of(gradient));
  }

  std::shared_ptr<const void> memory_of(StorageId storage) const {
    const bool is_in_arena = plan_.offset_of[storage] != Plan::kNotInArena;
    if (is_in_arena) return placement_.arena(plan_of(segment_))->buffer();
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

  std::string_view parameter_of(ValueId gradient) const {
    return graph_.tensors[tensor_of_.at(gradient)].name;
  }

  const MergedGraph& graph_;
  const CompiledProgram& program_;
  const Plan& plan_;
  const Segment segment_;
  const Placement& placement_;
  const std::span<const UnitId> units_;
  const std::span<const Location> losses_;
  const LinkedParts& linked_;
  const int end_;
  int first_merge_;
  std::vector<int> positions_;  // in the plan, of the segment's units
  std::unordered_map<ValueId, TensorIndex> tensor_of_;  // by gradient
  ExchangePlan out_;
};

}  // namespace

std::string name_of(const BoundBucket& bucket, int index) {
  return "gradients " + std::to_string(index) + " (" +
         first_and_last(bucket.parameters) + ")";
}

ExchangePlan plan_exchange(const Compilation& compilation, Segment segment,
                           const Placement& placement,
                           std::span<const UnitId> units,
                           std::span<const Location> losses,
                           const LinkedParts& linked) {
  if (is_inference(segment)) return {};
  return ExchangePlanner(compilation, segment, placement, units, losses, linked)
      .run();
}

}  // namespace traingraph
