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

bool CpuTarget::computes(const Program& program, const Node& node) const {
  const auto is_half = [&](ValueId id) {
    if (id == kNoValue || program.value(id).is_opaque) return false;
    const DataType type = program.desc(id).data_type;
    return is_float(type) && type != DataType::Float32;
  };
  const bool has_halves = std::ranges::any_of(node.inputs, is_half) ||
                          std::ranges::any_of(node.outputs, is_half);
  return !has_halves || has_half_kernels(node.op->kind);
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
    return {};
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
