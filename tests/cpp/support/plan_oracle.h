// SPDX-License-Identifier: MIT
// Runs a lowered program twice, with made-up kernels: with memory of its own
// for every storage, in the program's order; and in a plan's arena, in the
// plan's order. A sound plan leaves the same contents. Shares nothing with the
// planner or its checker, and finds only what really goes wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "compiler/plan.h"

namespace traingraph::testing {

class PlanOracle {
 public:
  PlanOracle(const Program& program, const LoweredProgram& lowered)
      : program_(program), lowered_(lowered) {}

  /// Does a run by this plan leave for the host, and in persistent storage,
  /// what it should?
  bool runs_right(const Plan& plan, const PlanRequest& request) const {
    std::vector<UnitId> in_order(lowered_.units.size());
    for (std::size_t i = 0; i < in_order.size(); ++i) {
      in_order[i] = static_cast<UnitId>(i);
    }
    return run(in_order, nullptr, request) == run(plan.order, &plan, request);
  }

 private:
  using Bytes = std::vector<std::uint8_t>;

  bool is_in(const Plan* plan, StorageId id) const {
    return plan && plan->offset_of[id] != Plan::kNotInArena;
  }

  /// Contents of what is left, one after the other.
  Bytes run(const std::vector<UnitId>& order, const Plan* plan,
            const PlanRequest& request) const {
    std::vector<Bytes> own;
    std::size_t arena_bytes = 0;
    for (StorageId id = 0; id < num_storages(); ++id) {
      const std::size_t bytes = lowered_.storages[id].bytes;
      own.emplace_back(bytes, static_cast<std::uint8_t>(17 * id + 1));
      if (is_in(plan, id)) {
        arena_bytes = std::max(arena_bytes, plan->offset_of[id] + bytes);
      }
    }
    Bytes arena(arena_bytes, 0xee);
    const auto at = [&](StorageId id) {
      return is_in(plan, id) ? arena.data() + plan->offset_of[id]
                             : own[id].data();
    };
    for (const UnitId id : order) run(lowered_.units[id], id, at);
    Bytes left;
    const auto keep = [&](StorageId id) {
      left.insert(left.end(), at(id), at(id) + lowered_.storages[id].bytes);
    };
    for (StorageId id = 0; id < num_storages(); ++id) {
      const ValueId value = lowered_.storages[id].value;
      const bool is_persistent =
          value != kNoValue && program_.value(value).role != Role::Result;
      if (is_persistent) keep(id);
    }
    for (const auto* values : {&request.readable, &request.gradients}) {
      const bool is_read =
          values == &request.readable || request.kind == PlanKind::Phases;
      for (const ValueId value : *values) {
        if (is_read && lowered_.storage_of[value] >= 0) {
          keep(lowered_.storage_of[value]);
        }
      }
    }
    return left;
  }

  /// Scratch is written first, results last and from all that was read.
  template <class At>
  void run(const Unit& unit, UnitId id, const At& at) const {
    for (const StorageId s : unit.scratch) {
      std::fill_n(at(s), lowered_.storages[s].bytes,
                  static_cast<std::uint8_t>(0xd0 + id % 16));
    }
    std::uint64_t hash = 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(id);
    for (const StorageId s : unit.reads) {
      for (std::size_t i = 0; i < lowered_.storages[s].bytes; ++i) {
        hash = (hash ^ at(s)[i]) * 0x100000001b3u;
        hash ^= hash >> 29;
      }
    }
    for (const StorageId s : unit.writes) {
      for (std::size_t i = 0; i < lowered_.storages[s].bytes; ++i) {
        hash = hash * 6364136223846793005u + 1442695040888963407u;
        at(s)[i] = static_cast<std::uint8_t>(hash >> 56);
      }
    }
  }

  StorageId num_storages() const {
    return static_cast<StorageId>(lowered_.storages.size());
  }

  const Program& program_;
  const LoweredProgram& lowered_;
};

}  // namespace traingraph::testing
