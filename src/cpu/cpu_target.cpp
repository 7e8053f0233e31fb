// SPDX-License-Identifier: MIT
// What the CPU supports.
#include "cpu/cpu_target.h"

#include "cpu/lowering.h"

namespace traingraph::cpu {

bool CpuTarget::computes_in(DataType type) const {
  return type != DataType::Float16 && type != DataType::BFloat16;
}

std::string CpuTarget::reason_unsupported(const Program& program,
                                          const Node& node) const {
  if (lower_function(node.op->kind) == nullptr) {
    return "the CPU has no kernel for this operation";
  }
  const auto reason_of = [&](ValueId id) -> std::string {
    if (id == kNoValue || program.value(id).is_opaque) return {};
    const DataType type = program.desc(id).data_type;
    if (computes_in(type)) return {};
    return "the CPU does not compute in " + std::string(to_string(type));
  };
  for (ValueId id : node.inputs) {
    if (std::string reason = reason_of(id); !reason.empty()) return reason;
  }
  for (ValueId id : node.outputs) {
    if (std::string reason = reason_of(id); !reason.empty()) return reason;
  }
  return {};
}

LoweredProgram CpuTarget::lower(const Program& program,
                                const LowerOptions& options) const {
  return lower_program(program, options, *this, num_threads_);
}

}  // namespace traingraph::cpu
