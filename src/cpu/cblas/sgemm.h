// SPDX-License-Identifier: MIT
// The one function of a CBLAS that this engine calls, on the calling thread:
// products are divided among threads by us.
#pragma once

#include <cstdint>
#include <string>

#include "cpu/engine/product.h"
#include "cpu/panel_products.h"

namespace traingraph::cpu {

/// A matrix or the transpose of one, whose rows are `row` elements apart.
struct BlasOperand {
  const float* data = nullptr;
  std::int64_t row = 0;
  bool is_transposed = false;

  /// Element (i, j) of the operand is the first of the returned one.
  BlasOperand at(std::int64_t i, std::int64_t j) const {
    const std::int64_t offset = is_transposed ? j * row + i : i * row + j;
    return {data + offset, row, is_transposed};
  }
};

/// What the CBLAS would else do when `num_threads` first call it at a time.
void prepare_blas(int num_threads);

/// Throws UnsupportedError where the CBLAS computes something else.
void require_right_products();

/// How a matrix is described to the CBLAS, which is prepared for it; its
/// address is set when bound. Throws UnsupportedError where neither rows nor
/// columns are dense, or steps are longer than the CBLAS counts.
BlasOperand describe_for_blas(const UnitBuilder& unit,
                              const MatrixView& matrix);

/// z = alpha x y, or z += alpha x y when it `adds`; rows of z are `z_row`
/// apart.
void sgemm(const ProductSize& size, float alpha, const BlasOperand& x,
           const BlasOperand& y, float* z, std::int64_t z_row, bool adds);

/// Has the CBLAS a unit for matrices, which loops of ours have not? Apple's
/// has.
#ifdef TRAINGRAPH_ACCELERATE
inline constexpr bool kHasMatrixUnit = true;
#else
inline constexpr bool kHasMatrixUnit = false;
#endif

/// The name is for people: "OpenBLAS 0.3.30".
std::string blas_name();

}  // namespace traingraph::cpu
