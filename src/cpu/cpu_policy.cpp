// SPDX-License-Identifier: MIT
#include "cpu/cpu_policy.h"

#include <cstring>

#include "cpu/engine/engine.h"
#include "cpu/kernel_table.h"
#include "cpu/layout_copy.h"
#include "cpu/lowering.h"
#include "cpu/native_types.h"
#include "cpu/ops/elementwise_rows.h"
#include "cpu/parallel.h"
#include "cpu/primitive_threads.h"
#include "lowering/gate.h"

namespace traingraph::cpu {

void emit(UnitBuilder& unit, KernelFactory bind) {
  unit.emit(std::make_unique<CpuUnitCode>(std::move(bind)));
}

void CpuPolicy::lower(OpKind op, UnitBuilder& unit) const {
  if (is_gate(op, unit)) return lower_gate(unit);
  is_expression(unit) ? lower_expression(unit) : lower_function(op)(unit);
}

CopyCode CpuPolicy::copy(const Layout& from, const Layout& to) const {
  Reorder reorder = make_layout_copy(from, to);
  return {.code = std::make_unique<CpuUnitCode>(std::move(reorder.bind)),
          .scratch_bytes = reorder.scratch_bytes};
}

std::unique_ptr<UnitCode> CpuPolicy::copy_bytes(std::int64_t bytes) const {
  return std::make_unique<CpuUnitCode>([bytes](BindContext& at) -> BoundKernel {
    return [x = at[0], y = at[1], bytes] {
      parallel_for(
          bytes, 4 * kCheapGrain,
          [&](auto begin, auto end) {
            std::memcpy(y + begin, x + begin, end - begin);
          },
          /*multiple=*/64);
    };
  });
}

void CpuPolicy::make_code(const Node& node, const NodeCost& cost,
                          const std::function<void()>& make) const {
  const PrimitiveThreads threads(threads_for(cost, num_threads_));
  translate_errors(node.op->name, node.name, make);
}

/// Primitives are made for a number of threads.
std::int64_t CpuPolicy::code_variant() const {
  return PrimitiveThreads::count();
}

bool CpuPolicy::gains_by_rounding() const { return cpu::gains_by_rounding(); }

}  // namespace traingraph::cpu
