// SPDX-License-Identifier: MIT
// Element-wise nodes, those that were joined included, in one pass over memory.
#include "cuda/ops/elementwise.h"

#include <algorithm>

#include "base/divide_up.h"
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise_text.h"
#include "cuda/ops/walk.h"
#include "lowering/expression.h"

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
  UnitBuilder& last = expression.steps.back().unit;
  const Extents sizes = result_extents(last);
  KernelWriter kernel("map.cuh");

  std::vector<std::string> pointers;
  std::vector<Extents> strides;
  std::vector<int> large;  // arguments that the result may overwrite
  for (const auto& [step, input] : expression.operands) {
    UnitBuilder& reader = expression.steps[step].unit;
    const int arg = reader.read(input);
    const TensorDescriptor& desc = reader.input_desc(input);
    pointers.push_back(kernel.pointer(arg, desc.data_type));
    strides.push_back(
        broadcast_strides(input_extents(reader, input), sizes.size()));
    if (desc.shape == last.result_shape() &&
        size_of(desc.data_type) == size_of(last.result_desc().data_type)) {
      large.push_back(arg);
    }
  }
  const int out = unit.write(0);
  for (const int arg : large) unit.may_overwrite(out, arg);
  const DataType type = last.result_desc().data_type;
  const std::string y = kernel.pointer(out, type);

  const Walk walk(sizes, strides);
  const std::string n = text_of(kernel, walk.count());
  kernel.body("  map<" + std::to_string(kElements) + ">(" + y + ", " + n +
              ", [&](Index i) {\n");
  const std::vector<std::string> offsets = walk.write_offsets(kernel, "i");
  std::vector<std::string> operands;
  for (std::size_t k = 0; k < pointers.size(); ++k) {
    operands.push_back(kernel.local());
    kernel.body("    const auto " + operands.back() + " = " + pointers[k] +
                "[" + offsets[k] + "];\n");
  }
  std::vector<std::string> computed;
  for (const Expression::Step& step : expression.steps) {
    std::vector<std::string> sources;
    for (const int source : step.sources) {
      sources.push_back(source < 0 ? operands[~source] : computed[source]);
    }
    computed.push_back(kernel.local());
    kernel.body("    const auto " + computed.back() + " = " +
                elementwise_text(step.unit, sources) + ";\n");
  }
  kernel.body("    return " + computed.back() + ";\n  });\n");
  emit(unit, {std::move(kernel).launch(
                 map_blocks(walk.count().value, kElements), kMapThreads)});
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
