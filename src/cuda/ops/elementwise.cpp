// SPDX-License-Identifier: MIT
// Element-wise nodes, those that were joined included, in one pass over memory.
#include "cuda/ops/elementwise.h"

#include <algorithm>

#include "base/divide_up.h"
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise_expression.h"
#include "cuda/ops/elementwise_text.h"
#include "cuda/ops/matmul.h"
#include "cuda/ops/walk.h"

namespace traingraph::cuda {
namespace {

constexpr int kElements = 4;  // of a thread, in flight at once
constexpr std::size_t kMaxSteps = 24;

/// Nodes whose result is their operand seen otherwise.
bool is_view(UnitBuilder& unit) {
  return unit.node().op->kind == OpKind::Cast &&
         unit.input_desc(0).data_type == unit.result_desc().data_type;
}

}  // namespace

std::int64_t map_blocks(std::int64_t count, int elements_per_thread) {
  constexpr std::int64_t kMaxBlocks = 132 * 16;
  return std::clamp<std::int64_t>(
      divide_up(count, std::int64_t{kMapThreads} * elements_per_thread), 1,
      kMaxBlocks);
}

void join_elementwise(FusionSearch& search) {
  const auto computes = [](const Program&, const Node& node) {
    return is_elementwise(node.op->kind) && node.op->kind != OpKind::Fill;
  };
  join_expressions(search, {.computes = computes, .max_steps = kMaxSteps});
}

void lower_elementwise(UnitBuilder& unit) {
  if (is_view(unit)) return unit.alias(0, 0);
  Expression expression(unit);
  if (find_product(expression) != nullptr) {
    return lower_product_expression(expression);
  }
  const std::vector<int> args = read_operands(expression);
  const int out = unit.write(0);
  may_overwrite_operands(expression, out, args, {});
  KernelWriter kernel("map.cuh");
  const std::string y = kernel.pointer(out, unit.result_desc().data_type);
  const Extent count = product(result_extents(unit));
  const std::string n = text_of(kernel, count);
  kernel.body("  map<" + std::to_string(kElements) + ">(" + y + ", " + n +
              ", [&](Index i) {\n");
  const std::string value = write_expression(kernel, expression, args, "i");
  kernel.body("    return " + value + ";\n  });\n");
  emit(unit, {std::move(kernel).launch(map_blocks(count.value, kElements),
                                       kMapThreads)});
}

void lower_dropout(UnitBuilder& unit) {
  const auto attrs = unit.attrs<DropoutAttrs>();
  if (attrs.rate == 0) return unit.alias(0, 0);
  const DataType type = unit.result_desc().data_type;
  KernelWriter kernel("dropout.cuh");
  const std::string x = kernel.pointer(unit.read(0), type);
  const std::string state = kernel.pointer(unit.read(1), DataType::Int64);
  const std::string y = kernel.pointer(unit.write(0), type);
  unit.may_run_in_place(0, 0);
  const Extent count = product(result_extents(unit));
  kernel.body("  drop(" + x + ", reinterpret_cast<const RandomState*>(" +
              state + "), " + y + ", " + text_of(kernel, count) + ", " +
              std::to_string(static_cast<std::uint64_t>(attrs.seed)) + "ull, " +
              std::to_string(static_cast<std::uint32_t>(attrs.stream)) + "u, " +
              literal(attrs.rate) + ", " + literal(1 / (1 - attrs.rate)) +
              ");\n");
  emit(unit,
       {std::move(kernel).launch(map_blocks(count.value, 4), kMapThreads)});
}

void lower_stop_gradient(UnitBuilder& unit) { unit.alias(0, 0); }

}  // namespace traingraph::cuda
