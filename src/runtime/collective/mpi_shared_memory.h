// SPDX-License-Identifier: MIT
// Memory that all ranks of one machine see, and sums in it: each rank adds its
// share of the values where they lie, in the memory of all, and writes the sum
// to all. A transport would copy every value twice to do the same.
//
// Windows of MPI are freed by all ranks at once, who drop their memory when
// they like; so windows stay, and are given out again when no rank uses them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/collective/mpi_library.h"

namespace traingraph::mpi {

/// One thread at a time calls it, the same functions in the same order on all
/// ranks; find() is for all threads.
class SharedMemory {
 public:
  using MayGoOn = std::function<bool()>;

  /// Null unless the ranks of `communicator` are several, on one machine. On
  /// the thread that makes the collective, which Ctrl-C may end.
  static std::unique_ptr<SharedMemory> make(Library& library, Comm communicator,
                                            int rank, int size,
                                            const std::string& who);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Null, on all ranks, when there is not enough for all or MPI makes no
  /// windows here.
  std::shared_ptr<std::byte> allocate(std::size_t bytes,
                                      const MayGoOn& may_go_on);
  /// In the order of ranks: ((x0 + x1) + x2) + ... False when the values of
  /// some rank lie elsewhere; then nothing was done.
  bool all_reduce(std::span<float> values, const MayGoOn& may_go_on);
  /// All ranks get the parts of all, each of which is in its place of `all`.
  /// False as above.
  bool all_gather(std::span<std::byte> all, const MayGoOn& may_go_on);
  /// False when there is no memory yet.
  bool barrier(const MayGoOn& may_go_on);
  /// See Collective::find_shared().
  std::byte* find(const std::byte* own, int rank) const;

 private:
  struct Message;
  struct Flags;
  struct Window;

  SharedMemory(Library& library, Comm communicator, int rank, int size,
               std::uint64_t part_of_room, std::string who);
  /// What each rank has, by rank.
  template <class T>
  std::vector<T> gather(const T& own, const MayGoOn& may_go_on);
  /// Its memory by rank; empty, on all ranks, when one of them has none.
  std::vector<std::byte*> make_window(std::size_t bytes,
                                      const MayGoOn& may_go_on);
  std::vector<std::byte*> try_window(std::size_t bytes);
  bool add_window(std::size_t bytes, const MayGoOn& may_go_on);
  const Window* find(const std::byte* at) const;
  /// Sets places_, which stay until all have met in Flags::done, or do by MPI
  /// what they could not do here. False when some bytes lie elsewhere. `part`
  /// goes with the message, which stays until the next operation is over.
  bool begin(const char* op, std::span<const std::byte> bytes,
             std::span<const std::byte> part, const MayGoOn& may_go_on);
  /// Until all have reached this call of the operation.
  void meet(const char* op, std::atomic<std::uint64_t> Flags::* flag,
            const MayGoOn& may_go_on);
  Flags& flags_of(int rank) const;
  /// Of this operation.
  Message& message_of(int rank) const;

  Library& library_;
  Comm communicator_;
  const int rank_, size_;
  const std::uint64_t part_of_room_;  // 1 / this is what may be taken
  const std::string who_;
  bool makes_windows_ = true;      // until one could not be made
  std::vector<std::byte*> flags_;  // by rank; empty before the first window
  mutable std::mutex mutex_;       // of windows_, which this thread changes
  std::vector<std::unique_ptr<Window>> windows_;
  std::vector<std::byte*> places_;  // of an operation, by rank
  std::uint64_t number_ = 0;        // of operations
};

}  // namespace traingraph::mpi
