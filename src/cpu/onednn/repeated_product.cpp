// SPDX-License-Identifier: MIT
// Products of ops that make several: one oneDNN primitive, and a reorder of y
// where it is multiplied again and again.
//
// Primitives are made with their descriptions, while there are as many threads:
// oneDNN keeps primitives by the threads there are when they are made, and
// would hand out that of a description made for another number, whose layouts
// differ.
#include <optional>
#include <utility>

#include "cpu/engine/product.h"
#include "cpu/onednn/primitives.h"
#include "cpu/primitive_threads.h"

namespace traingraph::cpu {
namespace {

using dnnl::memory;

memory::desc desc_of(const MatrixView& m, DataType type) {
  // Steps that are never taken read as a leading dimension.
  std::int64_t row_step = m.row, column_step = m.column;
  if (m.columns == 1) column_step = 1;
  if (m.rows == 1) row_step = m.columns;
  return {memory::dims{m.rows, m.columns}, to_dnnl(type),
          memory::dims{row_step, column_step}};
}

int scratch_of(UnitBuilder& unit, const dnnl::primitive_desc_base& primitive) {
  const std::size_t bytes = scratchpad_bytes(primitive);
  return bytes == 0 ? -1 : unit.scratch(bytes);
}

void add_scratch(std::vector<BoundPrimitive::Arg>& args,
                 const dnnl::primitive_desc_base& primitive, BindContext& at,
                 int scratch) {
  if (scratch < 0) return;
  args.push_back(
      {DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), at[scratch]});
}

class BoundMatmul final : public BoundProduct {
 public:
  BoundMatmul(BoundPrimitive product, std::optional<BoundPrimitive> pack)
      : product_(std::move(product)), pack_(std::move(pack)) {}
  void pack() override {
    if (pack_) (*pack_)();
  }
  void run() override { product_(); }
  void move_x(std::byte* x) override { product_.move(0, x); }

 private:
  BoundPrimitive product_;
  std::optional<BoundPrimitive> pack_;
};

class Matmul final : public EngineProduct {
 public:
  Matmul(UnitBuilder& unit, const MatrixView& x, const MatrixView& y,
         DataType type, ProductUse use)
      : num_threads_(PrimitiveThreads::count()) {
    const bool repeats = use == ProductUse::Repeated;
    const memory::desc given = desc_of(y, type);
    const memory::desc any(given.get_dims(), given.get_data_type(),
                           memory::format_tag::any);
    product_ = {engine(), desc_of(x, type), repeats ? any : given,
                desc_of(MatrixView::plain(x.rows, y.columns),
                        repeats ? DataType::Float32 : type),
                product_attributes(unit)};
    made_ = dnnl::matmul(product_);
    scratch_ = scratch_of(unit, product_);
    const memory::desc packed = product_.weights_desc();
    if (!repeats || same_layout(to_layout(packed), to_layout(given))) return;
    pack_ = dnnl::reorder::primitive_desc(engine(), given, engine(), packed,
                                          user_scratchpad());
    made_pack_ = dnnl::reorder(*pack_);
    packed_ = unit.scratch(packed.get_size());
    pack_scratch_ = scratch_of(unit, *pack_);
  }

  std::shared_ptr<BoundProduct> bind(BindContext& at, std::byte* x,
                                     std::byte* y,
                                     std::byte* z) const override {
    std::byte* const packed = pack_ ? at[packed_] : y;
    std::vector<BoundPrimitive::Arg> args{
        {DNNL_ARG_SRC, product_.src_desc(), x},
        {DNNL_ARG_WEIGHTS, product_.weights_desc(), packed},
        {DNNL_ARG_DST, product_.dst_desc(), z}};
    add_scratch(args, product_, at, scratch_);
    BoundPrimitive product(made_, num_threads_, args);
    std::optional<BoundPrimitive> pack;
    if (pack_) {
      args = {{DNNL_ARG_FROM, pack_->src_desc(), y},
              {DNNL_ARG_TO, pack_->dst_desc(), packed}};
      add_scratch(args, *pack_, at, pack_scratch_);
      pack.emplace(made_pack_, num_threads_, args);
    }
    return std::make_shared<BoundMatmul>(std::move(product), std::move(pack));
  }

 private:
  dnnl::matmul::primitive_desc product_;
  dnnl::primitive made_, made_pack_;
  std::optional<dnnl::reorder::primitive_desc> pack_;
  int num_threads_;
  int packed_ = -1, scratch_ = -1, pack_scratch_ = -1;
};

}  // namespace

std::shared_ptr<const EngineProduct> make_engine_product(UnitBuilder& unit,
                                                         const MatrixView& x,
                                                         const MatrixView& y,
                                                         DataType type,
                                                         ProductUse use) {
  return std::make_shared<const Matmul>(unit, x, y, type, use);
}

}  // namespace traingraph::cpu
