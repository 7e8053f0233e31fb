// SPDX-License-Identifier: MIT
// A library of MPI's standard ABI, loaded as one, of two ranks: this one, and
// one that does what this one does. Windows of shared memory cannot be made,
// unless a test gives the memory, where it is the other rank itself.
#include <cstring>

#include "runtime/collective/mpi_abi.h"

namespace {

using namespace traingraph::mpi;

constexpr int kFailure = 16;

bool g_is_initialized = false, g_is_finalized = false;
bool g_fails = false;           // to make communicators
std::byte* g_window = nullptr;  // of both ranks, one behind the other
std::size_t g_part_bytes = 0;   // of one rank

int set(int* to, int value) {
  *to = value;
  return kSuccess;
}

/// Nothing is ever under way.
int done(Request* request) {
  *request = request_null();
  return kSuccess;
}

void twofold(void* values, Count count) {
  auto* const at = static_cast<float*>(values);
  for (Count i = 0; i < count; ++i) at[i] *= 2;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void fake_mpi_set_window(void* window, std::size_t part_bytes) {
  g_window = static_cast<std::byte*>(window);
  g_part_bytes = part_bytes;
}
void fake_mpi_fail() { g_fails = true; }

int MPI_Abi_get_version(int* major, int* minor) {
  *minor = 0;
  return set(major, kAbiVersion);
}
int MPI_Initialized(int* flag) { return set(flag, g_is_initialized ? 1 : 0); }
int MPI_Finalized(int* flag) { return set(flag, g_is_finalized ? 1 : 0); }
int MPI_Init_thread(int*, char***, int, int* provided) {
  g_is_initialized = true;
  return set(provided, kThreadMultiple);
}
int MPI_Query_thread(int* provided) { return set(provided, kThreadMultiple); }
int MPI_Finalize() {
  g_is_finalized = true;
  return kSuccess;
}
int MPI_Get_library_version(char* version, int* length) {
  std::strcpy(version, "fake");
  return set(length, 4);
}
int MPI_Error_string(int, char* text, int* length) {
  std::strcpy(text, "a failure");
  return set(length, 9);
}

int MPI_Comm_rank(Comm, int* rank) { return set(rank, 0); }
int MPI_Comm_size(Comm, int* size) { return set(size, 2); }
int MPI_Comm_idup(Comm comm, Comm* copy, Request* request) {
  if (g_fails) return kFailure;
  *copy = comm;
  return done(request);
}
int MPI_Comm_split_type(Comm comm, int, int, Info, Comm* part) {
  *part = comm;
  return kSuccess;
}
int MPI_Comm_set_errhandler(Comm, Errhandler) { return kSuccess; }

// All in place, but what is gathered from elsewhere.
int MPI_Iallreduce_c(const void*, void* to, Count count, Datatype, Op, Comm,
                     Request* request) {
  twofold(to, count);
  return done(request);
}
int MPI_Iallgather_c(const void* from, Count, Datatype, void* to,
                     Count part_count, Datatype, Comm, Request* request) {
  const auto size = static_cast<std::size_t>(part_count);
  auto* const all = static_cast<std::byte*>(to);
  if (from != in_place()) std::memcpy(all, from, size);
  std::memcpy(all + size, all, size);
  return done(request);
}
int MPI_Ibcast_c(void*, Count, Datatype, int, Comm, Request* request) {
  return done(request);
}
int MPI_Ibarrier(Comm, Request* request) { return done(request); }
int MPI_Test(Request* request, int* flag, Status*) {
  done(request);
  return set(flag, 1);
}

int MPI_Win_allocate_shared_c(Count, Count, Info, Comm, void* own, Win*) {
  if (!g_window) return kFailure;
  *static_cast<void**>(own) = g_window;
  return kSuccess;
}
int MPI_Win_shared_query_c(Win, int rank, Count* bytes, Count*, void* part) {
  if (!g_window) return kFailure;
  *bytes = static_cast<Count>(g_part_bytes);
  *static_cast<void**>(part) =
      g_window + static_cast<std::size_t>(rank) * g_part_bytes;
  return kSuccess;
}
int MPI_Win_lock_all(int, Win) { return g_window ? kSuccess : kFailure; }

}  // extern "C"
#pragma GCC visibility pop
