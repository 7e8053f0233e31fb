// SPDX-License-Identifier: MIT
// Collective: how the processes of data-parallel training talk to each other.
// traingraph comes with one over MPI (mpi_collective()); others derive from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "traingraph/export.h"

namespace traingraph {

/// Operations among `size()` processes, the ranks 0 to size() - 1. As with MPI,
/// every rank begins the same operations in the same order, with the same
/// number of bytes; a graph that was compiled with a collective begins all of
/// its own from one thread at a time, so several may be in flight. Each
/// operation returns at once or blocks, as it likes, and calls `done` exactly
/// once, from any thread: with null when its result is there, else with what
/// went wrong. `done` does not throw. The memory stays valid until then.
///
/// A graph waits for `done` no longer than its deadline. Afterwards it begins
/// no operation, and keeps the memory until `done` comes.
class TRAINGRAPH_API Collective {
 public:
  using Done = std::function<void(std::exception_ptr)>;

  virtual ~Collective() = default;
  Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  /// Reports and errors call it by this name, such as "MPI (MPICH 5.0.2)".
  virtual std::string description() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Sums over all ranks, in place: the same bits on each of them.
  virtual void all_reduce(std::span<float> values, Done done) = 0;
  /// `all` gets the parts of all ranks in order; all parts are of one length.
  /// `part` may be its place in `all`.
  virtual void all_gather(std::span<const std::byte> part,
                          std::span<std::byte> all, Done done) = 0;
  /// All ranks get the bytes of `root`.
  virtual void broadcast(std::span<std::byte> bytes, int root, Done done) = 0;
  /// This rank gives up: operations that have begun, and all that follow, end
  /// with an error, soon and as well as the transport can. From any thread.
  virtual void abort() noexcept {}
};

/// A collective with operations that block. They are called from a thread of
/// this object, one after the other, and throw on failure. After abort() those
/// that wait their turn end with a DeviceError, without a call.
class TRAINGRAPH_API BlockingCollective : public Collective {
 public:
  ~BlockingCollective() override;

  void all_reduce(std::span<float> values, Done done) final;
  void all_gather(std::span<const std::byte> part, std::span<std::byte> all,
                  Done done) final;
  void broadcast(std::span<std::byte> bytes, int root, Done done) final;
  /// A derived class that can end what runs overrides this, and calls it.
  void abort() noexcept override;

 protected:
  BlockingCollective();
  virtual void all_reduce_now(std::span<float> values) = 0;
  virtual void all_gather_now(std::span<const std::byte> part,
                              std::span<std::byte> all) = 0;
  virtual void broadcast_now(std::span<std::byte> bytes, int root) = 0;

  /// Tells operations that poll whether this rank was aborted.
  bool is_aborted() const noexcept;
  /// Destructors of derived classes call this, as what runs calls their
  /// functions: it aborts if something is under way, then waits until nothing
  /// runs. From the object's own thread, in `done`, it does not wait.
  void stop() noexcept;
  /// Stops with an end to the wait, and returns false when something still
  /// runs. The object must stay then.
  bool stop_within(std::chrono::milliseconds patience) noexcept;

 private:
  class Thread;
  struct Task;
  std::shared_ptr<Thread> thread_;
};

/// `collective` with sums in the order of ranks: ((x0 + x1) + x2) + ..., so
/// that they are, bit for bit, those of one process that adds what each rank
/// had. It gathers all values on each rank, which takes size() times the memory
/// and traffic of the values.
TRAINGRAPH_API std::shared_ptr<Collective> fixed_order(
    std::shared_ptr<Collective> collective);

/// Communicates over MPI through the standard ABI of MPI 5.0, whose library is
/// loaded when this is called: at `library`, else where the environment
/// variable TRAINGRAPH_MPI_LIBRARY says, else `libmpi_abi.so.1`
/// (`libmpi_abi.1.dylib`) by the dynamic linker's path. Initializes MPI
/// (MPI_THREAD_MULTIPLE) unless the program did, and finalizes it at exit then.
/// Collective over the communicator. Throws DeviceError, which says what to
/// install, when there is no library.
///
/// @param library   path of the library; empty: the search above.
/// @param communicator   an MPI_Comm of the same library's standard ABI; null:
///     MPI_COMM_WORLD. It is duplicated.
TRAINGRAPH_API std::shared_ptr<Collective> mpi_collective(
    std::string_view library = {}, void* communicator = nullptr);

}  // namespace traingraph
