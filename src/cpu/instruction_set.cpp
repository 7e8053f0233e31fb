// SPDX-License-Identifier: MIT
#include "cpu/instruction_set.h"

#include "cpu/engine/engine.h"

#if defined(__x86_64__) && defined(__GNUC__)
namespace traingraph::cpu {

InstructionSet instruction_set() {
  static const InstructionSet found = find_instruction_set();
  return found;
}

}  // namespace traingraph::cpu
#endif
