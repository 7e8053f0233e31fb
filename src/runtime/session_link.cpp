// SPDX-License-Identifier: MIT
// Linking: tensors that several sessions share get one device buffer and one
// gradient accumulator.
//
//   first:  x -> A -> t          t's user gradient  <--+  one storage
//   second: t -> B -> loss       t's accumulator    ---+
//   parameters of both: one buffer anyway (tensors know it), one accumulator,
//   and the first session with an optimizer updates them.
#include <algorithm>

#include "graph/tensor_state.h"
#include "runtime/plan_storage.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {

void Session::link(const std::vector<std::shared_ptr<Session>>& handles) {
  std::vector<Session*> group;
  for (const auto& handle : handles) {
    if (std::ranges::find(group, handle.get()) != group.end()) {
      throw InvalidArgument(
          ErrorInfo{.op = "link", .what = "a graph is listed twice"});
    }
    group.push_back(handle.get());
  }
  // Sessions are locked in address order, so that two links cannot deadlock.
  std::vector<Session*> by_address = group;
  std::ranges::sort(by_address);
  std::vector<std::unique_lock<FairMutex>> locks;
  for (Session* session : by_address) locks.emplace_back(session->mutex_);
  for (Session* session : group) session->require_linkable(*this);
  for (Session* session : group) {
    session->wait_until_idle();
    session->leave_link();
    session->forget_bindings();
    session->phase_ = PhaseState::Clean;
  }
  auto shared = std::make_shared<LinkShared>();
  shared->handles.assign(handles.begin(), handles.end());
  try {
    share_results(group, *shared);
    find_fed_gradients(group);
    share_accumulators(group, *shared);
    for (Session* session : group) {
      session->link_ = shared;
      session->index_accumulators();
      const auto& optimizer = session->declaration_.optimizer;
      if (!optimizer) continue;
      auto& [users, updated] = shared->optimizers[optimizer.get()];
      if (session->updates_anything()) users.push_back(session);
      updated.reserve(group.size());
    }
  } catch (...) {
    for (Session* session : group) session->leave_link();
    throw;
  }
}

void Session::require_linkable(const Session& first) const {
  require_compiled("link");
  if (!options_.link_graphs) {
    throw StateError(ErrorInfo{.op = "link",
                               .what = "a graph was not compiled for linking",
                               .expected = "CompileOptions::link_graphs"});
  }
  if (context_ == first.context_) return;
  throw InvalidArgument(
      ErrorInfo{.op = "link",
                .what = "the graphs are compiled for different devices",
                .expected = first.context_->description(),
                .got = context_->description()});
}

/// What another session produces is read where that session's separate phases
/// leave it: inputs, labels and label weights.
void Session::share_results(const std::vector<Session*>& group,
                            LinkShared& shared) {
  for (Session* consumer : group) {
    for (auto& [name, input] : consumer->declared_) {
      const auto producer = std::ranges::find_if(group, [&](Session* session) {
        return session != consumer && session->produces(input.tensor);
      });
      if (producer == group.end()) continue;
      Session& from = **producer;
      consumer->redirect(input.tensor, from.result_storage(input.tensor));
      input.source = &shared.results[input.tensor.state().get()];
      consumer->borrowed_.push_back(
          from.arenas_[static_cast<int>(from.shared_plan())]);
      from.lent_.push_back(input.source);
      shared.shares_results = true;
      if (declaration_.trains && !input.is_label()) {
        consumer->share_gradient(input.tensor, from, shared);
      }
    }
  }
}

/// The gradient of an input is added up where the producer reads it.
void Session::share_gradient(const Tensor& input, Session& producer,
                             LinkShared& shared) {
  const auto& users = producer.declaration_.user_gradients;
  const auto user =
      std::ranges::find_if(users, [&](const auto& u) { return u.of == input; });
  const auto accumulator = declaration_.accumulators.find(input.tensor_id());
  if (user == users.end() || accumulator == declaration_.accumulators.end()) {
    throw StateError(ErrorInfo{
        .op = "link",
        .node = input.label(),
        .what = "the producing graph takes no gradient for this tensor",
        .expected = "a floating-point result",
        .hint = "Call allocate_user_gradient() for it before compile()."});
  }
  auto& into = producer.placements_[user->gradient.state().get()];
  if (!into) return;
  redirect(accumulator->second, into);
  shared.contributions[into.get()];
  producers_.emplace_back(input, &producer);
}

/// Parameters of several sessions: the first one's accumulator serves all, and
/// the first one with an optimizer updates, if any has a gradient.
void Session::share_accumulators(const std::vector<Session*>& group,
                                 LinkShared& shared) {
  std::unordered_map<std::uint64_t, std::shared_ptr<ArenaStorage>> storage;
  std::unordered_map<std::uint64_t, Session*> updater;
  const auto is_live = [&](std::uint64_t id) {
    return std::ranges::any_of(group, [&](const Session* session) {
      return session->live_.contains(id);
    });
  };
  for (Session* session : group) {
    if (!session->declaration_.trains) return;
    for (const auto& trained :
         session->main_->compilation.training->assembled.trained) {
      const std::uint64_t id = trained.tensor.tensor_id();
      const auto accumulator = session->declaration_.accumulators.find(id);
      if (accumulator == session->declaration_.accumulators.end()) continue;
      const auto own = session->placements_[accumulator->second.state().get()];
      const auto [it, is_first] = storage.try_emplace(id, own);
      if (!is_first) {
        session->redirect(accumulator->second, it->second);
        shared.contributions[it->second.get()];
      }
      if (!session->declaration_.optimizer) continue;
      if (!is_live(id) || !updater.try_emplace(id, session).second) {
        session->not_updated_.push_back(id);
      }
    }
  }
}

PlanKind Session::shared_plan() const {
  return declaration_.trains ? PlanKind::Phases : PlanKind::Inference;
}

/// Where the separate phases leave a result; fixed while graphs are linked.
std::shared_ptr<ArenaStorage> Session::result_storage(
    const Tensor& tensor) const {
  const PlanKind kind = shared_plan();
  const CompiledProgram& compiled = main_->compilation.program(kind);
  const ValueId value = compiled.assembled.find(tensor);
  const auto& boundary = compiled.assembled.boundary;
  const bool is_kept =
      std::ranges::find(boundary, value) != boundary.end() ||
      std::ranges::any_of(declaration_.outputs, [&](const auto& output) {
        return output.second == tensor;
      });
  const StorageId storage = is_kept ? compiled.lowered.storage_of[value] : -1;
  if (storage < 0) {
    throw StateError(ErrorInfo{
        .op = "link",
        .node = tensor.label(),
        .what = "the producing graph reads this tensor itself and does not "
                "keep it for others",
        .expected = "a result that is an output, or that no layer reads",
        .got = {},
        .hint = "Call add_outputs() or allocate_user_gradient() for it before "
                "compile()."});
  }
  const std::size_t offset = main_->compilation.plan(kind).offset_of[storage];
  return std::make_shared<ArenaStorage>(arenas_[static_cast<int>(kind)], offset,
                                        tensor.descriptor().size_bytes());
}

/// Places a tensor elsewhere until the link ends.
void Session::redirect(const Tensor& tensor,
                       std::shared_ptr<ArenaStorage> storage) {
  auto& placement = placements_[tensor.state().get()];
  before_link_.emplace_back(tensor, std::move(placement));
  placement = std::move(storage);
}

Session::~Session() { leave_link(); }

bool Session::updates_anything() const {
  const auto& trained = main_->compilation.training->assembled.trained;
  return std::ranges::any_of(trained, [&](const Trained& t) {
    return !skips_update(t.tensor.tensor_id());
  });
}

/// What others of the link may still read stays allocated, but they are told.
void Session::leave_link() noexcept {
  if (link_) link_->is_broken = true;
  link_.reset();
  std::ranges::fill(accumulation_.added_to, nullptr);
  accumulation_.used_by_gradient.clear();
  accumulation_.used_by_update.clear();
  not_updated_.clear();
  lent_.clear();
  borrowed_.clear();
  producers_.clear();
  const bool was_fed = !fed_.empty();
  fed_.clear();
  if (was_fed && main_) find_live_gradients();
  for (Input& input : undeclared_) input.is_fed = false;
  for (auto& [name, input] : declared_) {
    if (input.source) input.is_on_device = false;
    input.source = nullptr;
  }
  while (!before_link_.empty()) {
    auto& [tensor, storage] = before_link_.back();
    placements_[tensor.state().get()] = std::move(storage);
    before_link_.pop_back();
  }
}

void Session::require_link(const Call& call, std::int64_t batch) const {
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
  if (batch != batch_) {
    throw UnsupportedError(
        ErrorInfo{.op = call.name,
                  .what = "linked graphs that share results run one batch size",
                  .expected = std::to_string(batch_),
                  .got = std::to_string(batch),
                  .hint = "Pass the results on through the host."});
  }
  if (lent_.empty() || plan_of(call.segment) == shared_plan()) return;
  throw StateError(ErrorInfo{
      .op = call.name,
      .what = "a linked graph reads results of separate phases only",
      .expected = "execute_forward, execute_gradient and "
                  "execute_optimizer_update",
      .hint = "For inference link inference graphs of the same objects."});
}

/// A graph that reads nobody's results starts a new chain with its forward.
std::shared_ptr<ExecutionState> Session::link_dependency(
    const Call& call) const {
  if (!link_ || !link_->shares_results) return nullptr;
  const bool is_first = borrowed_.empty() &&
                        call.segment != Segment::Gradient &&
                        call.segment != Segment::Update;
  return is_first ? nullptr : link_->last;
}

/// Looks up which shared accumulators this session's passes add to and use.
void Session::index_accumulators() {
  const Declaration& d = declaration_;
  accumulation_ = {};
  if (!d.is_linkable || !d.accumulation) return;
  const auto contribution_in = [&](const Tensor& tensor) -> Contribution* {
    const auto placed = placements_.find(tensor.state().get());
    if (!link_ || placed == placements_.end()) return nullptr;
    const auto shared = link_->contributions.find(placed->second.get());
    return shared == link_->contributions.end() ? nullptr : &shared->second;
  };
  for (const Tensor& tensor : accumulated_tensors(d)) {
    const auto it = d.accumulators.find(tensor.tensor_id());
    Contribution* contribution =
        it == d.accumulators.end() ? nullptr : contribution_in(it->second);
    accumulation_.factors.push_back(0);
    accumulation_.added_to.push_back(contribution);
    accumulation_.is_live.push_back(live_.contains(tensor.tensor_id()));
    const auto& trained = *d.trained;
    const bool is_updated_here =
        std::ranges::find(trained, tensor) != trained.end() &&
        !skips_update(tensor.tensor_id());
    if (contribution && is_updated_here) {
      accumulation_.used_by_update.push_back(contribution);
    }
  }
  for (const auto& user : d.user_gradients) {
    if (Contribution* contribution = contribution_in(user.gradient)) {
      accumulation_.used_by_gradient.push_back(contribution);
    }
  }
}

}  // namespace traingraph
