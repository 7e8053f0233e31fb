// SPDX-License-Identifier: MIT
// The rewrites, one function each; the list that says in which order they are
// tried is recognize_layers.cpp. All but common subexpressions, which the
// Rewriter finds itself. `x`, `y` are any results, n a number, ' a transpose.
#pragma once

#include "compiler/rewrites/rewriter.h"

namespace traingraph::rewrites {

// layout.cpp: reshapes and transposes that cancel
//
//   reshape(reshape(x))                      ->  reshape(x), or x
ValueId join_reshapes(Rewriter& rewriter, NodeId root);
//   transpose(transpose(x))                  ->  transpose(x), or x
ValueId join_transposes(Rewriter& rewriter, NodeId root);
//   a transpose that moves axes of size 1    ->  reshape(x)
ValueId reshape_for_transpose(Rewriter& rewriter, NodeId root);
//   (a, b, m, n) -> (a * b, m, n) -> (a * b, n, m) -> (a, b, n, m)  ->  x'
ValueId transpose_unmerged(Rewriter& rewriter, NodeId root);

//   f(x'), x' + y', concatenate(x', y')      ->  f(x)', (x + y)', ...
//   so that it meets one that it cancels with
ValueId transpose_behind(Rewriter& rewriter, NodeId root);
//   reshape(linear(x)), linear(x)'           ->  linear(reshape(x)), linear(x')
//   so that it meets the product or attention that takes it as an argument
ValueId line_behind(Rewriter& rewriter, NodeId root);

// arithmetic.cpp: numbers
//
//   x + n, n + x, x - n, n - x, x * n, x / n ->  linear(x)
ValueId arithmetic_with_number(Rewriter& rewriter, NodeId root);
//   linear(linear(x))                        ->  linear(x), or x
ValueId join_lines(Rewriter& rewriter, NodeId root);
//   sum(x) / number of elements              ->  mean(x)
ValueId mean_of_sum(Rewriter& rewriter, NodeId root);

// activation.cpp
//
//   x * sigmoid(x)                           ->  silu(x)
//   x * hard_sigmoid(x)                      ->  hard_swish(x)
//   x * tanh(soft_plus(x))                   ->  mish(x)
ValueId gated_by_itself(Rewriter& rewriter, NodeId root);
//   x / 2 * (1 + erf(x / sqrt(2)))                           ->  gelu(x)
//   x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))  ->  gelu_tanh(x)
ValueId gelu(Rewriter& rewriter, NodeId root);

// product.cpp: what a product takes as an argument
//
//   x @ y', x' @ y                           ->  matmul(x, y, transposes_...)
ValueId transposed_operand(Rewriter& rewriter, NodeId root);
//   (n * x) @ y                              ->  matmul(x, y, alpha)
ValueId scaled_operand(Rewriter& rewriter, NodeId root);
//   n * (x @ y)                              ->  matmul(x, y, alpha)
ValueId scaled_product(Rewriter& rewriter, NodeId root);
//   x @ y + bias, convolution(x, w) + bias   ->  with the bias
ValueId bias_of_product(Rewriter& rewriter, NodeId root);

// normalization.cpp: means and variances that are written out
//
//   (x - mean(x)) / sqrt(variance(x) + n)    ->  sample_norm(x)
ValueId layer_norm(Rewriter& rewriter, NodeId root);
//   sample_norm(x) * scale, + shift          ->  with scale, with shift
ValueId scaled_norm(Rewriter& rewriter, NodeId root);
ValueId shifted_norm(Rewriter& rewriter, NodeId root);
//   (N, C, ...) -> (N, groups, n) -> sample_norm -> (N, C, ...)
//                                            ->  sample_norm(x, groups)
ValueId group_norm(Rewriter& rewriter, NodeId root);

// attention.cpp
//
//   softmax(n * q @ k' + mask) @ v           ->  attention(q, k, v, mask)
ValueId attention(Rewriter& rewriter, NodeId root);
//   attention(n * q, k, v)                   ->  attention(q, k, v, scale)
ValueId scaled_attention(Rewriter& rewriter, NodeId root);

// loss.cpp
//
//   categorical_cross_entropy(softmax(x))    ->  softmax_cross_entropy(x)
ValueId softmax_cross_entropy(Rewriter& rewriter, NodeId root);

}  // namespace traingraph::rewrites
