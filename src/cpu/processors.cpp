// SPDX-License-Identifier: MIT
#include "cpu/processors.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "cpu/thread_pool/thread_pool.h"

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif

namespace traingraph::cpu {
namespace {

namespace fs = std::filesystem;

int affine_processors() {
#if defined(__linux__)
  cpu_set_t set;  // 1,024 processors; where there are more, the call fails
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

/// The first number of a list such as "4,2"; none when it is not one.
std::optional<int> first_number(const char* text) {
  if (!text) return {};
  const std::string_view view(text);
  int number = 0;
  const auto result =
      std::from_chars(view.data(), view.data() + view.size(), number);
  if (result.ec != std::errc() || number < 1) return {};
  return number;
}

/// How many ranks the launcher has put on this machine; 1 when there is none.
int ranks_here() {
  for (const char* name : {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"}) {
    if (const auto count = first_number(std::getenv(name))) return *count;
  }
  return 1;
}

/// A launcher that binds ranks to processors has divided them already.
bool is_bound(int processors) {
#if defined(__linux__)
  return processors < sysconf(_SC_NPROCESSORS_ONLN);
#else
  return processors < 1;
#endif
}

/// quota / period of one group; none when it has no limit, or no such files.
std::optional<double> share_of(const fs::path& group) {
  double quota = 0, period = 0;
  if (std::ifstream file(group / "cpu.max"); file >> quota >> period) {
    if (quota > 0 && period > 0) return quota / period;
    return {};
  }
  std::ifstream quotas(group / "cpu.cfs_quota_us");
  std::ifstream periods(group / "cpu.cfs_period_us");
  if (quotas >> quota && periods >> period && quota > 0 && period > 0) {
    return quota / period;
  }
  return {};
}

/// Is "cpu" in a list such as "cpu,cpuacct"?
bool lists_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    if (comma == controllers.npos) break;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

/// The least of a group and those around it. In a container the path may be
/// the host's; then only the root is there to be read, and is the container's.
std::optional<double> least_share(const fs::path& root, fs::path group) {
  std::optional<double> least;
  while (true) {
    const auto share = share_of(root / group.relative_path());
    if (share) least = std::min(*share, least.value_or(*share));
    if (!group.has_relative_path()) return least;
    group = group.parent_path();
  }
}

}  // namespace

std::optional<int> quota_processors(const fs::path& groups,
                                    const fs::path& root) {
  std::optional<double> least;
  const auto consider = [&](const std::optional<double>& share) {
    if (share) least = std::min(*share, least.value_or(*share));
  };
  std::ifstream file(groups);
  // "0::/path" is version 2, "3:cpu,cpuacct:/path" version 1.
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) {
      consider(least_share(root, group));
      consider(least_share(root / "unified", group));
    } else if (lists_cpu(controllers)) {
      consider(least_share(root / "cpu", group));
      consider(least_share(root / controllers, group));
    }
  }
  if (!least) return {};
  return std::max(1, static_cast<int>(std::ceil(std::min(*least, 1e6))));
}

int default_num_threads() {
  int count = 0;
  if (const auto wanted = first_number(std::getenv("OMP_NUM_THREADS"))) {
    count = *wanted;
  } else {
    count = affine_processors();
    const int sharers = is_bound(count) ? 1 : ranks_here();
    const auto quota = quota_processors("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota) count = std::min(count, *quota);
    count /= sharers;
  }
  return std::clamp(count, 1, ThreadPool::kMaxSize);
}

}  // namespace traingraph::cpu
