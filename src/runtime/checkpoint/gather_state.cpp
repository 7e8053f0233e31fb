// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/gather_state.h"

#include <algorithm>
#include <exception>

#include "runtime/exchange/rendezvous.h"

namespace traingraph {
namespace {

class Gathering {
 public:
  Gathering(const char* call, Session& session, const ReadSteps& steps)
      : call_(call),
        exchange_(*session.exchange),
        number_(exchange_.num_calls()),
        rendezvous_(exchange_.group(), call),
        steps_(steps) {}

  void run(const std::vector<StateEntry>& entries) {
    attempt([&] { steps_.begin(); });
    barrier();
    std::string names;
    for (const StateEntry& entry : entries) names += entry.name + '\n';
    const ConfigurationItem item{"tensors that are read", names};
    rendezvous_.compare(std::span(&item, 1));
    for (const StateEntry& entry : entries) {
      entry.shards ? gather(entry) : read(entry);
    }
    attempt([&] { steps_.end(); });
    barrier();
  }

 private:
  /// Others count on this process to go on.
  template <class Step>
  void attempt(const Step& step) {
    if (error_) return;
    try {
      step();
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  void barrier() { exchange_.barrier(call_, number_, error_); }

  void read(const StateEntry& entry) {
    if (!steps_.take) return;
    attempt([&] {
      read_entry(entry, [&](std::span<const std::byte> piece) {
        steps_.take(entry, piece);
      });
    });
  }

  void gather(const StateEntry& entry) {
    for (int rank = 0; rank < exchange_.size(); ++rank) {
      const ElementRange range = entry.shards->of(entry.place, rank);
      const std::size_t bytes =
          static_cast<std::size_t>(range.size()) * sizeof(float);
      for (std::size_t at = 0; at < bytes; at += kPieceBytes) {
        std::vector<std::byte> piece(std::min(kPieceBytes, bytes - at));
        if (rank == exchange_.rank()) {
          attempt([&] { read_piece(entry, at, piece); });
        }
        rendezvous_.broadcast(piece, rank);
        if (steps_.take) attempt([&] { steps_.take(entry, piece); });
      }
    }
  }

  const char* const call_;
  Exchange& exchange_;
  const std::uint64_t number_;
  Rendezvous rendezvous_;
  const ReadSteps& steps_;
  std::exception_ptr error_;
};

bool are_in_shards(const std::vector<StateEntry>& entries) {
  return std::ranges::any_of(
      entries, [](const StateEntry& entry) { return entry.shards != nullptr; });
}

}  // namespace

void gather_state(const char* call, Session& session,
                  const std::vector<StateEntry>& entries,
                  const ReadSteps& steps) {
  if (are_in_shards(entries)) {
    return Gathering(call, session, steps).run(entries);
  }
  steps.begin();
  for (const StateEntry& entry : entries) {
    if (!steps.take) continue;
    read_entry(entry, [&](std::span<const std::byte> piece) {
      steps.take(entry, piece);
    });
  }
  steps.end();
}

void write_state(const char* call, Session& session,
                 const std::vector<StateEntry>& entries,
                 std::optional<NewFile>& file,
                 const std::function<void()>& begin,
                 const std::function<void()>& end) {
  const bool is_gathered = are_in_shards(entries);
  const bool writes = !is_gathered || session.exchange->rank() == 0;
  ReadSteps steps{.begin = [] {}, .take = {}, .end = [] {}};
  if (writes) {
    steps.begin = begin;
    steps.take = [&](const StateEntry&, std::span<const std::byte> piece) {
      file->write(piece);
    };
    steps.end = [&] {
      end();
      if (!is_gathered) return;
      file->commit();
      file.reset();
    };
  }
  gather_state(call, session, entries, steps);
}

}  // namespace traingraph
