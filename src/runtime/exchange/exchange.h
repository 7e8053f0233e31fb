// SPDX-License-Identifier: MIT
// Exchange: what a graph's executions do with those of other processes. One
// thread at a time calls it: the compiling one while nothing is in flight, else
// the device queue's.
//
//   before the first unit      announce   which call it is, and its samples
//   before the gradients       weigh      samples / samples of all
//   between units              merge      statistics become those of all
//   ... and losses             send       where they are to be reduced
//   after a bucket's last one  send       its sum is under way
//   before its first update    receive    ... and there
//   after the last unit        gather     parameters that others have updated
//   ... and losses             receive
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/device_context.h"
#include "runtime/exchange/call_header.h"
#include "runtime/exchange/host_units.h"
#include "runtime/exchange/process_group.h"
#include "runtime/exchange/staging.h"
#include "traingraph/collective.h"
#include "traingraph/data_parallel.h"
#include "traingraph/tensor.h"

namespace traingraph {

class Exchange {
 public:
  /// Of what require_data_parallel() accepts.
  explicit Exchange(DataParallel options);

  const DataParallel& options() const { return options_; }
  ProcessGroup& group() { return group_; }
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }

  // --- while nothing is in flight ---

  /// It is the exchange of graphs[graph] of `calls`. What fails in `first`,
  /// which has the same collective, fails here.
  void link(const Exchange& first, std::shared_ptr<CallOrder> calls, int graph);
  /// Its calls are counted alone again.
  void leave();
  /// Calls that have exchanged something, of all graphs of the link.
  std::uint64_t num_calls() const { return calls_->count; }
  /// The number of a call that is enqueued.
  std::uint64_t next_call() noexcept { return ++calls_->count; }

  /// What executions of a plan whose longest shard has so many bytes send, but
  /// for losses and statistics.
  StagingSizes staging_sizes(std::size_t longest_shard_bytes) const;
  void use(Staging staging);
  /// Among the graphs with this collective it is compiled as the n-th.
  void set_compiled(std::int32_t n) { compiled_ = n; }
  /// Tensors that the user sets in all processes, or in none.
  void watch(std::vector<Tensor> tensors);
  /// How often the user has set those.
  std::uint64_t num_changes() const noexcept;
  std::size_t staging_bytes() const { return staging_.bytes; }
  /// All processes make this call, after as many executions as this one. With
  /// an error here throws that, with one elsewhere StateError.
  void barrier(const char* call, std::uint64_t number,
               const std::exception_ptr& error);

  // --- executions ---

  struct Call {
    const char* name = "";
    EntryPoint entry_point = EntryPoint::Step;
    std::uint64_t number = 0;  // among the calls of this process
    std::int64_t samples = 0;
    std::int64_t waiting = 0;   // of passes that it is averaged with
    std::uint64_t changes = 0;  // by the user
    float rate = 0;             // of learning, where there is an update
  };
  /// What the units have to do at an event. `is_aborted` is asked while this
  /// waits. Returns the seconds that the operation took that it waited for,
  /// else 0.
  double run(const HostUnits& units, std::size_t event, const Call& call,
             const std::function<bool()>& is_aborted);
  /// An execution failed for another reason, or is skipped as one before has.
  void fail(const std::exception_ptr& error) noexcept { group_.fail(error); }

 private:
  double run_event(const HostUnits& units, const ExchangeEvent& event,
                   const Call& call, const std::function<bool()>& is_aborted);
  void announce(const HostUnits& units, const Call& call);
  void announce();
  void wait_for_headers(const char* call,
                        const std::function<bool()>& is_aborted);
  double weigh(const HostUnits& units, const Call& call,
               const std::function<bool()>& is_aborted);
  void send(const HostUnits& units, int bucket);
  double receive(const HostUnits& units, int bucket, const Call& call,
                 const std::function<bool()>& is_aborted);
  std::string in_graph(const std::string& what) const;
  /// As ProcessGroup::wait(), which names the graph, too.
  template <class F>
  void wait(Operation& operation, const char* call, const F& what,
            const std::function<bool()>& is_aborted);
  void gather(const BoundShards& shards, const Call& call,
              const std::function<bool()>& is_aborted);
  void merge(const BoundStatistics& statistics, const Call& call,
             const std::function<bool()>& is_aborted);
  void send_losses(const HostUnits& units);
  void receive_losses(const HostUnits& units, const Call& call,
                      const std::function<bool()>& is_aborted);
  void send_piece(const BoundShards& shards, std::size_t piece);
  /// Of `all`, which is that of all processes.
  template <class T>
  std::span<T> own_part(std::span<T> all) const {
    const std::size_t count = all.size() / static_cast<std::size_t>(size());
    return all.subspan(static_cast<std::size_t>(rank()) * count, count);
  }

  DataParallel options_;
  ProcessGroup group_;
  std::shared_ptr<Operation> announcement_;
  std::shared_ptr<CallOrder> calls_;
  int graph_ = 0;
  std::int32_t compiled_ = 0;
  CallHeader header_;
  Staging staging_;
  float weight_ = 1;
  /// One is copied while one is under way.
  std::array<std::shared_ptr<Operation>, 2> gathered_pieces_;
  std::shared_ptr<Operation> sum_of_losses_;
  std::shared_ptr<Operation> gathered_statistics_;
  std::vector<Tensor> watched_;
  std::uint64_t changes_before_ = 0;  // of those
};

}  // namespace traingraph
