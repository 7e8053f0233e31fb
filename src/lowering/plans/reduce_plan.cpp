// SPDX-License-Identifier: MIT
#include "lowering/plans/reduce_plan.h"

#include "base/divide_up.h"
#include "lowering/layout.h"

namespace traingraph {
namespace {

constexpr std::int64_t kEnoughReduceTasks = 32;
constexpr std::int64_t kElementsPerChunk = 16384;

bool contains(const Shape& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

}  // namespace

ReducePlan::ReducePlan(const Shape& shape, const Shape& axes) {
  const Shape strides = element_strides(shape);
  LoopNest nest;
  std::array<bool, kMaxRank> is_reduced{};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const bool reduces = axes.empty() || contains(axes, axis);
    const int last = nest.sizes.rank() - 1;
    if (last >= 0 && is_reduced[last] == reduces) {
      nest.sizes[last] *= shape[axis];
      nest.strides[last] = strides[axis];
      continue;
    }
    is_reduced[last + 1] = reduces;
    nest.sizes.push_back(shape[axis]);
    nest.strides.push_back(strides[axis]);
  }
  const int rows = nest.sizes.rank() - 1;
  for (int axis = 0; axis < rows; ++axis) {
    LoopNest& target = is_reduced[axis] ? reduced : kept;
    target.sizes.push_back(nest.sizes[axis]);
    target.strides.push_back(nest.strides[axis]);
  }
  if (rows >= 0) {
    row_length = nest.sizes[rows];
    reduces_rows = is_reduced[rows];
  }

  num_outputs = kept.count() * (reduces_rows ? 1 : row_length);
  num_reduced = reduced.count() * (reduces_rows ? row_length : 1);
  if (reduces_rows) {
    pieces_per_row = divide_up(row_length, kPieceLength);
    num_items = reduced.count() * pieces_per_row;
  } else {
    num_blocks = divide_up(row_length, kColumns);
    num_items = reduced.count();
  }
  const std::int64_t tasks = kept.count() * num_blocks;
  const std::int64_t columns =
      reduces_rows ? 1 : std::min(row_length, kColumns);
  if (tasks < kEnoughReduceTasks) {
    const std::int64_t wanted =
        divide_up(num_reduced * columns, kElementsPerChunk);
    num_chunks = std::min({num_items, wanted, divide_up(64, tasks)});
  }
  const std::int64_t elements_per_task = num_reduced * columns / num_chunks;
  task_grain = std::max<std::int64_t>(
      1, kElementsPerChunk / std::max<std::int64_t>(1, elements_per_task));
}

ReduceTask ReducePlan::task(std::int64_t index) const {
  ReduceTask task;
  task.chunk = index % num_chunks;
  index /= num_chunks;
  const std::int64_t column = index % num_blocks * kColumns;
  const std::int64_t outer = index / num_blocks;
  task.offset = kept.offset(outer) + column;
  task.output = reduces_rows ? outer : outer * row_length + column;
  task.num_columns = reduces_rows ? 1 : std::min(kColumns, row_length - column);
  task.first = num_items * task.chunk / num_chunks;
  task.last = num_items * (task.chunk + 1) / num_chunks;
  return task;
}

}  // namespace traingraph
