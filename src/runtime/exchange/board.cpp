// SPDX-License-Identifier: MIT
#include "runtime/exchange/board.h"

#include <string>
#include <utility>

#include "runtime/exchange/ranks.h"
#include "traingraph/error.h"

namespace traingraph {

Board::Board(std::shared_ptr<std::byte> memory, std::vector<Place*> places,
             int rank)
    : memory_(std::move(memory)),
      places_(std::move(places)),
      own_(*places_[static_cast<std::size_t>(rank)]) {}

std::uint64_t Board::put_up(const CallHeader& header) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t number = own_.num_headers.load() + 1;
  own_.headers[number % kMostHeaders] = header;
  own_.num_headers.store(number, std::memory_order_release);
  return number;
}

bool Board::are_there(std::uint64_t number) const {
  bool are_all = true;
  for (std::size_t rank = 0; rank < places_.size(); ++rank) {
    const auto is_there = [&] {
      return places_[rank]->num_headers.load(std::memory_order_acquire) >=
             number;
    };
    if (is_there()) continue;
    are_all = false;
    require_whole_unless(static_cast<int>(rank), is_there);
  }
  return are_all;
}

void Board::read(std::uint64_t number, std::span<CallHeader> headers) const {
  for (std::size_t rank = 0; rank < places_.size(); ++rank) {
    headers[rank] = places_[rank]->headers[number % kMostHeaders];
  }
}

void Board::give_up() noexcept { own_.has_given_up = true; }

void Board::throw_failed(int rank) {
  throw DeviceError(ErrorInfo{.what = rank_text(rank) +
                                      " has failed; its own error says why"});
}

std::shared_ptr<SharedByGraphs> shared_by_graphs(
    const std::shared_ptr<Collective>& collective) {
  struct Known {
    std::weak_ptr<Collective> collective;
    std::shared_ptr<SharedByGraphs> shared;
  };
  static std::mutex mutex;
  static auto* const all = new std::vector<Known>;  // executions may outlive it
  const std::scoped_lock lock(mutex);
  std::erase_if(*all,
                [](const Known& known) { return known.collective.expired(); });
  for (const Known& known : *all) {
    if (known.collective.lock() == collective) return known.shared;
  }
  all->push_back({collective, std::make_shared<SharedByGraphs>()});
  return all->back().shared;
}

}  // namespace traingraph
