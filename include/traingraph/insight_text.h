// SPDX-License-Identifier: MIT
// Reports and profiles to look at: tables, a chart, a trace.
#pragma once

#include <string>
#include <vector>

#include "traingraph/insight.h"

namespace traingraph {

/// Rows of a table come as they were declared, or the largest first.
enum class RowOrder : std::uint8_t {
  Declared,
  Seconds,
  Flops,
  Bytes,
  Parameters
};

struct TableOptions {
  RowOrder order = RowOrder::Declared;
  /// Rows as of repeated_blocks().
  bool groups_blocks = false;
};

/// A row per layer, aligned; the total is below a rule. Throws InvalidArgument
/// for a report in the order of seconds, which nobody measured.
TRAINGRAPH_API std::string table(const Report& report,
                                 const TableOptions& options = {});
TRAINGRAPH_API std::string table(const Profile& profile,
                                 const TableOptions& options = {});

/// Rows that do the same work and differ in the numbers of their names alone
/// become one, their sum: "block1.conv" and "block2.conv" are
/// "block#.conv x 2".
TRAINGRAPH_API std::vector<LayerRow> repeated_blocks(
    const std::vector<LayerRow>& rows);

/// A picture of the arena: units across, bytes up, a rectangle for each span
/// that says what it is when pointed at.
TRAINGRAPH_API std::string memory_svg(const Report& report);

/// The units of a run in Chrome's trace event format, which Perfetto and
/// chrome://tracing read: a track per phase, an event per unit.
TRAINGRAPH_API std::string trace_json(const Profile& profile);

}  // namespace traingraph
