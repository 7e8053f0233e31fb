// SPDX-License-Identifier: MIT
#include "cuda/ops/matmul_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/divide_up.h"
#include "traingraph/op_attrs.h"

namespace traingraph::cuda {
namespace {

constexpr double kUsualBatch = 32;
constexpr double kMultiprocessors = 132;
/// What a card does in a cycle of a multiprocessor, about.
constexpr double kBytesPerCycle = 48, kProductsPerCycle = 64;
constexpr double kCyclesPerBlock = 150;

constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kSharedBytes = 47 << 10;
/// Shorter depths are not worth a second kernel.
constexpr std::int64_t kMinSplitDepth = 2048, kDepthOfSplit = 512;

double usual(const Extent& extent) {
  return extent.varies ? kUsualBatch : static_cast<double>(extent.value);
}

/// `matrix` are the last two axes: (lines, depth) if it is deep.
ProductLines plan_lines(const Extents& operand, std::size_t rank,
                        bool is_deep) {
  ProductLines lines;
  lines.batch_strides = broadcast_strides(operand, rank);
  lines.batch_strides.resize(rank - 2);
  const Extent &outer = operand[operand.size() - 2], &inner = operand.back();
  lines.count = is_deep ? outer : inner;
  lines.stride = inner;
  // A single line, or depth, is either.
  lines.is_deep = is_deep ? !inner.is(1) : inner.is(1);
  const bool is_aligned = !inner.varies && inner.value % 4 == 0;
  lines.width = is_aligned ? 4 : 1;
  return lines;
}

/// Rows of all batches are lines at one distance, where y is the same for all.
void join_rows(ProductPlan& plan, const Extents& x) {
  for (std::size_t axis = 0; axis < plan.batch.size(); ++axis) {
    const std::size_t missing = plan.batch.size() + 2 - x.size();
    const Extent own = axis < missing ? Extent{1} : x[axis - missing];
    if (!plan.y.batch_strides[axis].is(0) || own != plan.batch[axis]) return;
  }
  plan.x.count = plan.x.count * product(plan.batch);
  plan.usual.rows *= std::exchange(plan.usual.batches, 1);
  plan.batch = plan.x.batch_strides = plan.y.batch_strides = {};
}

double cycles(const ProductPlan& plan, const ProductTile& tile,
              std::int64_t element_bytes) {
  const UsualSizes& usual = plan.usual;
  const double lines = static_cast<double>(tile.rows + tile.columns);
  const double size = static_cast<double>(tile.rows * tile.columns);
  const double bytes = lines * usual.depth * static_cast<double>(element_bytes);
  const double blocks =
      std::ceil(usual.rows / static_cast<double>(tile.rows)) *
      std::ceil(usual.columns / static_cast<double>(tile.columns)) *
      usual.batches;
  const double waves = std::ceil(blocks / kMultiprocessors);
  return waves *
         (kCyclesPerBlock + std::max(bytes / kBytesPerCycle,
                                     size * usual.depth / kProductsPerCycle));
}

}  // namespace

ProductPlan plan_product(const UnitBuilder& unit) {
  const auto& attrs = unit.attrs<MatMulAttrs>();
  const Extents x = input_extents(unit, 0), y = input_extents(unit, 1);
  ProductPlan plan;
  plan.batch = result_extents(unit);
  const std::size_t rank = plan.batch.size();
  plan.batch.resize(rank - 2);
  plan.depth = x[x.size() - (attrs.transposes_x ? 2 : 1)];
  plan.x = plan_lines(x, rank, !attrs.transposes_x);
  plan.y = plan_lines(y, rank, attrs.transposes_y);
  plan.usual = {.rows = usual(plan.rows()),
                .columns = usual(plan.columns()),
                .depth = usual(plan.depth)};
  for (const Extent& extent : plan.batch) plan.usual.batches *= usual(extent);
  if (!attrs.transposes_x) join_rows(plan, x);
  return plan;
}

std::int64_t ProductTile::num_tiles(const ProductPlan& plan) const {
  return divide_up(plan.rows().value, rows) *
         divide_up(plan.columns().value, columns) * plan.num_batches().value;
}

ProductTile choose_tile(const ProductPlan& plan, std::int64_t element_bytes) {
  constexpr std::array<std::array<std::int64_t, 2>, 9> kSizes = {{{64, 64},
                                                                  {32, 64},
                                                                  {64, 32},
                                                                  {32, 32},
                                                                  {16, 32},
                                                                  {32, 16},
                                                                  {16, 16},
                                                                  {8, 16},
                                                                  {8, 8}}};
  ProductTile best{};
  double best_cycles = 0;
  for (const auto& [rows, columns] : kSizes) {
    const ProductTile tile{rows, columns, 0, 0};
    const double now = cycles(plan, tile, element_bytes);
    if (best.rows > 0 && now >= best_cycles) continue;
    best = tile;
    best_cycles = now;
  }
  // Every slice has a group of four depths in each step, if there are as many.
  const std::int64_t slices = kThreads * 16 / (best.rows * best.columns);
  const std::int64_t most = std::max<std::int64_t>(32, 4 * slices);
  if (plan.depth.varies) {
    best.depth = std::min<std::int64_t>(most, 64);
  } else {
    const std::int64_t depth = std::max<std::int64_t>(plan.depth.value, 1);
    best.depth = 4 * divide_up(divide_up(depth, divide_up(depth, most)),
                               std::int64_t{4});
  }
  // Four more elements may be between lines (LinesTile).
  const std::int64_t stage_bytes =
      (best.rows + best.columns) * (best.depth + 4) * element_bytes;
  const std::int64_t steps =
      plan.depth.varies ? 4 : divide_up(plan.depth.value, best.depth);
  best.stages = std::clamp<std::int64_t>(kSharedBytes / stage_bytes, 1,
                                         std::clamp<std::int64_t>(steps, 1, 4));
  return best;
}

std::int64_t choose_splits(const ProductPlan& plan, const ProductTile& tile) {
  const std::int64_t depth = plan.depth.value, tiles = tile.num_tiles(plan);
  const std::int64_t idle = static_cast<std::int64_t>(kMultiprocessors) /
                            std::max<std::int64_t>(tiles, 1);
  if (depth < kMinSplitDepth || idle < 4) return 1;
  return std::min(divide_up(depth, kDepthOfSplit), idle);
}

}  // namespace traingraph::cuda
