// SPDX-License-Identifier: MIT
// What the CPU supports.
#include "cpu/cpu_target.h"

#include <algorithm>

#include "cpu/kernel_table.h"
#include "cpu/lowering.h"
#include "cpu/native_types.h"
#include "lowering/lowering.h"

namespace traingraph::cpu {
namespace {

/// oneDNN counts rows and their blocks in 32 bits, and divides by what comes
/// out when that overflows.
constexpr std::int64_t kMaxAxisSize = std::int64_t{1} << 30;

bool has_long_axis(const Shape& shape) {
  return std::ranges::any_of(
      shape, [](std::int64_t size) { return size > kMaxAxisSize; });
}

bool is_product(const Node& node) {
  return node.op->autocast_list == AutocastList::LowPrecision;
}

std::string note_of_upcast_convolutions(DataType type) {
  return "This processor has no convolutions of " +
         std::string(to_string(type)) +
         ": they cast their operands to float32, which is slower than "
         "precision \"float32\".";
}

/// Products in 16 bits that the processor lacks were upcast before.
std::vector<std::string> notes_of(const Program& program,
                                  const LowerOptions& options) {
  std::vector<std::string> notes;
  if (std::ranges::none_of(program.nodes(), is_product)) return notes;
  for (DataType type : kDataTypes) {
    if (!is_half(type)) continue;
    const auto is_of_type = [&](const Value& value) {
      return !value.is_opaque && value.desc.data_type == type;
    };
    const auto is_cast = [&](const Node& node) {
      return is_product(node) && !takes_half(program, node, type);
    };
    if (std::ranges::none_of(program.values(), is_of_type)) continue;
    if (!has_products(type)) {
      notes.push_back(note_of_upcast_products(type));
    } else if (!has_convolutions(type) &&
               std::ranges::any_of(program.nodes(), is_cast)) {
      notes.push_back(note_of_upcast_convolutions(type));
    }
  }
  if (options.rounds_operands && !gains_by_rounding()) {
    notes.push_back(note_of_exact_products());
  }
  return notes;
}

}  // namespace

bool CpuTarget::computes(const Program& program, const Node& node) const {
  const auto has_kernel = [&](ValueId id) {
    if (id == kNoValue || program.value(id).is_opaque) return true;
    const DataType type = program.desc(id).data_type;
    return !is_half(type) || takes_half(program, node, type);
  };
  return std::ranges::all_of(node.inputs, has_kernel) &&
         std::ranges::all_of(node.outputs, has_kernel);
}

std::string CpuTarget::reason_unsupported(const Program& program,
                                          const Node& node) const {
  const auto reason_of = [&](ValueId id) -> std::string {
    if (id == kNoValue || program.value(id).is_opaque) return {};
    if (has_long_axis(program.shape(id))) {
      return "the CPU takes at most " + std::to_string(kMaxAxisSize) +
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
  LoweredProgram lowered = lower_program(program, options, *this, policy_);
  lowered.notes = notes_of(program, options);
  return lowered;
}

}  // namespace traingraph::cpu
