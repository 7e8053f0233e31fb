// SPDX-License-Identifier: MIT
#include "runtime/collective/mpi_segment.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/device/device_wait.h"

#if defined(__linux__)
#include <sys/statvfs.h>
#endif

namespace traingraph::mpi {
namespace {

constexpr const char* kMakeSegment = "mpi_collective";
/// A segment takes at most one part in so many of what is left: a system that
/// has promised more shared memory than it has ends the process that uses it.
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

bool may_go_on() {
  check_interrupt();
  return true;
}

/// The parts of all ranks, by rank; empty: this rank has none.
std::vector<std::byte*> make_window(const Functions& f, Comm communicator,
                                    int rank, int size) {
  const std::size_t bytes = SharedSegment::part_bytes();
  void* own = nullptr;
  Win window = win_null();
  if (f.win_allocate_shared(static_cast<Count>(bytes), 1, info_null(),
                            communicator, static_cast<void*>(&own),
                            &window) != kSuccess) {
    return {};
  }
  // Loads and stores of all, at any time.
  if (f.win_lock_all(kModeNoCheck, window) != kSuccess) return {};
  std::vector<std::byte*> parts;
  for (int of_rank = 0; of_rank < size; ++of_rank) {
    Count part_bytes = 0, unit = 0;
    void* part = nullptr;
    if (f.win_shared_query(window, of_rank, &part_bytes, &unit,
                           static_cast<void*>(&part)) != kSuccess) {
      return {};
    }
    parts.push_back(static_cast<std::byte*>(part));
    const auto address = reinterpret_cast<std::uintptr_t>(part);
    if (address % SharedSegment::kAlignment != 0) return {};
  }
  std::fill_n(parts[static_cast<std::size_t>(rank)], bytes, std::byte{});
  return parts;
}

}  // namespace

std::unique_ptr<SharedSegment> make_segment(Library& library, Comm communicator,
                                            int rank, int size,
                                            const std::string& who) {
  if (size == 1) return nullptr;
  const Functions& f = library.functions();
  const auto check = [&](int code) {
    library.require(code, kMakeSegment, who);
  };
  // Splits and windows block in MPI until all ranks make them, and cannot be
  // interrupted there: they begin when all are here.
  const auto barrier = [&](Comm all) {
    library.run(
        kMakeSegment, who,
        [&](Request* request) { return f.ibarrier(all, request); }, may_go_on);
  };
  barrier(communicator);
  Comm on_host = comm_null();
  {
    const Library::Running running(library, kMakeSegment);
    check(f.comm_split_type(communicator, kCommTypeShared, rank, info_null(),
                            &on_host));
    check(f.comm_set_errhandler(on_host, errors_return()));
  }
  int num_here = 0, num_all = 0;
  check(f.comm_size(on_host, &num_here));
  check(f.comm_size(comm_world(), &num_all));
  if (num_here != size) return nullptr;  // so it is on all ranks
  const auto have_all = [&](bool has_own) {
    std::vector<std::uint8_t> all(static_cast<std::size_t>(size));
    const std::uint8_t own = has_own ? 1 : 0;
    library.run(
        kMakeSegment, who,
        [&](Request* request) {
          return f.iallgather(&own, 1, byte_type(), all.data(), 1, byte_type(),
                              on_host, request);
        },
        may_go_on);
    return std::ranges::find(all, 0) == all.end();
  };
  // All processes may be on this host, in groups that look for room at the same
  // time: each takes its ranks' part of it.
  const std::uint64_t wanted =
      kPartOfRoom * static_cast<std::uint64_t>(std::max(num_all, size)) *
      SharedSegment::part_bytes();
  if (!have_all(wanted <= room())) return nullptr;
  std::vector<std::byte*> parts;
  {
    const Library::Running running(library, kMakeSegment);
    parts = make_window(f, on_host, rank, size);
  }
  if (!have_all(!parts.empty())) return nullptr;
  return std::make_unique<SharedSegment>(parts, rank);
}

}  // namespace traingraph::mpi
