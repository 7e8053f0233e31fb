// SPDX-License-Identifier: MIT
// Large matrix products, by cuBLASLt.
#pragma once

#include "cuda/ops/matmul_end.h"
#include "cuda/ops/matmul_plan.h"

namespace traingraph::cuda {

/// Is it large enough, of a form that the library takes, and is that installed?
bool is_library_product(const ProductPlan& plan);
/// What the library does not do behind the product, a kernel does in place.
void lower_library_product(ProductEnd& end, const ProductPlan& plan);

}  // namespace traingraph::cuda
