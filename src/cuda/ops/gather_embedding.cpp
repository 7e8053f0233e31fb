// SPDX-License-Identifier: MIT
// embedding and its gradient: rows of a table by index.
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/gather_sort.h"
#include "cuda/ops/reduce_launches.h"
#include "graph/op_def.h"

namespace traingraph::cuda {
namespace {

constexpr int kTokens = 1;  // the input that has the indices

struct Table {
  Extent rows, width;

  explicit Table(const Extents& sizes) : width(sizes.back()) {
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) rows = rows * sizes[i];
  }
};

std::string token_pointer(UnitBuilder& unit, KernelWriter& kernel, int arg) {
  return kernel.pointer(arg, unit.input_desc(kTokens).data_type);
}

/// y = the rows that tokens name, times what `scale` is the text of.
Launch look_up(UnitBuilder& unit, const Table& table, int weights, int at,
               int y) {
  const DataType type = unit.result_desc().data_type;
  const Extent tokens = product(input_extents(unit, kTokens));
  const Extent count = tokens * table.width;
  KernelWriter kernel("map.cuh");
  kernel.include("gather.cuh");
  const std::string from = kernel.pointer(weights, type);
  const std::string named = token_pointer(unit, kernel, at);
  const std::string rows = text_of(kernel, table.rows);
  kernel.body("  map<4>(" + kernel.pointer(y, type) + ", " +
              text_of(kernel, count) + ", [&](Index e) -> " + type_text(type) +
              " {\n");
  const auto k = write_coordinates(kernel, {tokens, table.width}, "e");
  kernel.body("    const Index row = " + named + "[" + k[0] +
              "];\n    if (!is_inside(row, " + rows + ")) return nothing<" +
              type_text(type) + ">();\n    return " + from + "[row * " +
              text_of(kernel, table.width) + " + " + k[1] + "];\n  });\n");
  return std::move(kernel).launch(map_blocks(count.value, 4), kMapThreads);
}

/// A team has a token: what it does with its row is text, in which `row`,
/// `scale` and `lane` are known.
Launch scale_rows(UnitBuilder& unit, const Table& table, int weights, int at,
                  const std::string& condition,
                  const std::function<std::string(KernelWriter&)>& target) {
  const auto& attrs = unit.attrs<EmbeddingAttrs>();
  const DataType type = unit.result_desc().data_type;
  const Extent tokens = product(input_extents(unit, kTokens));
  const int threads = team_threads(table.width);
  const std::string team = team_text(threads);
  KernelWriter kernel("embedding.cuh");
  const std::string from = kernel.pointer(weights, type);
  const std::string named = token_pointer(unit, kernel, at);
  const std::string width = text_of(kernel, table.width);
  kernel.body("  const auto at = [&](Index k) { return Index(" + named +
              "[k]); };\n  " + team + "::each(" + text_of(kernel, tokens) +
              ", [&](Index k) {\n    const bool is_row = is_inside(at(k), " +
              text_of(kernel, table.rows) + ");\n    const " + type_text(type) +
              "* row = " + from + " + " + "(is_row ? at(k) : 0) * " + width +
              ";\n" + condition + "    const float scale = scale_of_row<" +
              team + ">(row, " + width + ", " + literal(attrs.p_norm) + ", " +
              literal(attrs.maximum_norm) + ");\n    for (Index i = " + team +
              "::lane(); i < " + width + "; i += " + team +
              "::kSize) {\n      " + target(kernel) + ";\n    }\n  });\n");
  return std::move(kernel).launch(team_blocks(tokens.value, threads),
                                  team_block(threads));
}

}  // namespace

void lower_embedding(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<EmbeddingAttrs>();
  const Table table(input_extents(unit, 0));
  const DataType type = unit.result_desc().data_type;
  const bool stores = mutates(unit.node(), 0);
  const int weights = stores ? unit.mutate(0) : unit.read(0);
  const int at = unit.read(kTokens), y = unit.write(0);
  const std::string width = std::to_string(table.width.value);
  if (stores) {
    // The first token of a row scales it, where it is stored.
    const int threads = team_threads(table.width);
    const Launch scaled = scale_rows(
        unit, table, weights, at,
        "    if (!is_row || !is_first<" + team_text(threads) +
            ">(k, at)) return;\n",
        [&](KernelWriter& kernel) {
          const std::string to =
              kernel.pointer(weights, type) + "[at(k) * " + width + " + i]";
          return "if (scale != 1) " + to + " = float(row[i]) * scale";
        });
    return emit(unit, {scaled, look_up(unit, table, weights, at, y)});
  }
  if (attrs.maximum_norm == 0) {
    return emit(unit, {look_up(unit, table, weights, at, y)});
  }
  emit(unit,
       {scale_rows(unit, table, weights, at, "", [&](KernelWriter& kernel) {
         const std::string element = type_text(type);
         return kernel.pointer(y, type) + "[k * " + width +
                " + i] = is_row ? " + element +
                "(float(row[i]) * scale) : " + element + "(nothing<" + element +
                ">())";
       })});
}

void lower_embedding_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<EmbeddingGradientAttrs>();
  const Table table(result_extents(unit));
  const DataType type = unit.result_desc().data_type;
  const Extent tokens = product(input_extents(unit, kTokens));
  const Extent count = table.rows * table.width;
  const int gradient = unit.read(0), at = unit.read(kTokens);
  const int result = unit.write(0);
  std::vector<Launch> launches;
  const SortedPositions sorted =
      sort_positions(unit, at, unit.input_desc(kTokens).data_type, tokens,
                     table.rows, launches);
  KernelWriter kernel("map.cuh");
  kernel.include("sort.cuh");
  const std::string dy = kernel.pointer(gradient, type);
  kernel.body("  map<1>(" + kernel.pointer(result, type) + ", " +
              text_of(kernel, count) + ", [&](Index e) -> " + type_text(type) +
              " {\n");
  const auto k = write_coordinates(kernel, {table.rows, table.width}, "e");
  const std::string source = "[&](Index j) { return " + dy + "[j * " +
                             text_of(kernel, table.width) + " + " + k[1] +
                             "]; }";
  const std::string sum = sorted.sum(kernel, tokens, table.rows, type,
                                     type_text(type) + "(0.0f)", k[0], source);
  if (attrs.padding_index >= 0) {
    kernel.body("    if (" + k[0] + " == " +
                std::to_string(attrs.padding_index) + ") return 0.0f;\n");
  }
  kernel.body("    const float sum = " + sum + ";\n");
  kernel.body(attrs.scales_gradient_by_frequency
                  ? "    const Index times = range.last - range.first;\n"
                    "    return times < 2 ? sum : sum / float(times);\n"
                  : "    return sum;\n");
  kernel.body("  });\n");
  launches.push_back(
      std::move(kernel).launch(map_blocks(count.value, 1), kMapThreads));
  emit(unit, std::move(launches));
}

}  // namespace traingraph::cuda
