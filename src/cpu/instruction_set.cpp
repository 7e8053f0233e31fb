// SPDX-License-Identifier: MIT
#include "cpu/instruction_set.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <dnnl.hpp>

namespace traingraph::cpu {
namespace {

InstructionSet find_instruction_set() {
  // oneDNN's values are sets of bits: what includes another has its bits.
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto includes = [isa](dnnl::cpu_isa other) {
    const auto bits = static_cast<unsigned>(other);
    return (isa & bits) == bits;
  };
  if (includes(dnnl::cpu_isa::avx512_core)) return InstructionSet::Avx512;
  if (includes(dnnl::cpu_isa::avx2) && __builtin_cpu_supports("fma")) {
    return InstructionSet::Avx2;
  }
  return InstructionSet::Baseline;
}

}  // namespace

InstructionSet instruction_set() {
  static const InstructionSet found = find_instruction_set();
  return found;
}

}  // namespace traingraph::cpu
#endif
