// SPDX-License-Identifier: MIT
// Compiled kernels on disk, in $XDG_CACHE_HOME/traingraph/cuda or
// ~/.cache/traingraph/cuda, at most kMaxCacheBytes; what was read or written
// longest ago goes first. Files appear whole, under a name that says all that
// they follow from, and end with a checksum. A folder that cannot be written,
// and files that are damaged, cost time and nothing else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace traingraph::cuda {

inline constexpr std::size_t kMaxCacheBytes = std::size_t{256} << 20;

/// Empty: it is not there.
std::optional<std::string> read_cached_code(const std::string& key);
void write_cached_code(const std::string& key, const std::string& code);

}  // namespace traingraph::cuda
