// SPDX-License-Identifier: MIT
// Staging: what an exchange sends beside gradients, in one block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/exchange/call_header.h"

namespace traingraph {

struct StagingSizes {
  std::size_t num_ranks = 1;
  std::size_t piece_bytes = 0;  // of a rank's shard
  std::size_t num_losses = 0;
  std::size_t num_statistics = 0;  // of a rank
};

struct Staging {
  std::span<CallHeader> headers;  // by rank
  std::span<float> losses;
  std::span<float> statistics;                 // by rank
  std::array<std::span<std::byte>, 2> pieces;  // by rank; see gather()
  std::shared_ptr<std::byte> memory;           // of all
  std::size_t bytes = 0;
};

Staging make_staging(const StagingSizes& sizes);

}  // namespace traingraph
