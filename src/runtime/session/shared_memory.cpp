// SPDX-License-Identifier: MIT
#include "runtime/session/shared_memory.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace traingraph {
namespace {

using Arenas = std::vector<std::shared_ptr<Arena>>;

/// Of what is updated in shares; appends to `places` where that is.
Arenas arenas_of_shares(const Session& session, std::string& places) {
  const MergedGraph& graph = session.batches->graph();
  Arenas arenas;
  for (std::size_t i = 0; i < graph.trainable.size(); ++i) {
    if (!graph.shares->is_trained(i)) continue;
    const auto& place = session.placement.of(graph.trainable[i]);
    const auto found = std::ranges::find(arenas, place->arena);
    places += std::to_string(found - arenas.begin()) + ' ' +
              std::to_string(place->offset) + '\n';
    if (found == arenas.end()) arenas.push_back(place->arena);
  }
  return arenas;
}

/// Do all processes have the same text?
bool are_alike(Agreement& agreement, const std::string& text) {
  const auto texts = agreement.gather(text, "where parameters are");
  return std::ranges::all_of(
      texts, [&](const auto& other) { return other == texts.front(); });
}

/// Null: there is no such memory.
std::shared_ptr<DeviceBuffer> allocate_seen(Session& session,
                                            Agreement& agreement,
                                            std::size_t bytes) {
  auto memory = agreement.allocate_shared(bytes);
  if (!memory) return nullptr;
  const bool is_seen =
      !session.exchange->near_ranks().find(memory.get()).empty();
  if (!is_seen) return nullptr;
  return session.placement.context()->wrap(std::move(memory), bytes);
}

/// In numbers.
std::size_t longest_statistics(const Compilation& main) {
  const LoweredProgram& lowered = main.training->lowered;
  std::size_t bytes = 0;
  for (const SharedStatistics& each : lowered.statistics) {
    bytes = std::max(bytes, lowered.storages[each.storage].bytes);
  }
  return bytes / sizeof(double);
}

}  // namespace

/// Those that are allocated stay: other graphs may have bound them.
void share_parameters(Session& session, Agreement& agreement) {
  NearRanks& near = session.exchange->near_ranks();
  if (!session.batches->graph().shares || near.has_parameters()) return;
  std::string places;
  const Arenas arenas = arenas_of_shares(session, places);
  for (const auto& arena : arenas) {
    places += arena->is_allocated() ? "allocated\n" : "new\n";
  }
  const bool are_new = std::ranges::none_of(
      arenas, [](const auto& arena) { return arena->is_allocated(); });
  if (!are_alike(agreement, places) || !are_new) return;
  std::vector<std::shared_ptr<DeviceBuffer>> buffers;
  for (const auto& arena : arenas) {
    auto buffer = allocate_seen(session, agreement, arena->size_bytes());
    if (buffer) buffers.push_back(std::move(buffer));
  }
  const bool are_seen = buffers.size() == arenas.size();
  const std::string own = are_seen ? "seen" : "not seen";
  if (!are_alike(agreement, own) || !are_seen) return;
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    arenas[i]->allocate_in(std::move(buffers[i]));
  }
  near.share_parameters();
}

std::shared_ptr<Board> make_board(Session& session, Agreement& agreement) {
  const auto memory = agreement.allocate_shared(sizeof(Board::Place));
  std::vector<Board::Place*> places;
  if (memory) {
    std::fill_n(memory.get(), sizeof(Board::Place), std::byte{});
    for (std::byte* const at :
         session.exchange->near_ranks().find(memory.get())) {
      places.push_back(reinterpret_cast<Board::Place*>(at));
    }
  }
  const std::string own = places.empty() ? "not seen" : "seen";
  const bool is_seen = are_alike(agreement, own) && !places.empty();
  if (!is_seen) return nullptr;
  return std::make_shared<Board>(memory, std::move(places),
                                 session.exchange->rank());
}

void share_arena(Session& session, Agreement& agreement) {
  Exchange& exchange = *session.exchange;
  if (session.main().step.buckets.empty()) {
    return exchange.share_nothing("there are none");
  }
  if (session.batches->graph().accumulates_in_steps()) {
    return exchange.share_nothing(
        "graphs that may be linked add them up elsewhere");
  }
  // Such a graph is trained in phases, and a step's arena would lie there for
  // nothing.
  if (session.batches->graph().accumulates_gradients) {
    return exchange.share_nothing("the graph accumulates them");
  }
  Arena& arena = *session.placement.arena(PlanKind::Step);
  arena.use(nullptr);  // of the last compile; it is given out again
  auto memory = agreement.allocate_shared(arena.size_bytes());
  if (!memory) {
    return exchange.share_nothing(
        "the ranks share no memory, or it has not enough room");
  }
  std::byte* const begin = memory.get();
  auto buffer =
      session.placement.context()->wrap(std::move(memory), arena.size_bytes());
  if (!buffer) {
    return exchange.share_nothing("the device has memory of its own");
  }
  exchange.share(buffer, begin);
  arena.use(std::move(buffer));
}

void allocate_staging(Session& session, Agreement& agreement) {
  Exchange& exchange = *session.exchange;
  NearRanks& near = exchange.near_ranks();
  const MergedGraph& graph = session.batches->graph();
  const auto allocate = [&](std::size_t longest_share_bytes) {
    StagingSizes sizes = exchange.staging_sizes(longest_share_bytes);
    if (graph.reduces_losses) sizes.num_losses = graph.losses.size();
    sizes.num_statistics = longest_statistics(session.main());
    exchange.use(make_staging(sizes, [&](std::size_t bytes) {
      return agreement.allocate_shared(bytes);
    }));
    const std::string own = near.meets() ? "seen" : "not seen";
    if (!are_alike(agreement, own)) near.meet_nowhere();
  };
  if (near.has_parameters()) {
    allocate(0);
    if (near.meets()) return;
    near.forget_parameters();  // there was no room left to meet in
  }
  allocate(bind_shares(graph, session.placement).longest_bytes);
}

}  // namespace traingraph
