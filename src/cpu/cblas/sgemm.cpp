// SPDX-License-Identifier: MIT
#include "cpu/cblas/sgemm.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cpu/cblas/blas_names.h"
#include "cpu/cblas/packed_product.h"
#include "cpu/instruction_set.h"
#include "cpu/primitive_threads.h"
#include "traingraph/error.h"

namespace traingraph::cpu {
namespace {

/// Up to here OpenBLAS has kernels that allocate memory in each call.
constexpr double kMaxSmall = 1e6;

/// Packing is most of what a CBLAS does for so few rows or terms.
constexpr std::int64_t kFew = 32;

MatrixView view_of(const BlasOperand& operand, std::int64_t rows,
                   std::int64_t columns) {
  return operand.is_transposed ? MatrixView{rows, columns, 1, operand.row}
                               : MatrixView{rows, columns, operand.row, 1};
}

/// Computes what sgemm() does.
void multiply_small(const ProductSize& size, float alpha, const BlasOperand& x,
                    const BlasOperand& y, float* z, std::int64_t z_row,
                    bool adds) {
  const MatrixView left = view_of(x, size.rows, size.depth),
                   right = view_of(y, size.depth, size.columns);
  vectorized_by_width([&]<int kFloats>(VectorWidth<kFloats>) {
    multiply_unpacked<kFloats>(
        size, alpha, LeftOperand<float>{x.data, left.row, left.column}, y.data,
        right, z, z_row, adds);
  });
}

constexpr std::int64_t kMaxStep = std::numeric_limits<int>::max();

}  // namespace

BlasOperand describe_for_blas(const UnitBuilder& unit, const MatrixView& m) {
  require_right_products();
  prepare_blas(PrimitiveThreads::count());
  BlasOperand operand;
  if (m.column == 1 || m.columns == 1) {
    operand.row = m.rows == 1 ? m.columns : m.row;
  } else if (m.row == 1 || m.rows == 1) {
    operand.row = m.columns == 1 ? m.rows : m.column;
    operand.is_transposed = true;
  } else {
    operand.row = -1;
  }
  const std::int64_t least = operand.is_transposed ? m.rows : m.columns;
  if (operand.row < least || operand.row > kMaxStep) {
    throw UnsupportedError(ErrorInfo{
        .op = unit.node().op->name,
        .node = unit.node().name,
        .what = "a CBLAS takes no matrix with these steps",
        .expected = "rows or columns without gaps, at most " +
                    std::to_string(kMaxStep) + " apart",
        .got = std::to_string(m.row) + " and " + std::to_string(m.column)});
  }
  return operand;
}

void sgemm(const ProductSize& size, float alpha, const BlasOperand& x,
           const BlasOperand& y, float* z, std::int64_t z_row, bool adds) {
  const double multiplications = static_cast<double>(size.rows) *
                                 static_cast<double>(size.columns) *
                                 static_cast<double>(size.depth);
  const bool is_small =
      multiplications <= kMaxSmall || size.rows <= kFew || size.depth <= kFew;
  if (is_small && !kHasMatrixUnit) {
    return multiply_small(size, alpha, x, y, z, z_row, adds);
  }
  const auto as_int = [](std::int64_t n) { return static_cast<int>(n); };
  TRAINGRAPH_BLAS(cblas_sgemm)
  (CblasRowMajor, x.is_transposed ? CblasTrans : CblasNoTrans,
   y.is_transposed ? CblasTrans : CblasNoTrans, as_int(size.rows),
   as_int(size.columns), as_int(size.depth), alpha, x.data, as_int(x.row),
   y.data, as_int(y.row), adds ? 1.0f : 0.0f, z, as_int(z_row));
}

std::string blas_name() {
#if defined(TRAINGRAPH_ACCELERATE)
  return "Accelerate";
#elif defined(TRAINGRAPH_OPENBLAS)
  // "OpenBLAS 0.3.30 DYNAMIC_ARCH ..."
  const std::string config = TRAINGRAPH_BLAS(openblas_get_config)();
  const auto end =
      config.find(' ', std::min(config.find(' '), config.size() - 1) + 1);
  return config.substr(0, end);
#else
  return "CBLAS";
#endif
}

}  // namespace traingraph::cpu
