// SPDX-License-Identifier: MIT
// What units cost, and which layers they belong to: the tables behind
// CompiledGraph::report() and profile(). Pure functions of a compiled program.
#pragma once

#include <span>
#include <vector>

#include "compiler/compile.h"
#include "compiler/report_rows.h"
#include "traingraph/insight.h"

namespace traingraph {

/// Returns how the nodes of a unit divide its time; the sum is 1.
std::vector<double> shares_of(const Unit& unit, const Program& program);

/// Adds units to a profile, or a report's tables, in the order in which they
/// run, and keeps `rows` and `total` their sums.
class UnitTable {
 public:
  UnitTable(const MergedGraph& graph, const CompiledProgram& compiled,
            const DevicePeaks& peaks);
  /// `seconds` is empty, or has one number for each of `order`.
  void add(std::span<const UnitId> order, std::span<const double> seconds);
  /// Moves the tables to a Report or Profile.
  template <class Tables>
  void finish(Tables& tables) {
    finish_rows();
    tables.rows = std::move(rows_);
    tables.total = std::move(total_);
    tables.units = std::move(units_);
  }

 private:
  void begin(LayerRow& row, std::string name) const;
  void add(const Unit& unit, double seconds);
  void describe(const Unit& unit, UnitSpan& span);
  void describe_ops();
  void count_parameters();
  void finish_rows();
  int first_of_group(int row);
  std::string names(const std::vector<int>& rows) const;

  const MergedGraph& graph_;
  const CompiledProgram& compiled_;
  const Program& program_;
  DevicePeaks peaks_;
  const ReportRows row_of_;
  std::vector<LayerRow> rows_;
  /// A row's group is itself, or an earlier row that it is fused with.
  std::vector<int> group_;
  std::vector<UnitSpan> units_;
  LayerRow total_;
  double end_ = 0;
};

/// Sets Report::casts and cast_units.
void count_casts(const CompiledProgram& compiled, std::span<const UnitId> order,
                 Report& report);

/// Everything that lies in the plan's arena, by storage.
std::vector<MemorySpan> memory_spans(const CompiledProgram& compiled,
                                     const Plan& plan);

}  // namespace traingraph
