// SPDX-License-Identifier: MIT
// The MPI library of this process: found, loaded, initialized, finalized. There
// is at most one, and it stays until the process ends.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/collective/mpi_abi.h"

namespace traingraph::mpi {

class Library {
 public:
  /// MPI, or memory of it, is in use for as long as this lives: a process that
  /// exits does not finalize MPI beside it. Throws DeviceError when the process
  /// exits already, or an operation has failed.
  class Running {
   public:
    Running(Library& library, const char* op);
    ~Running() { --library_.num_running_; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Library& library_;
  };

  /// Loads and initializes it where that was not done; see mpi_collective().
  /// Throws DeviceError; InvalidArgument when another one is in use.
  static Library& get(std::string_view path);

  const Functions& functions() const { return functions_; }
  /// Returns a name and a number, such as "MPICH 5.0.2".
  std::string version() const;

  /// Throws DeviceError with MPI's text unless `code` is success, and then
  /// fails for good. `who`: "rank 1 of 4".
  void require(int code, const char* op, const std::string& who);

  /// Begins a request and waits for it, without ever blocking in MPI. The wait
  /// ends, and MPI is given up, when `may_go_on`, which is called again and
  /// again, returns false or throws: MPI still has the request then.
  void run(const char* op, const std::string& who,
           const std::function<int(Request*)>& begin,
           const std::function<bool()>& may_go_on);

  /// Waits for something else in the same way, for a caller that has a Running.
  /// `is_over` must not block.
  void wait_until(const char* op, const std::string& who,
                  const std::function<bool()>& is_over,
                  const std::function<bool()>& may_go_on);

  /// A caller ends for good what others wait for.
  void mark_failed() noexcept { has_failed_ = true; }

  /// Ranks have a barrier on this communicator before MPI is finalized. It is
  /// of all ranks, and for nothing else.
  bool has_exit_communicator() const;
  void set_exit_communicator(Comm communicator);

 private:
  Library(void* handle, std::string path);
  void require_startable();
  bool is_initialized();
  /// Initializes MPI unless that was done.
  void start();
  bool meets_others() noexcept;
  void leave(int exit_status) noexcept;

  void* handle_;
  std::string path_;
  Functions functions_;
  const int process_;
  // No more calls of MPI, not even to finalize it: it would wait for ranks that
  // wait for this one, or go on with a request whose memory is gone.
  std::atomic<bool> has_failed_{false};
  std::atomic<bool> is_leaving_{false};
  std::atomic<int> num_running_{0};
  std::atomic<Comm> exit_communicator_{comm_null()};
};

}  // namespace traingraph::mpi
