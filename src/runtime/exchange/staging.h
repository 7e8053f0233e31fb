// SPDX-License-Identifier: MIT
// Staging: what an exchange sends beside gradients, in one block, as memory
// that the ranks share comes in blocks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "runtime/exchange/call_header.h"

namespace traingraph {

struct StagingSizes {
  std::size_t num_ranks = 1;
  std::size_t piece_bytes = 0;  // of a rank's share
  std::size_t num_losses = 0;
  std::size_t num_statistics = 0;  // of a rank
};

struct Staging {
  std::span<std::atomic<std::uint64_t>> arrivals;  // one; see NearRanks
  std::span<CallHeader> headers;                   // by rank
  std::span<float> losses;
  std::span<double> statistics;                // by rank
  std::array<std::span<std::byte>, 2> pieces;  // by rank; see gather()
  std::shared_ptr<std::byte> memory;           // of all
  std::size_t bytes = 0;
};

/// `allocate` may return null: then it is memory of this process.
Staging make_staging(
    const StagingSizes& sizes,
    const std::function<std::shared_ptr<std::byte>(std::size_t)>& allocate);

}  // namespace traingraph
