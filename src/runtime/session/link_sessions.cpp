// SPDX-License-Identifier: MIT
#include <algorithm>
#include <unordered_set>

#include "runtime/exchange/link_exchanges.h"
#include "runtime/session/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using Group = std::vector<Session*>;

Group group_of(const std::vector<std::shared_ptr<Session>>& handles) {
  Group group;
  std::unordered_set<const Session*> known;
  for (const auto& handle : handles) {
    if (!known.insert(handle.get()).second) {
      throw InvalidArgument(
          ErrorInfo{.op = "link", .what = "a graph is listed twice"});
    }
    group.push_back(handle.get());
  }
  return group;
}

/// Locks in address order, so that two links cannot deadlock.
std::vector<std::unique_lock<FairMutex>> lock_all(Group group) {
  std::ranges::sort(group);
  std::vector<std::unique_lock<FairMutex>> locks;
  for (Session* session : group) locks.emplace_back(session->mutex);
  return locks;
}

void require_linkable(const Session& session, const Session& first) {
  session.require_device("link");
  if (!session.plan_cache->graph().is_linkable) {
    throw StateError(
        ErrorInfo{.op = "link",
                  .what = "a graph was not compiled for linking",
                  .expected = "the option link_graphs at compile()"});
  }
  const auto& context = session.placement.context();
  const auto& expected = first.placement.context();
  if (context == expected) return;
  throw InvalidArgument(
      ErrorInfo{.op = "link",
                .what = "the graphs are compiled for different devices",
                .expected = expected->description(),
                .got = name_beside(*context, *expected)});
}

/// Finds the place of each tensor among what is trained.
std::vector<std::size_t> places_of(const MergedGraph& graph) {
  std::vector<std::size_t> places(graph.tensors.size());
  for (std::size_t i = 0; i < graph.trainable.size(); ++i) {
    places[graph.trainable[i]] = i;
  }
  return places;
}

/// One graph updates a shared parameter, by its own groups.
void require_same_rule(const Tensor& parameter, const ParameterRule& updater,
                       const ParameterRule& other) {
  if (other == updater || other == ParameterRule{}) return;
  throw InvalidArgument(ErrorInfo{
      .op = "link",
      .node = parameter.name(),
      .what = "a parameter is in other groups in the graph that updates it",
      .expected = "the group in the first of the graphs that has an optimizer",
      .got = {},
      .hint = "Call set_parameter_groups() of that graph."});
}

/// Returns where the separate phases leave a result; it is fixed while graphs
/// are linked.
std::shared_ptr<ArenaStorage> result_storage(const Session& session,
                                             PlanKind kind,
                                             TensorIndex tensor) {
  const Compilation& main = session.plan_cache->main()->compilation;
  const MergedGraph& graph = *main.graph;
  const CompiledProgram& compiled = main.program(kind);
  const ValueId value = compiled.assembled.find(tensor);
  const auto& boundary = compiled.assembled.boundary;
  const bool is_kept =
      std::ranges::binary_search(boundary, value) ||
      std::ranges::any_of(graph.outputs, [&](const auto& output) {
        return output.second == tensor;
      });
  const StorageId storage = is_kept ? compiled.lowered.storage_of[value] : -1;
  if (storage < 0) {
    throw StateError(ErrorInfo{
        .op = "link",
        .node = graph.tensors[tensor].name,
        .what = "the producing graph reads this tensor itself and does not "
                "keep it for others",
        .expected = "a result that is an output, or that no layer reads",
        .got = {},
        .hint = "Call add_outputs() or allocate_user_gradient() for it before "
                "compile()."});
  }
  const std::size_t offset = main.plan(kind).offset_of[storage];
  return std::make_shared<ArenaStorage>(
      session.placement.arena(kind), offset,
      graph.tensors[tensor].desc.size_bytes());
}

std::vector<LinkedGraph> graphs_of(const Group& group) {
  std::vector<LinkedGraph> graphs;
  for (Session* session : group) {
    graphs.push_back({session->plan_cache->graph(), session->link,
                      *session->placement.context(), session->exchange.get()});
  }
  return graphs;
}

}  // namespace

class LinkBuilder {
 public:
  LinkBuilder(Group group, const std::vector<std::shared_ptr<Session>>& handles)
      : group_(std::move(group)), link_(std::make_shared<Link>()) {
    link_->handles.assign(handles.begin(), handles.end());
    for (Session* session : group_) index_results(session);
  }

  void run() {
    for (Session* session : group_) share_results(session);
    find_upstream_gradients();
    share_accumulators();
    for (Session* session : group_) enter(session);
  }

 private:
  /// An input whose gradient goes to the graph that computes it.
  struct Passed {
    Session* consumer;
    TensorIndex input;
    Session* producer;
    TensorIndex gradient;  // the producer's user gradient
  };

  /// The first graph of the group that computes a tensor.
  void index_results(Session* session) {
    const MergedGraph& graph = session->plan_cache->graph();
    const auto count = static_cast<TensorIndex>(graph.tensors.size());
    for (TensorIndex t = 0; t < count; ++t) {
      if (!graph.produces(t)) continue;
      const auto* state = session->objects.tensors[t].state().get();
      producer_of_.try_emplace(state, session, t);
    }
  }

  /// What another graph produces is read where that graph's separate phases
  /// leave it: inputs, labels and label weights.
  void share_results(Session* consumer) {
    const auto accumulators = accumulators_of(*consumer);
    for (auto& [name, input] : consumer->inputs.declared()) {
      const auto producer = producer_of_.find(input.tensor.state().get());
      if (producer == producer_of_.end()) continue;
      const auto [from, result] = producer->second;
      if (from == consumer) continue;
      const PlanKind kind = from->link.shared_plan();
      consumer->placement.redirect(input.index,
                                   result_storage(*from, kind, result));
      input.source = &link_->results[input.tensor.state().get()];
      consumer->link.imported_.push_back(from->placement.arena(kind));
      from->link.exported_.push_back(input.source);
      link_->shares_results = true;
      const bool trains = consumer->plan_cache->graph().trains;
      if (trains && !input.is_label()) {
        share_gradient(consumer, input, accumulators[input.index], *from);
      }
    }
  }

  /// The gradient of an input is added up where the producer reads it.
  void share_gradient(Session* consumer, const Input& input,
                      TensorIndex accumulator, Session& producer) {
    const MergedGraph& of = producer.plan_cache->graph();
    const TensorIndex result = producer.objects.find(input.tensor);
    const auto user = std::ranges::find(of.user_gradients, result,
                                        &MergedGraph::UserGradient::of);
    if (user == of.user_gradients.end() || accumulator == kNoTensor) {
      throw StateError(ErrorInfo{
          .op = "link",
          .node = input.tensor.name(),
          .what = "the producing graph takes no gradient for this tensor",
          .expected = "floats that no node of the producing graph reads",
          .got = input.tensor.descriptor().to_string(),
          .hint = "Call allocate_user_gradient() for it before compile()."});
    }
    const auto into = producer.placement.of(user->gradient);
    if (!into) return;
    consumer->placement.redirect(accumulator, into);
    link_->contributions[into.get()];
    passed_.push_back({consumer, input.index, &producer, user->gradient});
  }

  static std::vector<TensorIndex> accumulators_of(const Session& session) {
    const MergedGraph& graph = session.plan_cache->graph();
    std::vector<TensorIndex> accumulators(graph.tensors.size(), kNoTensor);
    for (const auto& [of, into] : graph.accumulators) accumulators[of] = into;
    return accumulators;
  }

  /// One graph's live gradients may feed another's, whose then feed a third's.
  void find_upstream_gradients() {
    std::unordered_map<Session*, std::vector<const Passed*>> passed_by;
    for (const Passed& passed : passed_) {
      passed_by[passed.consumer].push_back(&passed);
    }
    // Last ones first: gradients go backwards, and a graph is looked at again
    // only when another one has fed it since.
    std::vector<Session*> waiting = group_;
    std::unordered_set<Session*> is_waiting(group_.begin(), group_.end());
    while (!waiting.empty()) {
      Session* const consumer = waiting.back();
      waiting.pop_back();
      is_waiting.erase(consumer);
      consumer->link.find_live_gradients();
      for (const Passed* passed : passed_by[consumer]) {
        if (!consumer->link.live_[passed->input]) continue;
        auto& upstream = passed->producer->link.upstream_;
        if (upstream[passed->gradient]) continue;
        upstream[passed->gradient] = true;
        if (is_waiting.insert(passed->producer).second) {
          waiting.push_back(passed->producer);
        }
      }
    }
    for (Session* session : group_) {
      for (Input& input : session->inputs.undeclared()) {
        input.is_upstream = session->link.upstream_[input.index];
      }
    }
  }

  /// Parameters of several graphs: the first one's accumulator serves all, and
  /// the first one with an optimizer updates, if any has a gradient.
  void share_accumulators() {
    std::unordered_map<const TensorState*, std::shared_ptr<ArenaStorage>>
        storage;
    std::unordered_set<const TensorState*> live;
    std::unordered_map<const TensorState*, ParameterRule> updated;
    for (Session* session : group_) {
      const MergedGraph& graph = session->plan_cache->graph();
      if (!graph.trains) return;
      for (TensorIndex t : graph.trainable) {
        if (!session->link.live_[t]) continue;
        live.insert(session->objects.tensors[t].state().get());
      }
    }
    for (Session* session : group_) {
      const Compilation& main = session->plan_cache->main()->compilation;
      const MergedGraph& graph = *main.graph;
      const auto accumulators = accumulators_of(*session);
      const std::vector<std::size_t> places = places_of(graph);
      for (const Trained& trained :
           main.program(PlanKind::Phases).assembled.trained) {
        const Tensor& tensor = session->objects.tensors[trained.tensor];
        const auto* state = tensor.state().get();
        const TensorIndex accumulator = accumulators[trained.tensor];
        if (accumulator == kNoTensor) continue;
        const auto own = session->placement.of(accumulator);
        const auto [it, is_first] = storage.try_emplace(state, own);
        if (!is_first) {
          session->placement.redirect(accumulator, it->second);
          link_->contributions[it->second.get()];
        }
        if (!session->objects.optimizer) continue;
        const ParameterRule rule = graph.rule(places[trained.tensor]);
        const auto updater = updated.find(state);
        if (updater != updated.end()) {
          require_same_rule(tensor, updater->second, rule);
        }
        const bool is_updated_here =
            live.contains(state) && updated.emplace(state, rule).second;
        if (!is_updated_here) session->link.not_updated_[trained.tensor] = true;
      }
      auto& not_updated = session->link.not_updated_;
      for (const auto& part : graph.parts) {
        not_updated[part.tensor] = not_updated[part.of];
      }
    }
  }

  void enter(Session* session) {
    LinkMember& member = session->link;
    member.link_ = link_;
    member.inputs_.set_linked(true);
    member.index_accumulators();
    const OptimizerPtr& optimizer = session->objects.optimizer;
    if (!optimizer) return;
    auto& [users, updated] = link_->optimizers[optimizer.get()];
    const auto& main = session->plan_cache->main()->compilation;
    const bool updates_anything = std::ranges::any_of(
        main.program(PlanKind::Phases).assembled.trained,
        [&](const Trained& t) { return !member.skips_update(t.tensor); });
    if (updates_anything) users.push_back(&member);
    updated.reserve(group_.size());
  }

  Group group_;
  std::shared_ptr<Link> link_;
  std::unordered_map<const TensorState*, std::pair<Session*, TensorIndex>>
      producer_of_;
  std::vector<Passed> passed_;
};

void link_sessions(const std::vector<std::shared_ptr<Session>>& handles) {
  const Group group = group_of(handles);
  const auto locks = lock_all(group);
  for (Session* session : group) require_linkable(*session, *group.front());
  require_one_collective(graphs_of(group));
  for (Session* session : group) {
    session->in_flight.wait_until_idle();
    session->link.leave();
    session->plan_cache->forget_bindings();
    session->executor.forget_phases();
    if (session->exchange) session->exchange->leave();
  }
  try {
    LinkBuilder(group, handles).run();
    link_exchanges(graphs_of(group));
  } catch (...) {
    for (Session* session : group) {
      session->link.leave();
      if (session->exchange) session->exchange->leave();
    }
    throw;
  }
}

}  // namespace traingraph
