// SPDX-License-Identifier: MIT
#include "runtime/collective/mpi_shared_memory.h"

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <utility>

#include "runtime/device/device_wait.h"

#if defined(__linux__)
#include <sys/statvfs.h>
#endif

namespace traingraph::mpi {
namespace {

constexpr const char* kAllocate = "allocate_shared";
/// What ranks compare window by window.
constexpr std::size_t kMostWindows = 64;
/// Floats of a line of the cache, where shares begin.
constexpr std::size_t kLine = 16;
/// As much as any device asks of an arena.
constexpr std::size_t kAlignment = 4096;
/// A system that has promised more than it has ends the process that uses it.
constexpr std::uint64_t kPartOfRoom = 2;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
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

/// Registers hold the sum, so that each line goes from cache to cache once.
template <std::size_t kCount>
void sum_at(std::size_t at, std::span<std::byte* const> values_of_ranks) {
  const auto values_of = [&](std::size_t rank) {
    return reinterpret_cast<float*>(values_of_ranks[rank]) + at;
  };
  std::array<float, kCount> sum;
  std::copy_n(values_of(0), kCount, sum.begin());
  for (std::size_t rank = 1; rank < values_of_ranks.size(); ++rank) {
    const float* const values = values_of(rank);
    for (std::size_t i = 0; i < kCount; ++i) sum[i] += values[i];
  }
  for (std::size_t rank = 0; rank < values_of_ranks.size(); ++rank) {
    std::copy_n(sum.begin(), kCount, values_of(rank));
  }
}

}  // namespace

struct SharedMemory::Flags {
  alignas(128) std::atomic<std::uint64_t> begun{0};
  std::int64_t window = -1;  // where the bytes are; -1: in none
  std::uint64_t offset = 0, num_bytes = 0;
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
    bases.push_back(static_cast<std::byte*>(base));
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
  const std::uint8_t is_there = bases.empty() ? 0 : 1;
  const auto are_there = gather(is_there, may_go_on);
  makes_windows_ = std::ranges::find(are_there, 0) == are_there.end();
  if (!makes_windows_) bases.clear();
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
  windows_.push_back(std::move(window));
  return true;
}

std::shared_ptr<std::byte> SharedMemory::allocate(std::size_t bytes,
                                                  const MayGoOn& may_go_on) {
  struct State {
    std::uint64_t fitting = 0;  // a bit for each window
    std::uint64_t wanted = 0, room = 0;
  };
  // The memory of one rank follows that of another.
  bytes = whole_pages(bytes);
  State own{.fitting = 0, .wanted = bytes, .room = room()};
  if (flags_.empty()) own.wanted += whole_pages(sizeof(Flags));
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const Window& window = *windows_[i];
    if (window.user.expired() && window.bytes >= bytes) {
      own.fitting |= std::uint64_t{1} << i;
    }
  }
  std::uint64_t fitting = ~std::uint64_t{0}, wanted = 0;
  std::uint64_t left = ~std::uint64_t{0};
  for (const State& state : gather(own, may_go_on)) {
    fitting &= state.fitting;
    wanted += state.wanted;
    left = std::min(left, state.room);
  }
  std::size_t index = 0;
  while (index < windows_.size() && (fitting >> index & 1) == 0) ++index;
  if (index == windows_.size()) {
    const bool has_room = wanted <= left / part_of_room_;
    if (index == kMostWindows || !has_room || !makes_windows_) return nullptr;
    if (!add_window(bytes, may_go_on)) return nullptr;
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

SharedMemory::Flags& SharedMemory::flags_of(int rank) const {
  return *std::launder(reinterpret_cast<Flags*>(flags_[rank]));
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
                         const MayGoOn& may_go_on) {
  ++number_;
  const Window* const window = find(bytes.data());
  Flags& own = flags_of(rank_);
  own.window = -1;
  own.num_bytes = bytes.size();
  if (window) {
    own.window = std::ranges::find(windows_, window,
                                   [](const auto& w) { return w.get(); }) -
                 windows_.begin();
    own.offset =
        static_cast<std::uint64_t>(bytes.data() - window->bases[rank_]);
  }
  meet(op, &Flags::begun, may_go_on);
  for (int rank = 0; rank < size_; ++rank) {
    const Flags& flags = flags_of(rank);
    // MPI knows what to say of other numbers.
    if (flags.window < 0 || flags.num_bytes != bytes.size()) return false;
    places_[rank] = windows_[flags.window]->bases[rank] + flags.offset;
  }
  return true;
}

bool SharedMemory::all_gather(std::span<std::byte> all,
                              const MayGoOn& may_go_on) {
  if (windows_.empty()) return false;  // then so they are on all ranks
  constexpr const char* kName = "all_gather";
  const Library::Running running(library_, kName);
  if (!begin(kName, all, may_go_on)) return false;
  const std::size_t size = all.size() / static_cast<std::size_t>(size_);
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    const std::size_t at = static_cast<std::size_t>(rank) * size;
    std::copy_n(places_[rank] + at, size, all.data() + at);
  }
  meet(kName, &Flags::done, may_go_on);
  return true;
}

bool SharedMemory::all_reduce(std::span<float> values,
                              const MayGoOn& may_go_on) {
  if (windows_.empty()) return false;
  constexpr const char* kName = "all_reduce";
  // Flags and values are MPI's memory.
  const Library::Running running(library_, kName);
  if (!begin(kName, std::as_bytes(values), may_go_on)) return false;
  const std::size_t lines = (values.size() + kLine - 1) / kLine;
  const auto first_of = [&](int rank) {
    return std::min(values.size(), lines * static_cast<std::size_t>(rank) /
                                       static_cast<std::size_t>(size_) * kLine);
  };
  const std::size_t end = first_of(rank_ + 1);
  std::size_t at = first_of(rank_);
  for (; at + kLine <= end; at += kLine) sum_at<kLine>(at, places_);
  for (; at < end; ++at) sum_at<1>(at, places_);
  meet(kName, &Flags::done, may_go_on);
  return true;
}

}  // namespace traingraph::mpi
