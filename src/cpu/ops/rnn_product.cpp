// SPDX-License-Identifier: MIT
#include "cpu/ops/rnn_product.h"

#include "base/checked.h"
#include "cpu/instruction_set.h"
#include "cpu/primitive_threads.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

using dnnl::memory;

/// Most multiplications of a step that loops of ours compute faster.
constexpr double kMostSmallStep = 1 << 16;

int scratch_of(NodeLowering& lowering,
               const dnnl::primitive_desc_base& primitive) {
  const std::size_t bytes = scratchpad_bytes(primitive);
  return bytes == 0 ? -1 : lowering.scratch(bytes);
}

void add_scratch(std::vector<BoundPrimitive::Arg>& args,
                 const dnnl::primitive_desc_base& primitive,
                 std::span<std::byte* const> at, int scratch) {
  if (scratch < 0) return;
  args.push_back(
      {DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), at[scratch]});
}

}  // namespace

memory::desc MatrixView::desc(DataType type) const {
  // Steps that are never taken read as a leading dimension.
  std::int64_t row_step = row, column_step = column;
  if (columns == 1) column_step = 1;
  if (rows == 1) row_step = columns;
  return {memory::dims{rows, columns}, to_dnnl(type),
          memory::dims{row_step, column_step}};
}

BoundStepProduct::BoundStepProduct(const SmallProduct& product,
                                   const SmallProductArgs<float>& args,
                                   float* panels)
    : small_(product), args_(args), weights_(args.y), panels_(panels) {
  if (!panels) return;
  small_.has_panels = true;
  args_.y = panels;
}

void BoundStepProduct::pack() const {
  if (pack_) (*pack_)();
  if (panels_) pack_panels(small_, weights_, panels_);
}

void BoundStepProduct::operator()() const {
  if (product_) return (*product_)();
  vectorized_by_width([this]<int kFloats>(VectorWidth<kFloats>) {
    run_small_product<kFloats>(small_, args_);
  });
}

void BoundStepProduct::move_x(std::byte* x) {
  if (product_) {
    product_->move(0, x);
  } else {
    args_.x = floats(x);
  }
}

StepProduct::StepProduct(NodeLowering& lowering, const MatrixView& x,
                         const MatrixView& weights, DataType type) {
  const double count = static_cast<double>(x.rows) *
                       static_cast<double>(x.columns) *
                       static_cast<double>(weights.columns);
  if (type != DataType::Float32 || count > kMostSmallStep) {
    find_primitive(lowering, x, weights, type);
    return;
  }
  small_ = {.size = {x.rows, weights.columns, x.columns},
            .x_row = x.row,
            .x_column = x.column,
            .y_row = weights.row,
            .y_column = weights.column};
  scratch_ =
      lowering.scratch(checked_bytes<float>(small_->scratch(), "scratch"));
  if (small_->is_y_transposed()) {
    packed_ = lowering.scratch(checked_bytes<float>(
        round_up(weights.columns, kPanel) * x.columns, "scratch"));
  }
}

void StepProduct::find_primitive(NodeLowering& lowering, const MatrixView& x,
                                 const MatrixView& weights, DataType type) {
  const auto rows = static_cast<double>(x.rows);
  const auto inner = static_cast<double>(x.columns);
  const auto columns = static_cast<double>(weights.columns);
  const NodeCost cost{.flops = 2 * rows * inner * columns};
  num_threads_ = threads_for(cost, PrimitiveThreads::count());
  const PrimitiveThreads threads(num_threads_);
  const memory::desc given = weights.desc(type);
  const memory::desc any(given.get_dims(), given.get_data_type(),
                         memory::format_tag::any);
  const auto z = MatrixView::plain(x.rows, weights.columns);
  product_ = {engine(), x.desc(type), any, z.desc(DataType::Float32),
              lowering.product_attributes()};
  made_ = dnnl::matmul(product_);
  scratch_ = scratch_of(lowering, product_);
  const memory::desc packed = product_.weights_desc();
  if (same_layout(packed, given)) return;
  pack_ = dnnl::reorder::primitive_desc(engine(), given, engine(), packed,
                                        user_scratchpad());
  made_pack_ = dnnl::reorder(*pack_);
  packed_ = lowering.scratch(packed.get_size());
  pack_scratch_ = scratch_of(lowering, *pack_);
}

BoundStepProduct StepProduct::bind(std::span<std::byte* const> at, std::byte* x,
                                   std::byte* weights, std::byte* z) const {
  if (small_) {
    const SmallProductArgs<float> args{floats(x), floats(weights), nullptr,
                                       floats(z), floats(at[scratch_])};
    return {*small_, args, packed_ < 0 ? nullptr : floats(at[packed_])};
  }
  std::byte* const packed = pack_ ? at[packed_] : weights;
  std::vector<BoundPrimitive::Arg> args{
      {DNNL_ARG_SRC, product_.src_desc(), x},
      {DNNL_ARG_WEIGHTS, product_.weights_desc(), packed},
      {DNNL_ARG_DST, product_.dst_desc(), z}};
  add_scratch(args, product_, at, scratch_);
  BoundPrimitive product(made_, num_threads_, args);
  if (!pack_) return {std::move(product), std::nullopt};
  args = {{DNNL_ARG_FROM, pack_->src_desc(), weights},
          {DNNL_ARG_TO, pack_->dst_desc(), packed}};
  add_scratch(args, *pack_, at, pack_scratch_);
  return {std::move(product), BoundPrimitive(made_pack_, num_threads_, args)};
}

Product::Product(NodeLowering& lowering, const MatrixView& x,
                 const MatrixView& y, DataType type)
    : product_(engine(), x.desc(type), y.desc(type),
               MatrixView::plain(x.rows, y.columns).desc(type),
               lowering.product_attributes()),
      made_(product_),
      num_threads_(PrimitiveThreads::count()),
      scratch_(scratch_of(lowering, product_)) {}

BoundPrimitive Product::bind(std::span<std::byte* const> at, std::byte* x,
                             std::byte* y, std::byte* z) const {
  std::vector<BoundPrimitive::Arg> args{
      {DNNL_ARG_SRC, product_.src_desc(), x},
      {DNNL_ARG_WEIGHTS, product_.weights_desc(), y},
      {DNNL_ARG_DST, product_.dst_desc(), z}};
  add_scratch(args, product_, at, scratch_);
  return {made_, num_threads_, args};
}

}  // namespace traingraph::cpu
