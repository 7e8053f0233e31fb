// SPDX-License-Identifier: MIT
// What linked sessions owe each other: results before they are read, gradients
// before they are passed on; and which gradients come from nobody.
//
// A linkable graph takes a gradient for each result that none of its nodes
// reads. When no linked graph supplies it, the parameters that it alone reaches
// have no gradient: a zero would still let decay and momentum move them.
#include <algorithm>

#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// By value: does it depend on a seed through nodes of the gradient phase?
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

bool Session::is_fed(const Declaration::UserGradient& user) const {
  return fed_.contains(user.gradient.state().get());
}

/// Fills live_: tensors whose gradient is more than what nobody supplies.
void Session::find_live_gradients() {
  live_.clear();
  if (!declaration_.trains) return;
  const Assembled& a = main_->compilation.training->assembled;
  std::vector<ValueId> supplied = a.loss_seeds, missing;
  for (const auto& user : declaration_.user_gradients) {
    const ValueId seed = a.find(user.gradient);
    if (seed == kNoValue) continue;
    (user.is_boundary && !is_fed(user) ? missing : supplied).push_back(seed);
  }
  const std::vector<bool> is_supplied = reached_from(supplied, a.program);
  const std::vector<bool> is_missing = reached_from(missing, a.program);
  const auto add = [&](const Tensor& tensor, ValueId gradient) {
    if (is_missing[gradient] && !is_supplied[gradient]) return;
    live_.insert(tensor.tensor_id());
  };
  for (const Trained& t : a.trained) add(t.tensor, t.gradient);
  for (const auto& [tensor, gradient] : a.input_gradients) {
    add(tensor, gradient);
  }
}

bool Session::skips_update(std::uint64_t parameter) const {
  if (!link_) return !live_.contains(parameter);
  return std::ranges::find(not_updated_, parameter) != not_updated_.end();
}

/// One session's live gradients may feed another's, whose then feed a third's.
void Session::find_fed_gradients(const std::vector<Session*>& group) {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (Session* session : group) session->find_live_gradients();
    for (Session* consumer : group) {
      for (const auto& [input, producer] : consumer->producers_) {
        if (!consumer->live_.contains(input.tensor_id())) continue;
        for (const auto& user : producer->declaration_.user_gradients) {
          if (!(user.of == input)) continue;
          const auto* gradient = user.gradient.state().get();
          is_changed |= producer->fed_.insert(gradient).second;
        }
      }
    }
  }
  for (Session* session : group) {
    for (Input& input : session->undeclared_) {
      input.is_fed = session->fed_.contains(input.tensor.state().get());
    }
  }
}

/// Under the link's mutex: what another session had to compute before.
void Session::require_link_order(const Call& call) const {
  if (!link_) return;
  for (const auto& [name, input] : declared_) {
    if (input.source) require_source(call, input);
  }
  const bool differentiates =
      call.segment == Segment::Step || call.segment == Segment::Gradient;
  if (!differentiates) return;
  for (const auto& user : declaration_.user_gradients) {
    if (!is_fed(user)) continue;
    const auto placed = placements_.find(user.gradient.state().get());
    const auto shared = link_->contributions.find(placed->second.get());
    const bool is_there =
        shared != link_->contributions.end() && shared->second;
    if (is_there) continue;
    throw StateError(ErrorInfo{
        .op = call.name,
        .node = user.of.label(),
        .what = "no linked graph has passed a gradient for this result since "
                "the last forward pass",
        .expected = "execute_gradient of the graph that reads it before",
        .hint = "Gradient passes go backwards through the link."});
  }
}

void Session::require_source(const Call& call, const Input& input) const {
  const bool is_update = call.segment == Segment::Update;
  const bool may_be_absent =
      call.segment == Segment::InferenceWithoutLabels && input.is_label();
  if (is_update || may_be_absent) return;
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
  if (call.segment != Segment::Gradient || runs == input.seen_runs) return;
  throw StateError(ErrorInfo{
      .op = call.name,
      .node = input.name,
      .what = "the linked graph that computes this tensor has run again since "
              "the forward pass",
      .expected = "execute_gradient before that",
      .hint = "Run this graph's forward pass again."});
}

void Session::advance_link(
    Segment segment, const std::shared_ptr<ExecutionState>& slot) noexcept {
  if (link_->shares_results) link_->last = slot;
  const bool is_forward = plan_of(segment) == shared_plan() &&
                          segment != Segment::Gradient &&
                          segment != Segment::Update;
  if (!is_forward) return;
  for (LentResult* lent : lent_) ++lent->runs;
  // Gradients of the results before are not those of the new ones.
  for (Contribution* used : accumulation_.used_by_gradient) used->reset();
}

}  // namespace traingraph
