// SPDX-License-Identifier: MIT
// A linkable graph takes a gradient for each result that none of its nodes
// reads. When no linked graph supplies it, the parameters that it alone reaches
// have no gradient: a zero would still let decay and momentum move them.
#include <algorithm>
#include <cstring>

#include "runtime/link/link.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Marks values that depend on a seed through nodes of the gradient phase.
std::vector<bool> reached_from(const std::vector<ValueId>& seeds,
                               const Program& program) {
  std::vector<bool> is_reached(program.values().size(), false);
  for (ValueId seed : seeds) is_reached[seed] = true;
  for (const Node& node : program.nodes()) {
    if (node.phase != Phase::Gradient) continue;
    const bool reads_any = std::ranges::any_of(
        node.inputs, [&](ValueId v) { return v != kNoValue && is_reached[v]; });
    if (!reads_any) continue;
    for (ValueId v : node.outputs) is_reached[v] = true;
    // An accumulator is no output.
    const bool accumulates = node.op->kind == OpKind::AccumulateGradient;
    if (accumulates) is_reached[node.inputs[0]] = true;
  }
  return is_reached;
}

}  // namespace

void LinkMember::start(const Compilation& main, const UserObjects& objects) {
  main_ = &main;
  objects_ = &objects;
  not_updated_.assign(graph().tensors.size(), false);
  upstream_.assign(graph().tensors.size(), false);
  find_live_gradients();
  index_accumulators();
}

void LinkMember::leave() noexcept {
  if (link_) link_->is_broken = true;
  link_.reset();
  inputs_.set_linked(false);
  placement_.redirect_back();
  std::ranges::fill(added_to_, nullptr);
  used_by_gradient_.clear();
  used_by_update_.clear();
  exported_.clear();
  imported_.clear();
  for (Input& input : inputs_.undeclared()) input.is_upstream = false;
  for (auto& [name, input] : inputs_.declared()) {
    if (input.source) input.is_on_device = false;
    input.source = nullptr;
  }
  std::fill(not_updated_.begin(), not_updated_.end(), false);
  const bool had_upstream = std::ranges::count(upstream_, true) > 0;
  std::fill(upstream_.begin(), upstream_.end(), false);
  if (had_upstream) find_live_gradients();
}

void LinkMember::forget_passes() noexcept {
  if (!link_) return;
  const std::scoped_lock lock(link_->mutex);
  for (auto& [storage, contribution] : link_->contributions) {
    contribution.reset();
  }
  for (auto& [optimizer, shared] : link_->optimizers) shared.updated.clear();
}

/// Fills live_: tensors whose gradient comes from a loss or from a user
/// gradient that is supplied.
void LinkMember::find_live_gradients() {
  live_.assign(graph().tensors.size(), false);
  if (!graph().trains) return;
  const Assembled& a = main_->program(PlanKind::Phases).assembled;
  std::vector<ValueId> supplied = a.loss_seeds, missing;
  for (const auto& user : graph().user_gradients) {
    const ValueId seed = a.find(user.gradient);
    if (seed == kNoValue) continue;
    (user.is_boundary && !is_upstream(user) ? missing : supplied)
        .push_back(seed);
  }
  const std::vector<bool> is_supplied = reached_from(supplied, a.program);
  const std::vector<bool> is_missing = reached_from(missing, a.program);
  const auto is_live = [&](ValueId gradient) {
    return is_supplied[gradient] || !is_missing[gradient];
  };
  for (const Trained& t : a.trained) live_[t.tensor] = is_live(t.gradient);
  for (const auto& part : graph().parts) live_[part.tensor] = live_[part.of];
  for (const auto& [tensor, gradient] : a.input_gradients) {
    live_[tensor] = is_live(gradient);
  }
}

bool LinkMember::skips_update(TensorIndex parameter) const {
  return link_ ? not_updated_[parameter] : !live_[parameter];
}

std::unique_lock<std::mutex> LinkMember::lock() {
  return link_ ? std::unique_lock(link_->mutex)
               : std::unique_lock<std::mutex>();
}

void LinkMember::stage(const Call& call, HostWriter& writer,
                       ExecutionState& state) {
  require_order(call);
  state.depend_on(dependency(call.entry_point));
  if (differentiates(call.entry_point)) {
    write_factors(writer, state, call.entry_point, call.pass);
  }
  if (!updates(call.entry_point)) return;
  write_updated(writer);
  if (!objects_->optimizer) return;
  for (Contribution* used : used_by_update_) state.depend_on(*used);
}

void LinkMember::commit(const Call& call, const Contribution& state) noexcept {
  if (updates(call.entry_point) && objects_->optimizer) start_update();
  if (differentiates(call.entry_point)) count_contributions(state);
  advance(call.entry_point, state);
}

void LinkMember::check(const Call& call) {
  if (!link_) return;
  const bool is_gone = std::ranges::any_of(
      link_->handles, [](const auto& handle) { return handle.expired(); });
  if (is_gone || link_->is_broken) {
    throw StateError(ErrorInfo{
        .op = call.name,
        .what = "a linked graph was compiled or linked again, or is gone",
        .hint = "Call link() again."});
  }
  if (!link_->shares_results) return;
  if (call.batch != graph().batch) {
    throw UnsupportedError(
        ErrorInfo{.op = call.name,
                  .what = "linked graphs that share results run one batch size",
                  .expected = std::to_string(graph().batch),
                  .got = std::to_string(call.batch),
                  .hint = "Pass the results on through the host."});
  }
  if (exported_.empty() || plan_of(call.entry_point) == shared_plan()) return;
  throw StateError(ErrorInfo{
      .op = call.name,
      .what = "a linked graph reads results of separate phases only",
      .expected = "execute_forward, execute_gradient and "
                  "execute_optimizer_update",
      .hint = "For inference link inference graphs of the same objects."});
}

void LinkMember::require_order(const Call& call) const {
  if (!link_) return;
  for (const auto& [name, input] : inputs_.declared()) {
    if (input.source) require_source(call, input);
  }
  if (!differentiates(call.entry_point)) return;
  for (const auto& user : graph().user_gradients) {
    if (!is_upstream(user)) continue;
    const Contribution* const contribution = contribution_in(user.gradient);
    if (contribution && *contribution) continue;
    throw StateError(ErrorInfo{
        .op = call.name,
        .node = graph().tensors[user.of].name,
        .what = "no linked graph has passed a gradient for this result since "
                "the last forward pass",
        .expected = "execute_gradient of the graph that reads it before",
        .hint = "Gradient passes go backwards through the link."});
  }
}

void LinkMember::require_source(const Call& call, const Input& input) const {
  const bool may_be_absent =
      call.entry_point == EntryPoint::InferenceWithoutLabels &&
      input.is_label();
  if (call.entry_point == EntryPoint::Update || may_be_absent) return;
  const std::uint64_t runs = input.source->runs;
  if (runs == 0) {
    throw StateError(
        ErrorInfo{.op = call.name,
                  .node = input.name,
                  .what = "the linked graph that computes this tensor has not "
                          "run since the graphs were linked",
                  .expected = "a forward pass of that graph before",
                  .hint = "Forward passes go forwards through the link."});
  }
  if (call.entry_point != EntryPoint::Gradient || runs == input.seen_runs) {
    return;
  }
  throw StateError(ErrorInfo{
      .op = call.name,
      .node = input.name,
      .what = "the linked graph that computes this tensor has run again since "
              "the forward pass",
      .expected = "execute_gradient before that",
      .hint = "Run this graph's forward pass again."});
}

/// A graph that reads no results of others starts a new chain with its forward.
std::shared_ptr<ExecutionState> LinkMember::dependency(
    EntryPoint entry_point) const {
  if (!link_ || !link_->shares_results) return nullptr;
  const bool is_first = imported_.empty() && runs_forward(entry_point);
  return is_first ? nullptr : link_->last;
}

bool LinkMember::shares_gradients() const {
  const std::size_t num_trainable =
      std::min(graph().trainable.size(), added_to_.size());
  const auto own = std::span(added_to_).first(num_trainable);
  const bool has_upstream = std::ranges::count(upstream_, true) > 0;
  return link_ && (has_upstream ||
                   std::ranges::any_of(
                       own, [](Contribution* at) { return at != nullptr; }));
}

Contribution* LinkMember::contribution_in(TensorIndex tensor) const {
  const auto& placed = placement_.of(tensor);
  if (!link_ || !placed) return nullptr;
  const auto shared = link_->contributions.find(placed.get());
  return shared == link_->contributions.end() ? nullptr : &shared->second;
}

/// Looks up which shared accumulators this graph's passes add to and use.
void LinkMember::index_accumulators() {
  factors_.clear();
  added_to_.clear();
  adds_.clear();
  used_by_gradient_.clear();
  used_by_update_.clear();
  const std::size_t num_trainable = graph().trainable.size();
  for (std::size_t i = 0; i < graph().accumulators.size(); ++i) {
    const auto& [of, into] = graph().accumulators[i];
    Contribution* const contribution =
        into == kNoTensor ? nullptr : contribution_in(into);
    factors_.push_back({0, 1});
    added_to_.push_back(contribution);
    adds_.push_back(live_[of]);
    // Parameters come first.
    const bool is_updated_here = i < num_trainable && !skips_update(of);
    if (contribution && is_updated_here) {
      used_by_update_.push_back(contribution);
    }
  }
  for (const auto& user : graph().user_gradients) {
    if (Contribution* const contribution = contribution_in(user.gradient)) {
      used_by_gradient_.push_back(contribution);
    }
  }
}

/// What another linked graph has left is kept, unless its gradient pass failed:
/// then this one starts afresh, or fails when it was told to add.
void LinkMember::write_factors(HostWriter& writer, ExecutionState& state,
                               EntryPoint entry_point,
                               const GradientPass& pass) {
  if (factors_.empty()) return;
  const bool is_step = entry_point == EntryPoint::Step;
  if (is_step && !graph().accumulates_in_steps()) return;
  const bool adds = pass.by != GradientAccumulation::None;
  const std::size_t num_trainable = graph().trainable.size();
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    const Contribution* const contribution = added_to_[i];
    factors_[i] = {0, 1};
    if (!contribution) {
      // Gradients of inputs are never added up over passes.
      if (i < num_trainable) factors_[i] = {pass.keep, pass.add};
      continue;
    }
    if (!*contribution || (!adds && (*contribution)->error())) continue;
    factors_[i] = {1, 1};
    state.depend_on(*contribution);
  }
  for (Contribution* used : used_by_gradient_) state.depend_on(*used);
  writer.write(graph().accumulation, factors_.data(),
               factors_.size() * sizeof(factors_[0]));
}

void LinkMember::write_updated(HostWriter& writer) const {
  const auto& trainable = graph().trainable;
  std::byte* room =
      writer.room_for(graph().updated, trainable.size() * sizeof(float));
  if (!room) return;
  for (TensorIndex parameter : trainable) {
    const float is_updated = skips_update(parameter) ? 0 : 1;
    std::memcpy(room, &is_updated, sizeof(is_updated));
    room += sizeof(is_updated);
  }
}

/// A graph that updates a second time ends the optimizer's step without waiting
/// for the other graphs.
void LinkMember::start_update() noexcept {
  if (!link_) return;
  Optimizer& optimizer = *objects_->optimizer;
  auto& updated = link_->optimizers.at(&optimizer).updated;
  if (std::ranges::find(updated, this) == updated.end()) return;
  updated.clear();
  TimeSteps::advance(optimizer);
}

void LinkMember::count_contributions(const Contribution& state) noexcept {
  if (!link_) return;
  for (std::size_t i = 0; i < added_to_.size(); ++i) {
    if (added_to_[i] && adds_[i]) *added_to_[i] = state;
  }
  for (Contribution* used : used_by_gradient_) used->reset();
}

bool LinkMember::ends_step() noexcept {
  if (!link_) return true;
  for (Contribution* used : used_by_update_) used->reset();
  auto& [users, updated] = link_->optimizers.at(objects_->optimizer.get());
  if (std::ranges::find(users, this) == users.end()) return false;
  updated.push_back(this);
  if (updated.size() < users.size()) return false;
  updated.clear();
  return true;
}

void LinkMember::advance(EntryPoint entry_point,
                         const Contribution& state) noexcept {
  if (!link_) return;
  if (link_->shares_results) link_->last = state;
  const bool computes_results =
      plan_of(entry_point) == shared_plan() && runs_forward(entry_point);
  if (!computes_results) return;
  for (ExportedResult* exported : exported_) ++exported->runs;
  // Gradients of the results before are not those of the new ones.
  for (Contribution* used : used_by_gradient_) used->reset();
}

}  // namespace traingraph
