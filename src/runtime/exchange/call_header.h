// SPDX-License-Identifier: MIT
// What a process tells the others before a call that exchanges something: which
// one it is, of which graph, and of how many samples. CallOrder: graphs that
// are linked make their calls in one order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formulas/run_time_scalars.h"
#include "runtime/plans/entry_point.h"

namespace traingraph {

struct CallOrder {
  std::uint64_t count = 0;          // calls of this process
  std::vector<std::string> graphs;  // by place; empty: there is one graph
};

/// As bytes, the same on every machine.
struct CallHeader {
  std::uint64_t number = 0;
  std::int64_t samples = 0;
  std::int64_t waiting = 0;  // samples of passes that this one is averaged with
  std::uint64_t changes = 0;
  std::int64_t pieces = 0, numbers = 0;  // of gradients that it sends
  std::int32_t entry_point = 0;
  std::int32_t graph = 0;
  float rate = 0;
  std::int32_t compiled = 0;  // see count_compiled()
  char call[16] = {};         // that is no execution
};

/// Of a header whose call is none.
inline constexpr std::int32_t kNoEntryPoint = -1;

/// The header of one process beside that of another.
struct HeaderPair {
  const CallHeader& own;
  const CallHeader& other;
  int own_rank = 0, other_rank = 0;
};

/// The part of a process that has `samples` in those of all.
float weight_of(std::int64_t samples, std::span<const CallHeader> headers);
/// Pairs of factors that were chosen by the samples of this process become
/// those of the samples of all.
void average(std::span<formulas::AccumulationFactors> factors,
             std::span<const CallHeader> headers);
/// Throws StateError, which names what differs. `graphs`: see CallOrder.
void require_same(const HeaderPair& headers,
                  const std::vector<std::string>& graphs, const char* call);

}  // namespace traingraph
