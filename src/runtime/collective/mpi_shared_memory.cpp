// SPDX-License-Identifier: MIT
#include "runtime/collective/mpi_shared_memory.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/statvfs.h>
#endif

namespace traingraph::mpi {
namespace {

constexpr const char* kAllocate = "allocate_shared";
/// What ranks compare window by window.
constexpr std::size_t kMostWindows = 64;
/// Floats that are added at a time: a sum stays in the nearest cache.
constexpr std::size_t kBlock = 2048;
/// Shares begin at lines of the cache.
constexpr std::size_t kLine = 16;
/// As much as any device asks of an arena.
constexpr std::size_t kAlignment = 4096;
/// A system that has promised more than it has ends the process that uses it.
constexpr std::uint64_t kPartOfRoom = 2;

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

void add(float* sum, const float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
}

}  // namespace

struct SharedMemory::Flags {
  alignas(128) std::atomic<std::uint64_t> begun{0};
  std::int64_t window = -1;             // where the values are; -1: in none
  std::uint64_t offset = 0, count = 0;  // in floats
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
  Comm on_machine = comm_null();
  library.require(f.comm_split_type(communicator, kCommTypeShared, rank,
                                    info_null(), &on_machine),
                  kAllocate, who);
  int num_here = 0;
  library.require(f.comm_size(on_machine, &num_here), kAllocate, who);
  // All ranks are here, or none of them has all.
  if (num_here != size) return nullptr;
  return std::unique_ptr<SharedMemory>(
      new SharedMemory(library, on_machine, rank, size, who));
}

SharedMemory::SharedMemory(Library& library, Comm communicator, int rank,
                           int size, std::string who)
    : library_(library),
      communicator_(communicator),
      rank_(rank),
      size_(size),
      who_(std::move(who)) {
  library_.require(
      library_.functions().comm_set_errhandler(communicator_, errors_return()),
      kAllocate, who_);
  flags_ = make_window(sizeof(Flags));
  new (flags_[rank_]) Flags;
  // Nobody looks at flags that are not there yet.
  library_.run(
      kAllocate, who_,
      [&](Request* request) {
        return library_.functions().ibarrier(communicator_, request);
      },
      [] { return true; });
}

SharedMemory::~SharedMemory() = default;

std::vector<std::byte*> SharedMemory::make_window(std::size_t bytes) {
  const Functions& f = library_.functions();
  // The memory of one rank follows that of another.
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* own = nullptr;
  Win window = win_null();
  library_.require(
      f.win_allocate_shared(static_cast<Count>(bytes), 1, info_null(),
                            communicator_, static_cast<void*>(&own), &window),
      kAllocate, who_);
  // Loads and stores of all, at any time.
  library_.require(f.win_lock_all(kModeNoCheck, window), kAllocate, who_);
  std::vector<std::byte*> bases;
  for (int rank = 0; rank < size_; ++rank) {
    Count size = 0, unit = 0;
    void* base = nullptr;
    library_.require(f.win_shared_query(window, rank, &size, &unit,
                                        static_cast<void*>(&base)),
                     kAllocate, who_);
    bases.push_back(static_cast<std::byte*>(base));
  }
  return bases;
}

std::shared_ptr<std::byte> SharedMemory::allocate(
    std::size_t bytes, const std::function<bool()>& may_go_on) {
  struct State {
    std::uint64_t fitting = 0;  // a bit for each window
    std::uint64_t wanted = 0, room = 0;
  };
  State own{.fitting = 0, .wanted = bytes, .room = room()};
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const Window& window = *windows_[i];
    if (window.user.expired() && window.bytes >= bytes) {
      own.fitting |= std::uint64_t{1} << i;
    }
  }
  std::vector<State> all(static_cast<std::size_t>(size_));
  library_.run(
      kAllocate, who_,
      [&](Request* request) {
        return library_.functions().iallgather(
            &own, sizeof(State), byte_type(), all.data(), sizeof(State),
            byte_type(), communicator_, request);
      },
      may_go_on);
  std::uint64_t fitting = ~std::uint64_t{0}, wanted = 0;
  std::uint64_t left = ~std::uint64_t{0};
  for (const State& state : all) {
    fitting &= state.fitting;
    wanted += state.wanted;
    left = std::min(left, state.room);
  }
  std::size_t index = 0;
  while (index < windows_.size() && (fitting >> index & 1) == 0) ++index;
  if (index == windows_.size()) {
    if (index == kMostWindows || wanted > left / kPartOfRoom) return nullptr;
    windows_.push_back(std::make_unique<Window>());
    windows_.back()->bases = make_window(bytes);
    windows_.back()->bytes = bytes;
  }
  Window& window = *windows_[index];
  // It stays as long as the process.
  std::shared_ptr<std::byte> memory(window.bases[rank_], [](std::byte*) {});
  window.user = memory;
  return memory;
}

const SharedMemory::Window* SharedMemory::find(const float* values) const {
  const auto* const at = reinterpret_cast<const std::byte*>(values);
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
                        const std::function<bool()>& may_go_on) {
  (flags_of(rank_).*flag).store(number_, std::memory_order_release);
  int next = 0;
  library_.wait_until(
      op, who_,
      [&] {
        while (next < size_ &&
               (flags_of(next).*flag).load(std::memory_order_acquire) >=
                   number_) {
          ++next;
        }
        return next == size_;
      },
      may_go_on);
}

bool SharedMemory::all_reduce(std::span<float> values,
                              const std::function<bool()>& may_go_on) {
  if (windows_.empty()) return false;  // then so they are on all ranks
  constexpr const char* kName = "all_reduce";
  ++number_;
  const Window* const window = find(values.data());
  Flags& own = flags_of(rank_);
  own.window = -1;
  own.count = values.size();
  if (window) {
    own.window = std::ranges::find(windows_, window,
                                   [](const auto& w) { return w.get(); }) -
                 windows_.begin();
    own.offset = static_cast<std::uint64_t>(
        values.data() - reinterpret_cast<float*>(window->bases[rank_]));
  }
  meet(kName, &Flags::begun, may_go_on);
  // They stay until all have done their share, here or by MPI.
  std::vector<float*> all;
  for (int rank = 0; rank < size_; ++rank) {
    const Flags& flags = flags_of(rank);
    // MPI knows what to say of other numbers.
    if (flags.window < 0 || flags.count != values.size()) return false;
    std::byte* const base = windows_[flags.window]->bases[rank];
    all.push_back(reinterpret_cast<float*>(base) + flags.offset);
  }
  const std::size_t lines = (values.size() + kLine - 1) / kLine;
  const auto first_of = [&](int rank) {
    return std::min(values.size(), lines * static_cast<std::size_t>(rank) /
                                       static_cast<std::size_t>(size_) * kLine);
  };
  const std::size_t end = first_of(rank_ + 1);
  std::array<float, kBlock> sum;
  for (std::size_t at = first_of(rank_); at < end; at += kBlock) {
    const std::size_t count = std::min(kBlock, end - at);
    std::copy_n(all[0] + at, count, sum.data());
    for (int rank = 1; rank < size_; ++rank) {
      add(sum.data(), all[rank] + at, count);
    }
    for (float* const to : all) std::copy_n(sum.data(), count, to + at);
  }
  meet(kName, &Flags::done, may_go_on);
  return true;
}

}  // namespace traingraph::mpi
