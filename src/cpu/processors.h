// SPDX-License-Identifier: MIT
// How many processors this process may use.
#pragma once

#include <filesystem>
#include <optional>

namespace traingraph::cpu {

/// Default number of threads of a CPU device: OMP_NUM_THREADS where it is set,
/// as other numeric libraries have it; else the processors of the thread's
/// affinity mask, or as many as the container's CPU quota pays for, whichever
/// is less; of those its share where a launcher of MPI has started several
/// processes on the machine and bound them to no processors.
int default_num_threads();

/// Processors that the CPU quota of a Linux control group and of those around
/// it comes to, rounded up; none when nothing limits it. `groups` is the file
/// /proc/self/cgroup, `root` the folder /sys/fs/cgroup; both versions are read.
std::optional<int> quota_processors(const std::filesystem::path& groups,
                                    const std::filesystem::path& root);

}  // namespace traingraph::cpu
