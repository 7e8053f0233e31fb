// SPDX-License-Identifier: MIT
// A SharedSegment in a window of MPI.
#pragma once

#include <memory>
#include <string>

#include "runtime/collective/mpi_library.h"
#include "runtime/collective/shared_segment.h"

namespace traingraph::mpi {

/// Returns null, on all ranks, unless the ranks of `communicator` are several,
/// all on one host that has room for it. The thread that makes the collective
/// makes this call, on all ranks. Throws DeviceError; Ctrl-C ends the wait for
/// the others. The window stays as long as the process: to free it is an
/// operation of all ranks, who drop their collectives when they like.
std::unique_ptr<SharedSegment> make_segment(Library& library, Comm communicator,
                                            int rank, int size,
                                            const std::string& who);

}  // namespace traingraph::mpi
