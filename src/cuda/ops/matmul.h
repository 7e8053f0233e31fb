// SPDX-License-Identifier: MIT
// Matrix products, and what is computed along with them.
#pragma once

#include "lowering/expression.h"
#include "lowering/fusion_search.h"

namespace traingraph::cuda {

/// Joins products with the activation or the cast behind them, or with the
/// element-wise nodes that read them, which were joined before.
void join_products(FusionSearch& search);
/// A unit of a product and such nodes.
void lower_product_expression(Expression& expression);

}  // namespace traingraph::cuda
