// SPDX-License-Identifier: MIT
// Sizes from which products, and ranks from which reductions, go wrong.
#include <algorithm>

#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"
#include "tests/metal_probes/sizes.h"

namespace traingraph::metal::probes {
namespace {

/// Around those from which products were seen to be wrong.
const Sizes kExtents = {32766, 32767, 32768, 32769, 40000,
                        65535, 65536, 65537, 72767};

/// Small integers: their sums are exact in float32.
float left(std::int64_t i) { return static_cast<float>(i % 5 - 2); }
float right(std::int64_t i) { return static_cast<float>(i % 7 - 3); }

Numbers filled(std::int64_t count, float (*value)(std::int64_t)) {
  Numbers numbers(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = value(i);
  return numbers;
}

/// (matrices, rows, inner) times (matrices, inner, columns).
struct Product {
  std::int64_t matrices = 1, rows = 3, inner = 3, columns = 3;
};

bool is_product_right(const Product& p) {
  const Numbers x = filled(p.matrices * p.rows * p.inner, left);
  const Numbers y = filled(p.matrices * p.inner * p.columns, right);
  Numbers expected;
  for (std::int64_t m = 0; m < p.matrices; ++m) {
    for (std::int64_t row = 0; row < p.rows; ++row) {
      for (std::int64_t column = 0; column < p.columns; ++column) {
        float sum = 0;
        for (std::int64_t k = 0; k < p.inner; ++k) {
          sum += x[(m * p.rows + row) * p.inner + k] *
                 y[(m * p.inner + k) * p.columns + column];
        }
        expected.push_back(sum);
      }
    }
  }
  Lab lab;
  T primary = lab.input(x, {p.matrices, p.rows, p.inner});
  T secondary = lab.input(y, {p.matrices, p.inner, p.columns});
  T product = [lab.graph() matrixMultiplicationWithPrimaryTensor:primary
                                                 secondaryTensor:secondary
                                                            name:@"product"];
  return are_near(lab.run(product), expected);
}

std::string explain_extents(std::int64_t most,
                            Product (*of)(std::int64_t extent)) {
  return by_size(kExtents, most, [of](std::int64_t extent) {
    return is_product_right(of(extent)) ? "" : "wrong";
  });
}

std::string inner_extents() {
  return explain_extents(
      limits_here().max_matmul_extent,
      [](std::int64_t extent) { return Product{.inner = extent}; });
}

std::string matrix_counts() {
  return explain_extents(limits_here().max_matmul_extent,
                         [](std::int64_t extent) {
                           return Product{.matrices = extent, .inner = 2};
                         });
}

std::string row_counts() {
  return explain_extents(
      limits_here().max_matmul_rows,
      [](std::int64_t extent) { return Product{.rows = extent}; });
}

std::string column_counts() {
  return explain_extents(
      limits_here().max_matmul_rows,
      [](std::int64_t extent) { return Product{.columns = extent}; });
}

/// The executable of one size must not be confused by another's.
std::string changing_sizes() {
  for (std::int64_t inner : {7, 64, 3, 1000, 5, 33}) {
    if (!is_product_right({.matrices = 4, .inner = inner})) {
      return "wrong at inner extent " + std::to_string(inner);
    }
  }
  return "right";
}

/// One row stands for all of them: its row stride is 0.
std::string broadcast_rows() {
  constexpr std::int64_t kRows = 37, kInner = 29, kColumns = 5;
  const Numbers row = filled(kInner, left),
                y = filled(kInner * kColumns, right);
  Lab lab;
  T one = lab.input(row, {1, kInner});
  T many = [lab.graph() broadcastTensor:one
                                toShape:list({kRows, kInner})
                                   name:@"rows"];
  T product = [lab.graph()
      matrixMultiplicationWithPrimaryTensor:many
                            secondaryTensor:lab.input(y, {kInner, kColumns})
                                       name:@"product"];
  T doubled = [lab.graph() additionWithPrimaryTensor:many
                                     secondaryTensor:one
                                                name:@"sum"];
  const auto results = lab.run_all({product, doubled});
  Numbers products, sums;
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t column = 0; column < kColumns; ++column) {
      float sum = 0;
      for (std::int64_t k = 0; k < kInner; ++k) {
        sum += row[k] * y[k * kColumns + column];
      }
      products.push_back(sum);
    }
    for (float value : row) sums.push_back(2 * value);
  }
  std::string wrong;
  if (!are_near(results[0], products)) wrong += " product";
  if (!are_near(results[1], sums)) wrong += " sum";
  return wrong.empty() ? "right" : "wrong:" + wrong;
}

struct Tensor {
  Numbers values;
  Extents shape;
};

Tensor make_tensor(int rank) {
  Tensor tensor;
  std::int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    tensor.shape.push_back(axis % 2 ? 2 : 3);
    count *= tensor.shape.back();
  }
  for (std::int64_t i = 0; i < count; ++i) {
    tensor.values.push_back(static_cast<float>((i * 37) % 101));
  }
  return tensor;
}

struct Reduced {
  Numbers sum, maximum, argument;
};

Reduced reduce(const Tensor& tensor, int axis) {
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i) {
    inner *= tensor.shape[i];
  }
  const std::int64_t size = tensor.shape[axis];
  const auto count = static_cast<std::int64_t>(tensor.values.size());
  Reduced result;
  for (std::int64_t start = 0; start < count; ++start) {
    if (start / inner % size != 0) continue;
    float sum = 0, best = tensor.values[start];
    std::int64_t argument = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const float value = tensor.values[start + i * inner];
      sum += value;
      if (value > best) argument = i;
      best = std::max(best, value);
    }
    result.sum.push_back(sum);
    result.maximum.push_back(best);
    result.argument.push_back(static_cast<float>(argument));
  }
  return result;
}

/// Axes over which a reduction of this rank is wrong; empty: none.
std::string wrong_axes(int rank) {
  const Tensor tensor = make_tensor(rank);
  Lab lab;
  T source = lab.input(tensor.values, tensor.shape);
  std::vector<T> targets;
  for (int axis = 0; axis < rank; ++axis) {
    targets.push_back([lab.graph() reductionSumWithTensor:source
                                                     axis:axis
                                                     name:@"sum"]);
    targets.push_back([lab.graph() reductionMaximumWithTensor:source
                                                         axis:axis
                                                         name:@"maximum"]);
    targets.push_back([lab.graph() reductionArgMaximumWithTensor:source
                                                            axis:axis
                                                            name:@"arg"]);
  }
  const auto measured = lab.run_all(targets);
  std::string wrong;
  for (int axis = 0; axis < rank; ++axis) {
    const Reduced expected = reduce(tensor, axis);
    const Numbers* got = &measured[3 * axis];
    const std::string number = ' ' + std::to_string(axis);
    if (!are_near(got[0], expected.sum)) wrong += " sum" + number;
    if (!are_near(got[1], expected.maximum)) wrong += " maximum" + number;
    if (!are_near(got[2], expected.argument)) wrong += " arg" + number;
  }
  return wrong;
}

std::string reductions_of_reliable_rank() {
  for (int rank = 1; rank <= limits_here().reliable_rank; ++rank) {
    const std::string wrong = wrong_axes(rank);
    if (!wrong.empty()) {
      return "wrong at rank " + std::to_string(rank) + ':' + wrong;
    }
  }
  return "right";
}

std::string reductions_of_higher_rank() {
  std::string answer;
  for (int rank = limits_here().reliable_rank + 1;
       rank <= limits_here().reliable_rank + 2; ++rank) {
    const std::string wrong = wrong_axes(rank);
    if (!answer.empty()) answer += ", ";
    answer += "rank " + std::to_string(rank) +
              (wrong.empty() ? " right" : " wrong at" + wrong);
  }
  return answer;
}

}  // namespace

std::vector<Probe> limit_probes() {
  const GpuLimits& limits = limits_here();
  const Beginnings right_extents =
      right_up_to(kExtents, limits.max_matmul_extent);
  const Beginnings right_rows = right_up_to(kExtents, limits.max_matmul_rows);
  const Remedy lower = {.constant = "max_matmul_extent",
                        .value = "the last number that is right",
                        .text = "by limits_of(), for this system"};
  const Remedy fewer_rows = {
      .constant = "max_matmul_rows", .value = lower.value, .text = lower.text};
  return {
      {.name = "inner_extents",
       .question = "matrix products by inner extent",
       .answer = inner_extents,
       .weight = Weight::Reliance,
       .expected = right_extents,
       .remedy = lower},
      {.name = "matrix_counts",
       .question = "matrix products by number of matrices",
       .answer = matrix_counts,
       .weight = Weight::Reliance,
       .expected = right_extents,
       .remedy = lower},
      {.name = "row_counts",
       .question = "matrix products by rows",
       .answer = row_counts,
       .weight = Weight::Reliance,
       .expected = right_rows,
       .remedy = fewer_rows},
      {.name = "column_counts",
       .question = "matrix products by columns",
       .answer = column_counts,
       .weight = Weight::Reliance,
       .expected = right_rows,
       .remedy = fewer_rows},
      {.name = "broadcast_rows",
       .question = "an operand that is one row for all, of a product and a sum",
       .answer = broadcast_rows,
       .weight = Weight::Reliance,
       .expected = limits.writes_broadcasts ? Beginnings{"right", "wrong"}
                                            : Beginnings{"right"},
       .remedy = {.constant = "writes_broadcasts",
                  .value = "true",
                  .text = "by limits_of(), for this system"}},
      {.name = "changing_sizes",
       .question = "matrix products of changing sizes in one process",
       .answer = changing_sizes,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = {.text = "matmul_product.mm has to pad extents to a multiple "
                          "of 8"}},
      {.name = "reliable_reductions",
       .question = "reductions up to reliable_rank",
       .answer = reductions_of_reliable_rank,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = {.constant = "reliable_rank",
                  .value = "the last rank that is right"}},
      {.name = "higher_reductions",
       .question = "reductions beyond reliable_rank",
       .answer = reductions_of_higher_rank,
       .weight = Weight::Chance,
       .expected = {"rank " + std::to_string(limits_here().reliable_rank + 1) +
                        " wrong",
                    "raised", "aborted"},
       .remedy = {.constant = "reliable_rank",
                  .value = "the last rank that is right",
                  .text = "by limits_of(), for this system"},
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
