// SPDX-License-Identifier: MIT
#include "cuda/ops/matmul_library.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "cuda/ops/elementwise.h"

namespace traingraph::cuda {
namespace {

/// Products with at most so many multiplications are ours.
constexpr double kMaxOwn = 1 << 24;
/// Where a batch is much larger than usual, it is worth that smaller ones may
/// have kernels that are not compiled yet.
constexpr double kMuchLarger = 4;

/// It has no algorithms for more rows, columns, or sums of more.
constexpr std::int64_t kMaxLength = (std::int64_t{1} << 31) - 1;

double num_multiplications(const ProductPlan& plan) {
  return static_cast<double>(plan.count().value) *
         static_cast<double>(plan.depth.value);
}

Walk walk_of(const ProductPlan& plan) {
  return Walk(plan.batch, {plan.x.batch_strides, plan.y.batch_strides});
}

LibraryLines lines_of(const ProductLines& lines, const Extents& batch_strides) {
  return {.count = lines.count.value,
          .stride = lines.stride.value,
          .batch_stride = batch_strides.empty() ? 0 : batch_strides[0].value,
          .is_deep = lines.is_deep};
}

/// What is left to do for sums that are `stored`.
Launch end_launch(const ProductEnd& end, const ProductPlan& plan, int stored,
                  DataType type) {
  KernelWriter kernel("map.cuh");
  const std::string from = kernel.pointer(stored, type);
  kernel.body("  for (Index i = thread_of_grid(); i < " +
              text_of(kernel, plan.count()) +
              "; i += threads_of_grid()) {\n    const Index column = i % " +
              text_of(kernel, plan.columns()) +
              ";\n    const float sum = " + from + "[i];\n");
  end.write(kernel, "sum", "i", "column");
  kernel.body("  }\n");
  return std::move(kernel).launch(map_blocks(plan.count().value, 1),
                                  kMapThreads);
}

}  // namespace

bool is_library_product(const ProductPlan& plan) {
  const bool is_large = plan.usual.num_multiplications() > kMaxOwn ||
                        num_multiplications(plan) > kMuchLarger * kMaxOwn;
  const std::int64_t longest =
      std::max({plan.rows().value, plan.columns().value, plan.depth.value});
  return is_large && longest <= kMaxLength &&
         walk_of(plan).sizes().size() <= 1 && has_library_products();
}

void lower_library_product(ProductEnd& end, const ProductPlan& plan) {
  UnitBuilder& unit = end.product();
  end.read(/*is_stored=*/true);
  const Walk batch = walk_of(plan);
  const DataType type = end.product_type();
  LibraryProduct product;
  product.request = {
      .operand_type = unit.input_desc(0).data_type,
      .result_type = type,
      .x = lines_of(plan.x, batch.strides(0)),
      .y = lines_of(plan.y, batch.strides(1)),
      .depth = plan.depth.value,
      .num_batches = plan.num_batches().value,
      .alpha = end.take_alpha(),
      .rounds_operands = unit.rounds_operands() &&
                         unit.input_desc(0).data_type == DataType::Float32};
  product.x = end.x();
  product.y = end.y();
  product.bias = end.take_bias(type);
  product.request.has_bias = product.bias >= 0;
  product.request.has_relu = end.take_relu();
  // In the result itself, if it has the same type.
  product.z = type == end.result_type()
                  ? end.z()
                  : end.result().scratch(
                        checked_bytes<float>(plan.count().value, "scratch"));
  product.workspace = end.result().scratch(1);
  std::vector<CodeStep> steps{product};
  if (!end.is_over()) {
    steps.push_back(end_launch(end, plan, product.z, type));
  }
  emit_steps(end.result(), std::move(steps));
}

}  // namespace traingraph::cuda
