// SPDX-License-Identifier: MIT
#include "runtime/collective/mpi_shared_memory.h"

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <utility>

#include "base/sum_of_ranks.h"
#include "runtime/device/device_wait.h"
#include "runtime/device/huge_pages.h"

#if defined(__linux__)
#include <sys/statvfs.h>
#endif

namespace traingraph::mpi {
namespace {

constexpr const char* kAllocate = "allocate_shared";
/// What ranks compare window by window.
constexpr std::size_t kMostWindows = 64;
/// As much as any device asks of an arena.
constexpr std::size_t kAlignment = 4096;
/// A system that has promised more than it has ends the process that uses it.
constexpr std::uint64_t kPartOfRoom = 2;
/// Bytes of a part that goes with the flags.
constexpr std::size_t kMostShort = 128;

/// Huge ones, if there is one: the memory of one rank follows that of another.
std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = bytes < kHugePage ? kAlignment : kHugePage;
  return (bytes + page - 1) / page * page;
}

/// Bytes of shared memory that the system has left. In containers they are
/// often few.
std::uint64_t room() {
#if defined(__linux__)
  struct statvfs info{};
  if (::statvfs("/dev/shm", &info) != 0) return 0;
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
#else
  return ~std::uint64_t{0};
#endif
}

void use_huge_pages_of(std::span<std::byte* const> bases, std::size_t bytes) {
  for (std::byte* const base : bases) use_huge_pages(base, bytes);
}

}  // namespace

/// What a rank begins an operation with.
struct SharedMemory::Message {
  std::int64_t window = -1;  // where the bytes are; -1: in none
  std::uint64_t offset = 0, num_bytes = 0;
  std::array<std::byte, kMostShort> part = {};  // of what is gathered, if short
};

struct SharedMemory::Flags {
  alignas(128) std::atomic<std::uint64_t> begun{0};
  /// In turn: an operation may be over here, and the next one begun, when
  /// others still read what this rank began it with.
  std::array<Message, 2> messages;
  alignas(128) std::atomic<std::uint64_t> done{0};
};

struct SharedMemory::Window {
  std::vector<std::byte*> bases;  // by rank
  std::size_t bytes = 0;          // of this rank
  /// Of the memory that is given out.
  std::weak_ptr<std::byte> user;
};

std::unique_ptr<SharedMemory> SharedMemory::make(Library& library,
                                                 Comm communicator, int rank,
                                                 int size,
                                                 const std::string& who) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  const Functions& f = library.functions();
  if (size == 1) return nullptr;
  // The split blocks until all ranks make it: they begin it together.
  library.run(
      kAllocate, who,
      [&](Request* request) { return f.ibarrier(communicator, request); },
      [] {
        check_interrupt();
        return true;
      });
  const Library::Running running(library, kAllocate);
  const auto check = [&](int code) { library.require(code, kAllocate, who); };
  Comm on_machine = comm_null();
  check(f.comm_split_type(communicator, kCommTypeShared, rank, info_null(),
                          &on_machine));
  check(f.comm_set_errhandler(on_machine, errors_return()));
  int num_here = 0, num_all = 0;
  check(f.comm_size(on_machine, &num_here));
  // All ranks are here, or none of them has all.
  if (num_here != size) return nullptr;
  check(f.comm_size(comm_world(), &num_all));
  // All others may be on this machine, too, in groups that look for room at the
  // same time: each takes its ranks' part of it.
  const auto groups = static_cast<std::uint64_t>((num_all + size - 1) / size);
  return std::unique_ptr<SharedMemory>(new SharedMemory(
      library, on_machine, rank, size, groups * kPartOfRoom, who));
}

SharedMemory::SharedMemory(Library& library, Comm communicator, int rank,
                           int size, std::uint64_t part_of_room,
                           std::string who)
    : library_(library),
      communicator_(communicator),
      rank_(rank),
      size_(size),
      part_of_room_(part_of_room),
      who_(std::move(who)),
      places_(static_cast<std::size_t>(size)) {}

SharedMemory::~SharedMemory() = default;

template <class T>
std::vector<T> SharedMemory::gather(const T& own, const MayGoOn& may_go_on) {
  std::vector<T> all(static_cast<std::size_t>(size_));
  library_.run(
      kAllocate, who_,
      [&](Request* request) {
        return library_.functions().iallgather(
            &own, sizeof(T), byte_type(), all.data(), sizeof(T), byte_type(),
            communicator_, request);
      },
      may_go_on);
  return all;
}

std::vector<std::byte*> SharedMemory::try_window(std::size_t bytes) {
  const Functions& f = library_.functions();
  void* own = nullptr;
  Win window = win_null();
  if (f.win_allocate_shared(static_cast<Count>(bytes), 1, info_null(),
                            communicator_, static_cast<void*>(&own),
                            &window) != kSuccess) {
    return {};
  }
  // Loads and stores of all, at any time.
  if (f.win_lock_all(kModeNoCheck, window) != kSuccess) return {};
  std::vector<std::byte*> bases;
  for (int rank = 0; rank < size_; ++rank) {
    Count size = 0, unit = 0;
    void* base = nullptr;
    if (f.win_shared_query(window, rank, &size, &unit,
                           static_cast<void*>(&base)) != kSuccess) {
      return {};
    }
    bases.push_back(map_again(static_cast<std::byte*>(base), bytes));
  }
  return bases;
}

std::vector<std::byte*> SharedMemory::make_window(std::size_t bytes,
                                                  const MayGoOn& may_go_on) {
  // MPI makes windows in a call that blocks until all ranks make it, and cannot
  // be ended: one that has given up before must not keep the others there.
  library_.run(
      kAllocate, who_,
      [&](Request* request) {
        return library_.functions().ibarrier(communicator_, request);
      },
      may_go_on);
  std::vector<std::byte*> bases;
  {
    const Library::Running running(library_, kAllocate);
    bases = try_window(bytes);
  }
  if (!bases.empty()) std::fill_n(bases[rank_], bytes, std::byte{});
  const auto are_there = [&](bool is_there) {
    const std::uint8_t own = is_there ? 1 : 0;
    const auto all = gather(own, may_go_on);
    return std::ranges::find(all, 0) == all.end();
  };
  makes_windows_ = are_there(!bases.empty());
  if (!makes_windows_) return {};
  // One after the other: the first moves what is there to huge pages.
  if (rank_ == 0) use_huge_pages_of(bases, bytes);
  are_there(true);
  if (rank_ != 0) use_huge_pages_of(bases, bytes);
  return bases;
}

/// The flags are there when the first window is: it is made by all ranks, after
/// them.
bool SharedMemory::add_window(std::size_t bytes, const MayGoOn& may_go_on) {
  if (flags_.empty()) {
    flags_ = make_window(whole_pages(sizeof(Flags)), may_go_on);
    if (flags_.empty()) return false;
    new (flags_[rank_]) Flags;
  }
  auto window = std::make_unique<Window>();
  window->bases = make_window(bytes, may_go_on);
  window->bytes = bytes;
  if (window->bases.empty()) return false;
  const std::scoped_lock lock(mutex_);
  windows_.push_back(std::move(window));
  return true;
}

std::shared_ptr<std::byte> SharedMemory::allocate(std::size_t bytes,
                                                  const MayGoOn& may_go_on) {
  struct State {
    std::uint64_t fitting = 0;  // a bit for each window
    std::uint64_t bytes = 0, room = 0;
  };
  bytes = whole_pages(bytes);
  State own{.fitting = 0, .bytes = bytes, .room = room()};
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const Window& window = *windows_[i];
    if (window.user.expired() && window.bytes >= bytes) {
      own.fitting |= std::uint64_t{1} << i;
    }
  }
  std::uint64_t fitting = ~std::uint64_t{0}, longest = 0;
  std::uint64_t left = ~std::uint64_t{0};
  for (const State& state : gather(own, may_go_on)) {
    fitting &= state.fitting;
    longest = std::max(longest, state.bytes);
    left = std::min(left, state.room);
  }
  std::size_t index = 0;
  while (index < windows_.size() && (fitting >> index & 1) == 0) ++index;
  if (index == windows_.size()) {
    const std::size_t flags = flags_.empty() ? whole_pages(sizeof(Flags)) : 0;
    const std::uint64_t most = left / part_of_room_;
    const bool has_room = longest + flags <= most / size_;
    if (index == kMostWindows || !has_room || !makes_windows_) return nullptr;
    // Each maps those of all: they are of one size.
    if (!add_window(longest, may_go_on)) return nullptr;
  }
  Window& window = *windows_[index];
  // It stays as long as the process.
  std::shared_ptr<std::byte> memory(window.bases[rank_], [](std::byte*) {});
  window.user = memory;
  return memory;
}

const SharedMemory::Window* SharedMemory::find(const std::byte* at) const {
  for (const auto& window : windows_) {
    const std::byte* const base = window->bases[rank_];
    if (at >= base && at < base + window->bytes) return window.get();
  }
  return nullptr;
}

std::byte* SharedMemory::find(const std::byte* own, int rank) const {
  const std::scoped_lock lock(mutex_);
  const Window* const window = find(own);
  return window ? window->bases[rank] + (own - window->bases[rank_]) : nullptr;
}

SharedMemory::Flags& SharedMemory::flags_of(int rank) const {
  return *std::launder(reinterpret_cast<Flags*>(flags_[rank]));
}

SharedMemory::Message& SharedMemory::message_of(int rank) const {
  return flags_of(rank).messages[number_ % 2];
}

void SharedMemory::meet(const char* op,
                        std::atomic<std::uint64_t> Flags::* flag,
                        const MayGoOn& may_go_on) {
  (flags_of(rank_).*flag).store(number_, std::memory_order_release);
  int next = 0;
  const auto are_there = [&] {
    while (next < size_ &&
           (flags_of(next).*flag).load(std::memory_order_acquire) >= number_) {
      ++next;
    }
    return next == size_;
  };
  // By reference: a copy would be on the heap.
  library_.wait_until(op, who_, std::cref(are_there), may_go_on);
}

bool SharedMemory::begin(const char* op, std::span<const std::byte> bytes,
                         std::span<const std::byte> part,
                         const MayGoOn& may_go_on) {
  ++number_;
  const Window* const window = find(bytes.data());
  Message& own = message_of(rank_);
  own.window = -1;
  own.num_bytes = bytes.size();
  std::ranges::copy(part, own.part.begin());
  if (window) {
    own.window = std::ranges::find(windows_, window,
                                   [](const auto& w) { return w.get(); }) -
                 windows_.begin();
    own.offset =
        static_cast<std::uint64_t>(bytes.data() - window->bases[rank_]);
  }
  meet(op, &Flags::begun, may_go_on);
  for (int rank = 0; rank < size_; ++rank) {
    const Message& message = message_of(rank);
    // MPI knows what to say of other numbers.
    if (message.window < 0 || message.num_bytes != bytes.size()) return false;
    places_[rank] = windows_[message.window]->bases[rank] + message.offset;
  }
  return true;
}

bool SharedMemory::barrier(const MayGoOn& may_go_on) {
  if (windows_.empty()) return false;  // then so they are on all ranks
  constexpr const char* kName = "barrier";
  const Library::Running running(library_, kName);
  ++number_;
  meet(kName, &Flags::begun, may_go_on);
  return true;
}

bool SharedMemory::all_gather(std::span<std::byte> all,
                              const MayGoOn& may_go_on) {
  if (windows_.empty()) return false;
  constexpr const char* kName = "all_gather";
  const Library::Running running(library_, kName);
  const std::size_t size = all.size() / static_cast<std::size_t>(size_);
  const auto place_of = [&](int rank) {
    return static_cast<std::size_t>(rank) * size;
  };
  const bool is_short = size <= kMostShort;
  const auto own = all.subspan(place_of(rank_), is_short ? size : 0);
  if (!begin(kName, all, own, may_go_on)) return false;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    const std::byte* const part = is_short ? message_of(rank).part.data()
                                           : places_[rank] + place_of(rank);
    std::copy_n(part, size, all.data() + place_of(rank));
  }
  if (!is_short) meet(kName, &Flags::done, may_go_on);
  return true;
}

bool SharedMemory::all_reduce(std::span<float> values,
                              const MayGoOn& may_go_on) {
  if (windows_.empty()) return false;
  constexpr const char* kName = "all_reduce";
  // Flags and values are MPI's memory.
  const Library::Running running(library_, kName);
  if (!begin(kName, std::as_bytes(values), {}, may_go_on)) return false;
  const std::size_t lines = (values.size() + kLineFloats - 1) / kLineFloats;
  const auto first_of = [&](int rank) {
    const auto size = static_cast<std::size_t>(size_);
    return std::min(values.size(), lines * static_cast<std::size_t>(rank) /
                                       size * kLineFloats);
  };
  sum_of_ranks(places_, first_of(rank_), first_of(rank_ + 1),
               [&](std::size_t at, const auto& sum) {
                 for (std::byte* const values_of_rank : places_) {
                   std::ranges::copy(
                       sum, reinterpret_cast<float*>(values_of_rank) + at);
                 }
               });
  meet(kName, &Flags::done, may_go_on);
  return true;
}

}  // namespace traingraph::mpi
