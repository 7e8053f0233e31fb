// SPDX-License-Identifier: MIT
// What is used of the standard ABI of MPI 5.0 (chapter 20 of the standard):
// types, values of constants, signatures. Every library of this ABI has them,
// whoever made it, so that none is needed to compile or to link.
#pragma once

#include <cstddef>
#include <cstdint>

namespace traingraph::mpi {

// Handles are pointers to types that are never complete; those of predefined
// objects are small numbers.
using Comm = struct MPI_ABI_Comm*;
using Op = struct MPI_ABI_Op*;
using Datatype = struct MPI_ABI_Datatype*;
using Request = struct MPI_ABI_Request*;
using Errhandler = struct MPI_ABI_Errhandler*;
using Win = struct MPI_ABI_Win*;
using Info = struct MPI_ABI_Info*;
using Count = std::int64_t;

struct Status {
  int source, tag, error;
  int internal[5];
};

template <class Handle>
Handle predefined(std::uintptr_t value) {
  return reinterpret_cast<Handle>(value);  // NOLINT(performance-no-int-to-ptr)
}

inline Comm comm_null() { return predefined<Comm>(0x100); }
inline Comm comm_world() { return predefined<Comm>(0x101); }
inline Op sum() { return predefined<Op>(0x21); }
inline Datatype float_type() { return predefined<Datatype>(0x210); }
inline Datatype byte_type() { return predefined<Datatype>(0x247); }
inline Request request_null() { return predefined<Request>(0x180); }
inline Errhandler errors_return() { return predefined<Errhandler>(0x143); }
inline Win win_null() { return predefined<Win>(0x110); }
inline Info info_null() { return predefined<Info>(0x130); }
inline void* in_place() { return predefined<void*>(1); }

inline constexpr int kSuccess = 0;
inline constexpr int kThreadMultiple = 4096;
inline constexpr int kCommTypeShared = 221;
inline constexpr int kModeNoCheck = 1024;
inline constexpr int kAbiVersion = 1;
inline constexpr std::size_t kMaxErrorString = 512;
inline constexpr std::size_t kMaxLibraryVersion = 8192;

/// The functions of a library, by their names without "MPI_".
struct Functions {
  int (*initialized)(int* flag);
  int (*finalized)(int* flag);
  int (*init_thread)(int* argc, char*** argv, int required, int* provided);
  int (*query_thread)(int* provided);
  int (*finalize)();
  int (*abi_get_version)(int* major, int* minor);
  int (*get_library_version)(char* version, int* length);
  int (*error_string)(int code, char* text, int* length);
  int (*comm_rank)(Comm comm, int* rank);
  int (*comm_size)(Comm comm, int* size);
  int (*comm_idup)(Comm comm, Comm* copy, Request* request);
  int (*comm_set_errhandler)(Comm comm, Errhandler handler);
  int (*iallreduce)(const void* from, void* to, Count count, Datatype type,
                    Op op, Comm comm, Request* request);
  int (*iallgather)(const void* from, Count count, Datatype type, void* to,
                    Count part_count, Datatype to_type, Comm comm,
                    Request* request);
  int (*ibcast)(void* buffer, Count count, Datatype type, int root, Comm comm,
                Request* request);
  int (*ibarrier)(Comm comm, Request* request);
  int (*test)(Request* request, int* flag, Status* status);
  int (*comm_split_type)(Comm comm, int type, int key, Info info, Comm* part);
  int (*win_allocate_shared)(Count size, Count unit, Info info, Comm comm,
                             void* base, Win* window);
  int (*win_shared_query)(Win window, int rank, Count* size, Count* unit,
                          void* base);
  int (*win_lock_all)(int assertion, Win window);
};

}  // namespace traingraph::mpi
