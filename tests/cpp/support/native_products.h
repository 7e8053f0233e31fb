// SPDX-License-Identifier: MIT
// The CPU's code for products of 16 bits on processors that do not have them,
// so that every machine with AVX-512 tests it: oneDNN emulates bfloat16 there,
// slower than float32.
#pragma once

#include "compiler/target.h"
#include "cpu/cpu_target.h"
#include "cpu/engine/engine.h"
#include "cpu/native_types.h"

namespace traingraph::testing {

/// Has the engine code for products of this type, fast or not?
inline bool runs_products(DataType type) {
  if (cpu::has_products(type)) return true;
#if defined(__x86_64__) && defined(__GNUC__)
  return type == DataType::BFloat16 &&
         cpu::engine_name().starts_with("oneDNN") &&
         cpu::instruction_set() == cpu::InstructionSet::Avx512;
#else
  return false;
#endif
}

/// Convolutions and their gradients included.
inline bool runs_convolutions(DataType type) {
  return cpu::has_convolutions(type) ||
         (type == DataType::BFloat16 && runs_products(type));
}

/// The CPU, whose processor multiplies all that runs_products().
class NativeProducts : public cpu::CpuTarget {
 public:
  NativeProducts() : CpuTarget(/*num_threads=*/1) {}
  bool computes(const Program& program, const Node& node) const override;

  static bool has_products(const Node& node);
};

}  // namespace traingraph::testing
