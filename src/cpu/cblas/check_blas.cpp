// SPDX-License-Identifier: MIT
#include "cpu/cblas/right_products.h"
#include "traingraph/error.h"

namespace traingraph::cpu {

void require_right_products() {
  static const bool are_right = multiplies_right(sgemm);
  if (are_right) return;
  throw UnsupportedError(ErrorInfo{
      .op = "matmul",
      .what = blas_name() + " computes wrong products on this processor",
      .hint = "Set another of its cores in the environment, for instance "
              "OPENBLAS_CORETYPE=ARMV8, or install another version."});
}

}  // namespace traingraph::cpu
