// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "compiler/row_costs.h"
#include "runtime/insight/printable.h"
#include "traingraph/error.h"
#include "traingraph/insight_text.h"

namespace traingraph {
namespace {

enum class Side { Left, Right };

/// A column has two lines of heading, then a cell for each row.
struct Column {
  std::string title, unit;
  Side side = Side::Right;
  std::vector<std::string> cells = {};
};

using Rows = std::vector<LayerRow>;

Column text_column(std::string title, const Rows& rows,
                   std::string LayerRow::* text) {
  Column column{std::move(title), "", Side::Left};
  for (const LayerRow& row : rows) column.cells.push_back(printable(row.*text));
  return column;
}

template <class Number>
Column count_column(std::string title, const Rows& rows,
                    Number LayerRow::* number) {
  Column column{std::move(title), ""};
  for (const LayerRow& row : rows) {
    column.cells.push_back(
        with_commas(static_cast<std::uint64_t>(row.*number)));
  }
  return column;
}

/// Numbers are divided by this, for the unit's prefix.
std::pair<double, const char*> scale_of(double largest) {
  constexpr std::pair<double, const char*> kScales[] = {
      {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "u"}};
  if (largest <= 0) return {1, ""};
  for (const auto& scale : kScales) {
    if (largest >= scale.first) return scale;
  }
  return kScales[std::size(kScales) - 1];
}

/// Makes a column per phase, in the unit that suits the largest number.
void add_costs(std::vector<Column>& columns, const Rows& rows,
               double LayerCost::* cost, const std::string& unit,
               const std::string& title = "") {
  double largest = 0;
  for (const LayerRow& row : rows) {
    for (auto phase : kPhaseCosts) {
      largest = std::max(largest, row.*phase.*cost);
    }
  }
  const auto [scale, prefix] = scale_of(largest);
  for (std::size_t i = 0; i < kPhaseCosts.size(); ++i) {
    Column column{title.empty() ? std::string(kPhaseNames[i]) : title,
                  prefix + unit};
    for (const LayerRow& row : rows) {
      const double number = row.*kPhaseCosts[i].*cost;
      column.cells.push_back(number == 0 ? "0"
                                         : format("%.2f", number / scale));
    }
    columns.push_back(std::move(column));
  }
}

void add_shares(std::vector<Column>& columns, const Rows& rows) {
  for (std::size_t i = 0; i < kPhaseCosts.size(); ++i) {
    Column column{std::string(kPhaseNames[i]), "of limit"};
    for (const LayerRow& row : rows) {
      const double share = (row.*kPhaseCosts[i]).share();
      column.cells.push_back(std::isnan(share) ? "-"
                                               : format("%.0f%%", share * 100));
    }
    columns.push_back(std::move(column));
  }
}

std::string pad(const std::string& cell, std::size_t to, Side side) {
  const std::string space(to - width(cell), ' ');
  return side == Side::Left ? cell + space : space + cell;
}

/// The last row, the total, is below a rule.
std::string align(const std::vector<Column>& columns) {
  std::vector<std::string> lines(columns.front().cells.size() + 2);
  for (const Column& column : columns) {
    std::size_t widest = std::max(column.title.size(), column.unit.size());
    for (const std::string& cell : column.cells) {
      widest = std::max(widest, width(cell));
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string& cell = i == 0   ? column.title
                                : i == 1 ? column.unit
                                         : column.cells[i - 2];
      if (!lines[i].empty()) lines[i] += "  ";
      lines[i] += pad(cell, widest, column.side);
    }
  }
  std::size_t longest = 0;
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    longest = std::max(longest, width(line));
  }
  const std::string rule(longest, '-');
  lines.insert(lines.begin() + 2, rule);
  lines.insert(lines.end() - 1, rule);
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

std::string names_of_groups(const Rows& rows) {
  std::string text;
  std::set<int> seen;
  for (const LayerRow& row : rows) {
    if (row.fused_group < 0 || !seen.insert(row.fused_group).second) continue;
    text += "\nfused " + std::to_string(row.fused_group) + ": " +
            printable(row.fused);
  }
  return text;
}

double size_of(const LayerRow& row, RowOrder order) {
  switch (order) {
    case RowOrder::Seconds:
      return row.cost().seconds;
    case RowOrder::Flops:
      return row.cost().flops;
    case RowOrder::Bytes:
      return row.cost().bytes;
    case RowOrder::Parameters:
      return static_cast<double>(row.parameters);
    case RowOrder::Declared:
      break;
  }
  return 0;
}

Rows chosen(const Rows& all, const TableOptions& options) {
  Rows rows = options.groups_blocks ? repeated_blocks(all) : all;
  std::ranges::stable_sort(rows, std::greater<>(), [&](const LayerRow& row) {
    return size_of(row, options.order);
  });
  return rows;
}

std::string with_total(
    Rows rows, const LayerRow& total,
    const std::function<std::vector<Column>(const Rows&)>& columns) {
  std::string groups = names_of_groups(rows);
  rows.push_back(total);
  return align(columns(rows)) + groups;
}

Column fused_column(const Rows& rows) {
  Column column{"fused", ""};
  for (const LayerRow& row : rows) {
    column.cells.push_back(
        row.fused_group < 0 ? "" : std::to_string(row.fused_group));
  }
  return column;
}

std::string line_of(const BatchPlans& plans) {
  if (plans.sizes == 0) return {};
  std::string line = std::to_string(plans.sizes) +
                     " smaller batch sizes: plans of about " +
                     with_commas(plans.bytes) + " of at most " +
                     with_commas(plans.limit_bytes) + " bytes";
  if (plans.evictions > 0) {
    line += ", " + with_commas(static_cast<std::size_t>(plans.evictions)) +
            " more have made room (batch_plans_bytes)";
  }
  return line + '\n';
}

/// How many of each there are, and each hint.
std::string lines_of(const std::vector<Rewrite>& rewrites) {
  std::map<std::string, int> counts;
  std::string hints;
  for (const Rewrite& rewrite : rewrites) {
    if (rewrite.hint.empty()) {
      ++counts[rewrite.what];
    } else {
      hints += "nearly " + rewrite.what + ": " + printable(rewrite.node) +
               ": " + rewrite.hint + '\n';
    }
  }
  if (counts.empty()) return hints;
  std::string text;
  for (const auto& [what, count] : counts) {
    text += (text.empty() ? "recognized: " : ", ") + std::to_string(count) +
            " " + what;
  }
  return text + '\n' + hints;
}

}  // namespace

std::string table(const Report& report, const TableOptions& options) {
  if (options.order == RowOrder::Seconds) {
    throw InvalidArgument(
        ErrorInfo{.op = "table",
                  .what = "a report has no times to sort by",
                  .expected = "the order declared, flops, bytes or parameters",
                  .hint = "A profile has times."});
  }
  std::string title = printable(report.device) + ", batch size " +
                      std::to_string(report.batch_size) + ", " +
                      std::to_string(report.units.size()) + " units, arena " +
                      with_commas(report.arena_bytes) + " bytes";
  if (report.casts > 0) {
    title += ", " + std::to_string(report.casts) + " casts in " +
             std::to_string(report.cast_units) + " units of their own";
  }
  title += '\n';
  title += line_of(report.batch_plans);
  for (const std::string& note : report.notes) title += note + '\n';
  title += lines_of(report.rewrites);
  return title +
         with_total(
             chosen(report.rows, options), report.total, [](const Rows& rows) {
               std::vector<Column> columns{
                   text_column("layer", rows, &LayerRow::layer)};
               add_costs(columns, rows, &LayerCost::flops, "FLOP");
               add_costs(columns, rows, &LayerCost::bytes, "B");
               columns.push_back(
                   count_column("parameters", rows, &LayerRow::parameters));
               columns.push_back(
                   text_column("layout", rows, &LayerRow::layout));
               columns.push_back(
                   count_column("reorders", rows, &LayerRow::reorders));
               columns.push_back(fused_column(rows));
               return columns;
             });
}

std::string table(const Profile& profile, const TableOptions& options) {
  std::string title =
      printable(profile.device) + ", batch size " +
      std::to_string(profile.batch_size) +
      format(", %.3f ms in ", profile.total.cost().seconds * 1e3) +
      std::to_string(profile.units.size()) + " units";
  if (profile.runs > 1) {
    title += ", median of " + std::to_string(profile.runs) + " runs";
  }
  if (!std::isnan(profile.peaks.flops)) {
    title += format("; limits %.0f GFLOP/s, %.1f GB/s",
                    profile.peaks.flops / 1e9, profile.peaks.bandwidth / 1e9);
  }
  return title + "\n" +
         with_total(chosen(profile.rows, options), profile.total,
                    [&](const Rows& rows) {
                      std::vector<Column> columns{
                          text_column("layer", rows, &LayerRow::layer)};
                      add_costs(columns, rows, &LayerCost::seconds, "s");
                      if (profile.runs > 1) {
                        add_costs(columns, rows, &LayerCost::spread, "s", "+-");
                      }
                      add_costs(columns, rows, &LayerCost::flops, "FLOP");
                      add_costs(columns, rows, &LayerCost::bytes, "B");
                      add_shares(columns, rows);
                      return columns;
                    });
}

}  // namespace traingraph
