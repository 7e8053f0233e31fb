// SPDX-License-Identifier: MIT
// The text of an expression (lowering/expression.h): of all its nodes for one
// element. The first may be a product, whose value is there already.
#pragma once

#include <string>
#include <vector>

#include "cuda/code/kernel_writer.h"
#include "lowering/expression.h"

namespace traingraph::cuda {

/// The MatMul node that it begins with; null: it has none.
UnitBuilder* find_product(Expression& expression);

/// By operand: the argument that it is; -1: only the product reads it.
std::vector<int> read_operands(Expression& expression);
/// Lets the result overwrite operands of its size, but none of `others`.
void may_overwrite_operands(Expression& expression, int out,
                            const std::vector<int>& args,
                            const std::vector<int>& others);

/// Writes lines that compute it for element `i` of the result; returns the name
/// of its value. `product` is that of the product's.
std::string write_expression(KernelWriter& kernel, Expression& expression,
                             const std::vector<int>& args, const std::string& i,
                             const std::string& product = {});

}  // namespace traingraph::cuda
