// SPDX-License-Identifier: MIT
// A lowered program that a test writes down unit by unit, and its plan.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/plan_check.h"

namespace traingraph::testing {

struct Lowered {
  StorageId storage(const std::string& name, std::size_t bytes = 64,
                    Role role = Role::Result) {
    const ValueId value = program.add_value(
        role, {{static_cast<std::int64_t>(bytes)}, DataType::Int8}, name);
    lowered.storages.push_back({bytes, value, name});
    lowered.storage_of.push_back(value);
    return value;
  }
  UnitId unit(std::vector<StorageId> reads, std::vector<StorageId> writes,
              Phase phase = Phase::Forward,
              std::vector<InPlace> in_place = {}) {
    Unit unit;
    unit.phase = phase;
    unit.reads = std::move(reads);
    unit.writes = std::move(writes);
    unit.in_place = std::move(in_place);
    lowered.units.push_back(std::move(unit));
    return static_cast<UnitId>(lowered.units.size()) - 1;
  }
  Plan plan() const { return make_plan(program, lowered, request); }
  std::string check(const Plan& plan) const {
    return check_plan(program, lowered, plan, request);
  }

  Program program;
  LoweredProgram lowered;
  PlanRequest request;
};

}  // namespace traingraph::testing
