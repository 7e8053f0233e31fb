// SPDX-License-Identifier: MIT
#include "runtime/exchange/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/tensor_state.h"
#include "runtime/collective/rank_text.h"
#include "runtime/device/device_wait.h"
#include "traingraph/error.h"

namespace traingraph {

Exchange::Exchange(DataParallel options)
    : options_(std::move(options)),
      group_(options_.collective, options_.collective_timeout),
      announcement_(std::make_shared<Operation>()),
      calls_(std::make_shared<CallOrder>()),
      sum_of_losses_(std::make_shared<Operation>()),
      gathered_statistics_(std::make_shared<Operation>()) {
  for (auto& piece : gathered_pieces_) piece = std::make_shared<Operation>();
}

void Exchange::link(const Exchange& first, std::shared_ptr<CallOrder> calls,
                    int graph) {
  group_.join(first.group_);
  calls_ = std::move(calls);
  graph_ = graph;
}

void Exchange::leave() {
  calls_ = std::make_shared<CallOrder>();
  graph_ = 0;
}

std::string Exchange::in_graph(const std::string& what) const {
  return calls_->graphs.empty() ? what : calls_->graphs[graph_] + ", " + what;
}

template <class F>
void Exchange::wait(Operation& operation, const char* call, const F& what,
                    const std::function<bool()>& is_aborted) {
  group_.wait(operation, call, [&] { return in_graph(what()); }, is_aborted);
}

double Exchange::run(const HostUnits& units, std::size_t event,
                     const Call& call,
                     const std::function<bool()>& is_aborted) {
  group_.require_healthy(call.name);
  try {
    return run_event(units, units.events[event], call, is_aborted);
  } catch (...) {
    group_.fail(std::current_exception());
    throw;
  }
}

double Exchange::run_event(const HostUnits& units, const ExchangeEvent& event,
                           const Call& call,
                           const std::function<bool()>& is_aborted) {
  switch (event.step) {
    case ExchangeStep::Announce:
      announce(units, call);
      return 0;
    case ExchangeStep::Weigh:
      return weigh(units, call, is_aborted);
    case ExchangeStep::Merge:
      merge(units.statistics[event.statistics], call, is_aborted);
      return 0;
    case ExchangeStep::Send:
      send(units, event.bucket);
      return 0;
    case ExchangeStep::SendLosses:
      send_losses(units);
      return 0;
    case ExchangeStep::ReceiveLosses:
      receive_losses(units, call, is_aborted);
      return group_.size() == 1 ? 0 : sum_of_losses_->seconds();
    case ExchangeStep::Gather:
      gather(units.shards, call, is_aborted);
      return 0;
    case ExchangeStep::Receive:
      return receive(units, event.bucket, call, is_aborted);
  }
  return 0;
}

double Exchange::weigh(const HostUnits& units, const Call& call,
                       const std::function<bool()>& is_aborted) {
  if (group_.size() > 1) {
    wait_for_headers(call.name, is_aborted);
    weight_ = weight_of(call.samples, staging_.headers);
    if (call.waiting != 0) average(units.factors, staging_.headers);
  }
  for (float* const weight : units.weights) *weight = weight_;
  return announcement_->seconds();
}

double Exchange::receive(const HostUnits& units, int index, const Call& call,
                         const std::function<bool()>& is_aborted) {
  if (group_.size() == 1) return 0;
  const BoundBucket& bucket = units.buckets[index];
  wait(
      *bucket.sum, call.name, [&] { return name_of(bucket, index); },
      is_aborted);
  return bucket.sum->seconds();
}

void Exchange::announce(const HostUnits& units, const Call& call) {
  if (group_.size() == 1) return;
  header_ = {.number = call.number,
             .samples = call.samples,
             .waiting = call.waiting,
             .changes = call.changes,
             .pieces = static_cast<std::int64_t>(units.buckets.size()),
             .numbers = units.numbers,
             .entry_point = static_cast<std::int32_t>(call.entry_point),
             .graph = graph_,
             .rate = call.rate,
             .compiled = compiled_};
  announce();
}

void Exchange::announce() {
  const std::span<CallHeader> own = own_part(staging_.headers);
  own.front() = header_;
  announcement_->begin(staging_.memory, [&](Collective::Done done) {
    group_.collective().all_gather(std::as_bytes(own),
                                   std::as_writable_bytes(staging_.headers),
                                   std::move(done));
  });
}

/// Of all processes, which are at the same call.
void Exchange::wait_for_headers(const char* call,
                                const std::function<bool()>& is_aborted) {
  const auto what = [] { return std::string("the ") + kAnnouncement; };
  wait(*announcement_, call, what, is_aborted);
  for (std::size_t rank = 0; rank < staging_.headers.size(); ++rank) {
    require_same({header_, staging_.headers[rank], group_.rank(),
                  static_cast<int>(rank)},
                 calls_->graphs, call);
  }
}

void Exchange::barrier(const char* call, std::uint64_t number,
                       const std::exception_ptr& error) {
  group_.require_healthy(call);
  try {
    header_ = {.number = number,
               .samples = error ? 0 : 1,
               .changes = num_changes(),
               .entry_point = kNoEntryPoint,
               .graph = graph_,
               .compiled = compiled_};
    std::strncpy(header_.call, call, sizeof(header_.call) - 1);
    announce();
    wait_for_headers(call, [] {
      check_interrupt();
      return false;
    });
  } catch (...) {
    group_.fail(std::current_exception());
    throw;
  }
  if (error) std::rethrow_exception(error);
  const auto failed =
      std::ranges::find(staging_.headers, 0, &CallHeader::samples);
  if (failed == staging_.headers.end()) return;
  throw StateError(ErrorInfo{
      .op = call,
      .node = rank_text(failed - staging_.headers.begin()),
      .what = "the call has failed in another process, which says why"});
}

void Exchange::send(const HostUnits& units, int index) {
  const BoundBucket& bucket = units.buckets[index];
  for (std::span<float> gap : bucket.gaps) std::ranges::fill(gap, 0.0f);
  if (units.weighs_sums) {
    for (float& value : bucket.values) value *= weight_;
  }
  if (options_.on_bucket) {
    options_.on_bucket({.index = index,
                        .values = bucket.values,
                        .parameters = bucket.parameters});
  }
  if (group_.size() == 1) return;
  bucket.sum->begin(bucket.memory, [&](Collective::Done done) {
    group_.collective().all_reduce(bucket.values, std::move(done));
  });
}

StagingSizes Exchange::staging_sizes(std::size_t longest_shard_bytes) const {
  const auto size = static_cast<std::size_t>(group_.size());
  const std::size_t bytes =
      std::max<std::size_t>(options_.bucket_bytes / size, 64);
  return {.num_ranks = size,
          .piece_bytes = std::min(bytes, longest_shard_bytes)};
}

void Exchange::use(Staging staging) { staging_ = std::move(staging); }

void Exchange::gather(const BoundShards& shards, const Call& call,
                      const std::function<bool()>& is_aborted) {
  const std::size_t bytes = own_part(staging_.pieces.front()).size();
  if (bytes == 0) return;
  const std::size_t count = (shards.longest_bytes + bytes - 1) / bytes;
  send_piece(shards, 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 1 < count) send_piece(shards, i + 1);
    wait(
        *gathered_pieces_[i % 2], call.name, [] { return kShards; },
        is_aborted);
    for (int rank = 0; rank < group_.size(); ++rank) {
      if (rank == group_.rank()) continue;
      copy_to(shards.of_rank[rank], i * bytes,
              staging_.pieces[i % 2].subspan(
                  static_cast<std::size_t>(rank) * bytes, bytes));
    }
  }
  // Where a device keeps track of what it has not written itself.
  for (const Location& at : shards.parameters) shards.context->host_view(at);
}

/// Nothing is computed meanwhile: the next unit needs them.
void Exchange::merge(const BoundStatistics& statistics, const Call& call,
                     const std::function<bool()>& is_aborted) {
  if (group_.size() == 1) return;
  const auto all = staging_.statistics.first(
      statistics.values.size() * static_cast<std::size_t>(group_.size()));
  const auto own = own_part(all);
  std::ranges::copy(statistics.values, own.begin());
  gathered_statistics_->begin(staging_.memory, [&](Collective::Done done) {
    group_.collective().all_gather(
        std::as_bytes(own), std::as_writable_bytes(all), std::move(done));
  });
  wait(
      *gathered_statistics_, call.name, [&] { return name_of(statistics); },
      is_aborted);
  merge_statistics(all, statistics);
}

void Exchange::send_losses(const HostUnits& units) {
  if (group_.size() == 1) return;
  const std::span<float> sums = staging_.losses;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = *units.losses[i];
  sum_of_losses_->begin(staging_.memory, [&](Collective::Done done) {
    group_.collective().all_reduce(sums, std::move(done));
  });
}

void Exchange::receive_losses(const HostUnits& units, const Call& call,
                              const std::function<bool()>& is_aborted) {
  if (group_.size() == 1) return;
  wait(*sum_of_losses_, call.name, [] { return kLosses; }, is_aborted);
  for (std::size_t i = 0; i < staging_.losses.size(); ++i) {
    *units.losses[i] = staging_.losses[i];
  }
}

void Exchange::watch(std::vector<Tensor> tensors) {
  watched_ = std::move(tensors);
  changes_before_ = 0;
  changes_before_ = num_changes();
}

std::uint64_t Exchange::num_changes() const noexcept {
  std::uint64_t sum = 0;
  for (const Tensor& tensor : watched_) sum += tensor.state()->version;
  return sum - changes_before_;
}

void Exchange::send_piece(const BoundShards& shards, std::size_t index) {
  const std::span<std::byte> all = staging_.pieces[index % 2];
  const std::span<std::byte> own = own_part(all);
  copy_from(shards.of_rank[group_.rank()], index * own.size(), own);
  gathered_pieces_[index % 2]->begin(
      staging_.memory, [&](Collective::Done done) {
        group_.collective().all_gather(own, all, std::move(done));
      });
}

}  // namespace traingraph
