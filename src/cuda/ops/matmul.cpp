// SPDX-License-Identifier: MIT
// Matrix products by a kernel of ours. Where the result is too small to fill
// the card, blocks share the depth, and a second kernel adds their sums.
#include "cuda/ops/matmul.h"

#include <array>
#include <utility>

#include "base/checked.h"
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/elementwise_expression.h"
#include "cuda/ops/elementwise_text.h"
#include "cuda/ops/matmul_plan.h"
#include "lowering/fusion_query.h"

namespace traingraph::cuda {
namespace {

constexpr unsigned kProductThreads = 256;

/// What becomes of the sum of an element: alpha, the bias, and either the next
/// activation or an expression.
class ProductEnd {
 public:
  explicit ProductEnd(UnitBuilder& unit) : product_(unit), result_(unit) {
    if (unit.fusion().has_next_cast()) {
      unit.fusion().fuse_cast();
    } else if (const auto* next = unit.fusion().next_activation()) {
      activation_ = activation_text(*next);
      unit.fusion().fuse_activation();
    }
    read();
  }
  explicit ProductEnd(Expression& expression)
      : product_(*find_product(expression)),
        result_(expression.steps.back().unit),
        expression_(&expression) {
    read();
  }

  UnitBuilder& product() const { return product_; }
  UnitBuilder& result() const { return result_; }
  int x() const { return x_; }
  int y() const { return y_; }

  /// Writes lines that store what becomes of `sum` as element `i`.
  void write(KernelWriter& kernel, const std::string& sum, const std::string& i,
             const std::string& column) const {
    const float alpha = product_.attrs<MatMulAttrs>().alpha;
    std::string value = sum;
    if (alpha != 1) value = literal(alpha) + " * " + value;
    if (bias_ >= 0) {
      const std::string bias =
          kernel.pointer(bias_, product_.input_desc(2).data_type);
      value += " + static_cast<float>(" + bias + "[" + column + "])";
    }
    if (!activation_.empty()) value = activation_ + ".value(" + value + ")";
    const std::string own = kernel.local();
    kernel.body("    const auto " + own + " = " +
                type_text(product_.result_desc().data_type) + "(" + value +
                ");\n");
    const std::string z = kernel.pointer(z_, result_.result_desc().data_type);
    const std::string last =
        expression_ == nullptr
            ? own
            : write_expression(kernel, *expression_, args_, i, own);
    kernel.body("    " + z + "[" + i + "] = " + last + ";\n");
  }

 private:
  void read() {
    x_ = product_.read(0);
    y_ = product_.read(1);
    if (product_.has(2)) bias_ = product_.read(2);
    if (expression_ != nullptr) args_ = read_operands(*expression_);
    z_ = result_.write(0);
    if (expression_ != nullptr) {
      may_overwrite_operands(*expression_, z_, args_, {x_, y_, bias_});
    }
  }

  UnitBuilder& product_;
  UnitBuilder& result_;
  Expression* expression_ = nullptr;
  std::string activation_;
  int x_ = -1, y_ = -1, bias_ = -1, z_ = -1;
  std::vector<int> args_;  // of the expression
};

std::string tile_text(const ProductTile& tile) {
  return "ProductTile<" + std::to_string(tile.rows) + ", " +
         std::to_string(tile.columns) + ", " + std::to_string(tile.depth) +
         ", " + std::to_string(tile.stages) + ">";
}

std::string lines_text(KernelWriter& kernel, const ProductLines& lines,
                       const std::string& data, DataType type) {
  return "Lines<" + type_text(type) + ", " +
         (lines.is_deep ? "true" : "false") + ", " +
         std::to_string(lines.width) + ">{" + data + ", " +
         text_of(kernel, lines.stride) + ", " + text_of(kernel, lines.count) +
         "}";
}

/// Calls write_finish(kernel) for the body of finish(sum, row, column), in
/// which `batch` is the number of the matrix.
template <class WriteFinish>
Launch product_launch(const ProductPlan& plan, const ProductEnd& end,
                      const ProductTile& tile, std::int64_t num_splits,
                      const WriteFinish& write_finish) {
  const UnitBuilder& unit = end.product();
  const DataType types[] = {unit.input_desc(0).data_type,
                            unit.input_desc(1).data_type};
  KernelWriter kernel("product.cuh");
  kernel.need_registers();
  const std::string x = kernel.pointer(end.x(), types[0]);
  const std::string y = kernel.pointer(end.y(), types[1]);
  const std::string splits =
      num_splits > 1 ? kernel.number(num_splits, true) : "Index(1)";
  const std::string name = tile_text(tile);
  kernel.body("  const ProductBlock block = find_product_block<" + name + ">(" +
              text_of(kernel, plan.rows()) + ", " +
              text_of(kernel, plan.columns()) + ", " + splits + ");\n");
  kernel.body("  const Index batch = block.batch;\n");
  const std::vector<std::string> offsets =
      Walk(plan.batch, {plan.x.batch_strides, plan.y.batch_strides})
          .write_offsets(kernel, "batch");
  kernel.body("  product<" + name + ">(block, " +
              lines_text(kernel, plan.x, x + " + " + offsets[0], types[0]) +
              ", " +
              lines_text(kernel, plan.y, y + " + " + offsets[1], types[1]) +
              ", " + text_of(kernel, plan.depth) + ", " + splits +
              ", [&](float sum, Index row, Index column) {\n");
  kernel.body("    const Index i = (batch * " + text_of(kernel, plan.rows()) +
              " + row) * " + text_of(kernel, plan.columns()) + " + column;\n");
  write_finish(kernel);
  kernel.body("  });\n");
  return std::move(kernel).launch(tile.num_tiles(plan) * num_splits,
                                  kProductThreads);
}

/// The splits' sums go to scratch memory first.
std::vector<Launch> split_launches(const ProductPlan& plan,
                                   const ProductEnd& end,
                                   const ProductTile& tile,
                                   std::int64_t num_splits) {
  const std::int64_t count = plan.count().value;
  const int parts =
      end.result().scratch(checked_bytes<float>(count * num_splits, "scratch"));
  Launch first =
      product_launch(plan, end, tile, num_splits, [&](KernelWriter& kernel) {
        const std::string to = kernel.pointer(parts, DataType::Float32);
        kernel.body("    " + to + "[block.split * " +
                    text_of(kernel, plan.count()) + " + i] = sum;\n");
      });
  KernelWriter kernel("product.cuh");
  const std::string from = kernel.pointer(parts, DataType::Float32);
  const std::string n = text_of(kernel, plan.count());
  kernel.body("  for (Index i = thread_of_grid(); i < " + n +
              "; i += threads_of_grid()) {\n    const Index column = i % " +
              text_of(kernel, plan.columns()) +
              ";\n    const float sum = sum_of_splits(" + from + ", i, " + n +
              ", " + kernel.number(num_splits, true) + ");\n");
  end.write(kernel, "sum", "i", "column");
  kernel.body("  }\n");
  Launch second = std::move(kernel).launch(map_blocks(count, 1), kMapThreads);
  return {std::move(first), std::move(second)};
}

void lower_product(const ProductEnd& end) {
  const ProductPlan plan = plan_product(end.product());
  const ProductTile tile =
      choose_tile(plan, static_cast<std::int64_t>(
                            size_of(end.product().input_desc(0).data_type)));
  const std::int64_t splits = choose_splits(plan, tile);
  if (splits > 1) {
    return emit(end.result(), split_launches(plan, end, tile, splits));
  }
  emit(end.result(),
       {product_launch(plan, end, tile, 1, [&](KernelWriter& kernel) {
         end.write(kernel, "sum", "i", "column");
       })});
}

}  // namespace

void join_products(FusionSearch& search) {
  const auto& nodes = search.program().nodes();
  for (NodeId id = 0; id < static_cast<NodeId>(nodes.size()); ++id) {
    if (nodes[id].op->kind != OpKind::MatMul) continue;
    if (!search.join_activation(id)) search.join_cast(id);
  }
}

void lower_product_expression(Expression& expression) {
  lower_product(ProductEnd(expression));
}

void lower_matmul(UnitBuilder& unit) { lower_product(ProductEnd(unit)); }

}  // namespace traingraph::cuda
