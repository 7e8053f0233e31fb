// SPDX-License-Identifier: MIT
#include "runtime/collective/load_mpi.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "traingraph/error.h"

namespace traingraph::mpi {
namespace {

constexpr const char* kOp = "mpi_collective";
constexpr const char* kVariable = "TRAINGRAPH_MPI_LIBRARY";
#if defined(__APPLE__)
constexpr const char* kName = "libmpi_abi.1.dylib";
constexpr const char* kOthers[] = {kName, "libmpi.12.dylib", "libmpi.40.dylib"};
#else
constexpr const char* kName = "libmpi_abi.so.1";
constexpr const char* kOthers[] = {kName, "libmpi.so.12", "libmpi.so.40"};
#endif

/// Symbols stay local: an MPI of another ABI that comes later, mpi4py's, would
/// take these functions for its own.
constexpr int kMode = RTLD_NOW | RTLD_LOCAL;

template <class Function>
bool find(void* handle, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(handle, name));
  return function != nullptr;
}

/// Loads a function, or throws.
class Finder {
 public:
  Finder(void* handle, const std::string& path)
      : handle_(handle), path_(path) {}

  template <class Function>
  void operator()(const char* name, Function*& function) const {
    if (find(handle_, name, function)) return;
    fail(std::string("a library without ") + name);
  }
  [[noreturn]] void fail(const std::string& got) const {
    throw DeviceError(ErrorInfo{
        .op = kOp,
        .what = path_ + " is no library of MPI's standard ABI",
        .expected = std::string("version 1 of the ABI, as ") + kName + " has",
        .got = got,
        .hint = "`pip install mpich` has one."});
  }

 private:
  void* handle_;
  const std::string& path_;
};

}  // namespace

Loaded load(std::string_view path) {
  std::string name(path);
  const char* const variable = std::getenv(kVariable);
  if (name.empty() && variable) name = variable;
  const bool is_given = !name.empty();
  if (!is_given) name = kName;
  if (void* handle = ::dlopen(name.c_str(), kMode)) return {handle, name};
  const char* const reason = ::dlerror();
  throw DeviceError(ErrorInfo{
      .op = kOp,
      .what = is_given ? "the MPI library cannot be loaded"
                       : "no MPI library was found",
      .expected = std::string("a library of MPI's standard ABI, ") + kName,
      .got = reason ? reason : name,
      .hint = std::string("Install one with `pip install mpich`, or set ") +
              kVariable + " to its path."});
}

Functions functions_of(void* handle, const std::string& path) {
  const Finder find(handle, path);
  Functions f{};
  find("MPI_Abi_get_version", f.abi_get_version);
  int major = 0, minor = 0;
  f.abi_get_version(&major, &minor);
  if (major != kAbiVersion) {
    find.fail(major < 0 ? "a library with an ABI of its own"
                        : "version " + std::to_string(major));
  }
  find("MPI_Initialized", f.initialized);
  find("MPI_Finalized", f.finalized);
  find("MPI_Init_thread", f.init_thread);
  find("MPI_Query_thread", f.query_thread);
  find("MPI_Finalize", f.finalize);
  find("MPI_Get_library_version", f.get_library_version);
  find("MPI_Error_string", f.error_string);
  find("MPI_Comm_rank", f.comm_rank);
  find("MPI_Comm_size", f.comm_size);
  find("MPI_Comm_idup", f.comm_idup);
  find("MPI_Comm_set_errhandler", f.comm_set_errhandler);
  find("MPI_Iallreduce_c", f.iallreduce);
  find("MPI_Iallgather_c", f.iallgather);
  find("MPI_Ibcast_c", f.ibcast);
  find("MPI_Ibarrier", f.ibarrier);
  find("MPI_Test", f.test);
  find("MPI_Comm_split_type", f.comm_split_type);
  find("MPI_Win_allocate_shared_c", f.win_allocate_shared);
  find("MPI_Win_shared_query_c", f.win_shared_query);
  find("MPI_Win_lock_all", f.win_lock_all);
  return f;
}

void require_no_other_library(void* handle) {
  for (const char* name : kOthers) {
    void* const other = ::dlopen(name, kMode | RTLD_NOLOAD);
    if (!other || other == handle) continue;
    int (*initialized)(int*) = nullptr;
    int is_initialized = 0;
    if (!find(other, "MPI_Initialized", initialized)) continue;
    initialized(&is_initialized);
    if (!is_initialized) continue;
    throw DeviceError(ErrorInfo{
        .op = kOp,
        .what =
            std::string("the program has initialized another MPI library, ") +
            name,
        .hint = "Of mpi4py, pass the communicator: compile(collective="
                "MPI.COMM_WORLD)."});
  }
}

std::string short_version(std::string_view text) {
  std::string version(text.substr(0, text.find_first_of(",\n")));
  if (const auto at = version.find(" Version:"); at != std::string::npos) {
    version.erase(at, std::string_view(" Version:").size());
  }
  const auto is_blank = [](char a, char b) { return a == b && a == ' '; };
  const auto is_space = [](char c) { return c == '\t'; };
  std::ranges::replace_if(version, is_space, ' ');
  version.erase(std::ranges::unique(version, is_blank).begin(), version.end());
  return version;
}

}  // namespace traingraph::mpi
