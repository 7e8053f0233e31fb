// SPDX-License-Identifier: MIT
// What the CPU supports.
#include "cpu/cpu_target.h"

#include <algorithm>

#include "cpu/lowering.h"

namespace traingraph::cpu {
namespace {

/// oneDNN counts rows and their blocks in 32 bits, and divides by what comes
/// out when that overflows.
constexpr std::int64_t kLongestAxis = std::int64_t{1} << 30;

bool has_long_axis(const Shape& shape) {
  return std::ranges::any_of(
      shape, [](std::int64_t size) { return size > kLongestAxis; });
}

}  // namespace

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
    if (has_long_axis(program.shape(id))) {
      return "the CPU takes at most " + std::to_string(kLongestAxis) +
             " elements along an axis, not " + program.shape(id).to_string();
    }
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
