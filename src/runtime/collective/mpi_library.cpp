// SPDX-License-Identifier: MIT
#include "runtime/collective/mpi_library.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/backoff.h"
#include "runtime/collective/load_mpi.h"
#include "traingraph/error.h"

namespace traingraph::mpi {
namespace {

using Clock = Backoff::Clock;

constexpr const char* kCall = "mpi_collective";
/// Exit waits so long for what other threads of this process have begun.
constexpr auto kThreadsPatience = std::chrono::seconds(1);
/// Exit waits so long for ranks that still work, say at a checkpoint. One that
/// never comes must not keep this one forever.
constexpr auto kRanksPatience = std::chrono::minutes(5);

template <class Function>
void at_exit(Function function) {
#if defined(__GLIBC__)
  on_exit([](int status, void*) { Function()(status); }, nullptr);
#else
  std::atexit([] { Function()(EXIT_SUCCESS); });
#endif
  (void)function;
}

/// Returns how many ranks the launcher says that there are; 0 without a
/// launcher.
int launched_ranks() {
  for (const char* name : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}) {
    if (const char* size = std::getenv(name)) return std::atoi(size);
  }
  return 0;
}

Library* g_library = nullptr;

}  // namespace

Library& Library::get(std::string_view path) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  const Loaded loaded = load(path);
  if (!g_library) {
    std::unique_ptr<Library> library(new Library(loaded.handle, loaded.path));
    library->require_startable();   // else another one may be tried
    g_library = library.release();  // as long as the process
  } else if (loaded.handle != g_library->handle_) {
    throw InvalidArgument(
        ErrorInfo{.op = kCall,
                  .what = "this process uses another MPI library already",
                  .expected = g_library->path_,
                  .got = loaded.path});
  }
  g_library->require_startable();
  g_library->start();
  return *g_library;
}

Library::Library(void* handle, std::string path)
    : handle_(handle),
      path_(std::move(path)),
      functions_(functions_of(handle, path_)),
      process_(::getpid()) {}

void Library::require_startable() {
  int is_finalized = 0;
  require(functions_.finalized(&is_finalized), kCall, "this process");
  if (is_finalized) {
    throw DeviceError(
        ErrorInfo{.op = kCall, .what = "the program has finalized MPI"});
  }
  if (!is_initialized()) require_no_other_library(handle_);
}

bool Library::is_initialized() {
  int flag = 0;
  require(functions_.initialized(&flag), kCall, "this process");
  return flag != 0;
}

void Library::start() {
  const auto check = [this](int code) { require(code, kCall, "this process"); };
  int level = 0;
  if (is_initialized()) {
    check(functions_.query_thread(&level));
  } else {
    check(functions_.init_thread(nullptr, nullptr, kThreadMultiple, &level));
    at_exit([](int status) { g_library->leave(status); });
  }
  if (level < kThreadMultiple) {
    throw DeviceError(ErrorInfo{
        .op = kCall,
        .what = "MPI was initialized without MPI_THREAD_MULTIPLE, which "
                "operations beside the computation need",
        .hint = "Initialize it with MPI_Init_thread(), or leave it to "
                "traingraph."});
  }
  int num_ranks = 0;
  check(functions_.comm_size(comm_world(), &num_ranks));
  if (num_ranks == 1 && launched_ranks() > 1) {
    throw DeviceError(ErrorInfo{
        .op = kCall,
        .what = "the launcher belongs to another MPI than the library " + path_,
        .expected = std::to_string(launched_ranks()) + " ranks",
        .got = "1 rank",
        .hint = "Start the program with the mpiexec of this library, or set "
                "TRAINGRAPH_MPI_LIBRARY to the library of the launcher."});
  }
}

std::string Library::version() const {
  std::array<char, kMaxLibraryVersion> text{};
  int length = 0;
  functions_.get_library_version(text.data(), &length);
  return short_version(text.data());
}

void Library::require(int code, const char* op, const std::string& who) {
  if (code == kSuccess) return;
  has_failed_ = true;
  std::array<char, kMaxErrorString> text{};
  int length = 0;
  functions_.error_string(code, text.data(), &length);
  throw DeviceError(
      ErrorInfo{.op = op, .what = "MPI failed on " + who, .got = text.data()});
}

/// Counts before it looks: leave() says that it leaves before it counts.
Library::Running::Running(Library& library, const char* op)
    : library_(library) {
  ++library_.num_running_;
  const bool has_failed = library_.has_failed_;
  if (!has_failed && !library_.is_leaving_) return;
  --library_.num_running_;
  throw DeviceError(
      ErrorInfo{.op = op,
                .what = has_failed ? "an operation of MPI has failed before"
                                   : "the process is exiting",
                .hint = "Start the program again, from its last checkpoint."});
}

void Library::run(const char* op, const std::string& who,
                  const std::function<int(Request*)>& begin,
                  const std::function<bool()>& may_go_on) {
  const Running running(*this, op);
  Request request = request_null();
  require(begin(&request), op, who);
  const auto is_over = [&] {
    int flag = 0;
    require(functions_.test(&request, &flag, nullptr), op, who);
    return flag != 0;
  };
  wait_until(op, who, std::cref(is_over), may_go_on);
}

void Library::wait_until(const char* op, const std::string& who,
                         const std::function<bool()>& is_over,
                         const std::function<bool()>& may_go_on) {
  try {
    for (const Backoff backoff; !is_over(); backoff.pause()) {
      if (!has_failed_ && !is_leaving_ && may_go_on()) continue;
      throw DeviceError(ErrorInfo{
          .op = op, .what = who + " has given up waiting for the others"});
    }
  } catch (...) {
    has_failed_ = true;
    throw;
  }
}

bool Library::has_exit_communicator() const {
  return exit_communicator_ != comm_null();
}

void Library::set_exit_communicator(Comm communicator) {
  exit_communicator_ = communicator;
}

/// Have all ranks come to their end, within patience?
bool Library::meets_others() noexcept {
  const Comm communicator = exit_communicator_;
  if (communicator == comm_null()) return true;
  Request request = request_null();
  if (functions_.ibarrier(communicator, &request) != kSuccess) return false;
  const auto end = Clock::now() + kRanksPatience;
  for (const Backoff backoff; Clock::now() < end; backoff.pause()) {
    int is_over = 0;
    if (functions_.test(&request, &is_over, nullptr) != kSuccess) return false;
    if (is_over) return true;
  }
  return false;
}

/// A process that fails does not finalize MPI: it would wait there for ranks
/// that wait for it. The launcher notices, and ends the others.
void Library::leave(int exit_status) noexcept {
  if (process_ != ::getpid()) return;
  is_leaving_ = true;
  const auto end = Clock::now() + kThreadsPatience;
  while (num_running_ > 0 && Clock::now() < end) std::this_thread::yield();
  if (exit_status != EXIT_SUCCESS || has_failed_ || num_running_ > 0) return;
  int is_finalized = 0;
  functions_.finalized(&is_finalized);
  if (!is_finalized && meets_others()) functions_.finalize();
}

}  // namespace traingraph::mpi
