// SPDX-License-Identifier: MIT
// Exchange: what a graph's executions do with those of other processes. One
// thread at a time calls it: the compiling one while nothing is in flight, else
// the device queue's.
//
//   before the first unit      announce   samples and number of the call, to
//   all before the gradients       weigh      samples / samples of all after a
//   bucket's last one  send       its sum is under way before its first update
//   receive    ... and there
//
// What fails, or takes longer than the deadline, ends the exchange for good:
// the others may be anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/exchange/agreement.h"
#include "runtime/exchange/exchange_plan.h"
#include "traingraph/collective.h"
#include "traingraph/data_parallel.h"

namespace traingraph {

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  /// Throws InvalidArgument.
  explicit Exchange(DataParallel options);

  const DataParallel& options() const { return options_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  // --- while nothing is in flight ---

  /// Throws the same InvalidArgument in all processes, naming the first fact in
  /// which one differs from rank 0.
  void agree(std::span<const Fact> facts);
  /// Bytes of this process that all see, where sums are fastest; null: there
  /// are none. At the same time in all.
  std::shared_ptr<std::byte> allocate_shared(std::size_t bytes);
  /// All get the bytes of rank 0.
  void broadcast(std::span<std::byte> bytes);

  // --- executions ---

  struct Call {
    const char* name = "";
    Segment segment = Segment::Step;
    std::uint64_t number = 0;  // among the calls of this process
    std::int64_t samples = 0;
    float rate = 0;  // of learning, where there is an update
  };
  /// What the plan has to do at an event. `gives_up` is asked while this waits.
  /// Returns the seconds that the operation took that it waited for, else 0.
  double run(const ExchangePlan& plan, std::size_t event, const Call& call,
             const std::function<bool()>& gives_up);
  /// An execution that has begun failed for another reason.
  void fail(const std::exception_ptr& error) noexcept;

 private:
  struct Header {
    std::uint64_t number = 0;
    std::int64_t samples = 0;
    std::int32_t segment = 0;
    float rate = 0;
  };

  double run_event(const ExchangePlan& plan, const ExchangeEvent& event,
                   const Call& call, const std::function<bool()>& gives_up);
  void announce(const Call& call);
  float weight(const Call& call, const std::function<bool()>& gives_up);
  void send(const ExchangePlan& plan, int bucket);
  void require_same(const Header& other, int rank, const char* call) const;
  /// `what`: names the operation when something is wrong.
  template <class What>
  void wait(Operation& operation, const char* call, const What& what,
            const std::function<bool()>& gives_up);
  /// Begins and waits.
  template <class F>
  void complete(const std::string& what, std::shared_ptr<const void> memory,
                F&& start);
  std::vector<std::string> gather(const std::string& text,
                                  const std::string& what);
  void require_whole(const char* call) const;

  DataParallel options_;
  int rank_ = 0, size_ = 1;
  std::shared_ptr<Operation> announcement_, other_;
  Header header_;
  std::vector<Header> headers_;  // of all
  float weight_ = 1;
  std::string failure_;  // empty: none yet
};

}  // namespace traingraph
