// SPDX-License-Identifier: MIT
// Matrix products by a kernel of ours, large ones by cuBLASLt. Where a result
// is too small to fill the card, blocks share the depth, and a second kernel
// adds their sums.
#include "cuda/ops/matmul.h"

#include <set>
#include <utility>

#include "base/checked.h"
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/elementwise_text.h"
#include "cuda/ops/matmul_end.h"
#include "cuda/ops/matmul_library.h"
#include "cuda/ops/matmul_plan.h"

namespace traingraph::cuda {
namespace {

constexpr unsigned kProductThreads = 256;

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

void lower_product(ProductEnd end) {
  const ProductPlan plan = plan_product(end.product());
  if (is_library_product(plan)) return lower_library_product(end, plan);
  end.read();
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

/// Does nothing change what the product reads before node `last`, nor does it
/// keep more memory until then than its result would take?
bool may_run_at(const FusionSearch& search, NodeId id, NodeId last) {
  const Program& program = search.program();
  std::size_t kept = 0;
  for (const ValueId input : program.node(id).inputs) {
    if (input == kNoValue) continue;
    if (search.changes_between(input, id, last)) return false;
    if (!search.outlives(input, last)) kept += program.desc(input).size_bytes();
  }
  return last == id + 1 ||
         kept <= program.desc(program.node(id).outputs[0]).size_bytes();
}

}  // namespace

void join_products(FusionSearch& search) {
  const auto& nodes = search.program().nodes();
  for (NodeId id = 0; id < static_cast<NodeId>(nodes.size()); ++id) {
    if (nodes[id].op->kind != OpKind::MatMul) continue;
    if (!search.join_activation(id)) search.join_cast(id);
  }
}

void join_product_readers(FusionSearch& search) {
  const Program& program = search.program();
  std::set<NodeId> have_product;
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    if (program.node(id).op->kind != OpKind::MatMul) continue;
    const ValueId value = program.node(id).outputs[0];
    if (search.readers(value).size() != 1) continue;
    const NodeId reader = search.readers(value)[0];
    const NodeId last = search.computed_by(reader);
    const bool is_joined =
        is_elementwise(program.node(last).op->kind) && search.is_free(last) &&
        program.shape(program.node(last).outputs[0]) == program.shape(value) &&
        !have_product.contains(last) && may_run_at(search, id, last) &&
        search.join_producer(value, reader);
    if (is_joined) have_product.insert(last);
  }
}

void lower_product_expression(Expression& expression) {
  lower_product(ProductEnd(expression));
}

void lower_matmul(UnitBuilder& unit) { lower_product(ProductEnd(unit)); }

}  // namespace traingraph::cuda
