// SPDX-License-Identifier: MIT
#include "compiler/prepared_units.h"

#include <algorithm>
#include <vector>

namespace traingraph {
namespace {

class Marking {
 public:
  Marking(const Program& program, LoweredProgram& lowered)
      : lowered_(lowered),
        is_fixed_(lowered.storages.size(), false),
        is_persistent_(lowered.storages.size(), false),
        num_writers_(lowered.storages.size(), 0) {
    for (const Unit& unit : lowered.units) {
      for (const StorageId s : unit.writes) ++num_writers_[s];
    }
    for (std::size_t s = 0; s < is_fixed_.size(); ++s) {
      const ValueId value = lowered.storages[s].value;
      if (value == kNoValue) continue;
      const Role role = program.value(value).role;
      is_persistent_[s] = role != Role::Result;
      is_fixed_[s] = num_writers_[s] == 0 &&
                     (role == Role::Variable || role == Role::Constant);
    }
  }

  void run() {
    for (Unit& unit : lowered_.units) {
      unit.is_prepared = is_fixed(unit);
      if (!unit.is_prepared) continue;
      for (const StorageId s : unit.writes) is_fixed_[s] = true;
    }
    run_again_what_reads_nothing();
    for (const Unit& unit : lowered_.units) {
      if (unit.is_prepared) continue;
      for (const StorageId s : unit.reads) keep(s);
    }
  }

 private:
  /// Variables that the program itself writes are not, nor is what several
  /// units write.
  bool is_fixed(const Unit& unit) const {
    const auto is_own = [&](StorageId s) {
      return num_writers_[s] == 1 && !is_persistent_[s];
    };
    return !unit.is_host && std::ranges::all_of(unit.writes, is_own) &&
           std::ranges::all_of(unit.reads,
                               [&](StorageId s) { return is_fixed_[s]; });
  }

  void run_again_what_reads_nothing() {
    std::vector<bool> is_read_in_each_run(is_fixed_.size(), false);
    for (const Unit& unit : lowered_.units) {
      if (unit.is_prepared) continue;
      for (const StorageId s : unit.reads) is_read_in_each_run[s] = true;
    }
    for (Unit& unit : lowered_.units) {
      if (!unit.reads.empty()) continue;
      unit.is_prepared &= std::ranges::none_of(
          unit.writes, [&](StorageId s) { return is_read_in_each_run[s]; });
      if (unit.is_prepared) continue;
      for (const StorageId s : unit.writes) is_fixed_[s] = false;
    }
  }

  void keep(StorageId s) {
    lowered_.storages[s].is_kept |= is_fixed_[s] && !is_persistent_[s];
  }

  LoweredProgram& lowered_;
  std::vector<bool> is_fixed_;  // by storage: no run changes it
  std::vector<bool> is_persistent_;
  std::vector<int> num_writers_;
};

}  // namespace

void mark_prepared(const Program& program, LoweredProgram& lowered) {
  Marking(program, lowered).run();
}

}  // namespace traingraph
