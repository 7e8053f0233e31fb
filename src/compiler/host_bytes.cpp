// SPDX-License-Identifier: MIT
#include "compiler/host_bytes.h"

#include <set>

namespace traingraph {
namespace {

// Names, lists and shapes take this behind an entry of a table.
constexpr std::size_t kBehindEntry = 128;
// A primitive takes this with its machine code, or its share of an executable.
constexpr std::size_t kCodeOfNode = 16 << 10;

template <class Table>
std::size_t table_bytes(const Table& table) {
  return table.size() * (sizeof(table[0]) + kBehindEntry);
}

std::size_t bytes_of(const CompiledProgram& compiled) {
  const Program& program = compiled.assembled.program;
  const LoweredProgram& lowered = compiled.lowered;
  return table_bytes(program.values()) + table_bytes(lowered.storages) +
         table_bytes(lowered.units) + table_bytes(program.nodes()) +
         program.nodes().size() * kCodeOfNode;
}

std::size_t bytes_of(const Plan& plan) {
  return table_bytes(plan.order) + table_bytes(plan.lifetimes);
}

}  // namespace

std::size_t host_bytes(const Compilation& compilation) {
  std::size_t sum = 0;
  std::set<const CompiledProgram*> programs;  // kinds may share one
  for (const auto& [program, plan] : compilation.parts) {
    sum += bytes_of(plan);
    const bool counts = program && programs.insert(program.get()).second;
    if (counts) sum += bytes_of(*program);
  }
  return sum;
}

}  // namespace traingraph
