// SPDX-License-Identifier: MIT
// A CBLAS multiplies float32 alone: products of 16 bits cast blocks of their
// operands, convolutions get casts around them from the compiler.
#include "cpu/native_types.h"

namespace traingraph::cpu {

bool has_products(DataType type) { return type == DataType::Float32; }

bool has_convolutions(DataType type) { return has_products(type); }

bool has_pools(DataType type) { return type == DataType::Float32; }

bool gains_by_rounding() { return false; }

std::string note_of_upcast_products(DataType type) {
  return "This processor does not multiply " + std::string(to_string(type)) +
         " by this engine, a CBLAS: products and convolutions cast their "
         "operands to float32, which is slower than precision \"float32\".";
}

std::string note_of_exact_products() {
  return "This processor does not round operands by this engine, a CBLAS: "
         "precision \"fast\" is the same as \"float32\" here.";
}

}  // namespace traingraph::cpu
