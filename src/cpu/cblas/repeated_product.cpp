// SPDX-License-Identifier: MIT
// Products of ops that make several.
#include "cpu/cblas/tiled_product.h"
#include "cpu/engine/product.h"
#include "cpu/primitive_threads.h"
#include "cpu/typed_address.h"
#include "traingraph/error.h"

namespace traingraph::cpu {
namespace {

class BoundSgemm final : public BoundProduct {
 public:
  BoundSgemm(const TiledProduct& product, BlasOperand x, BlasOperand y,
             float* z)
      : product_(product), x_(x), y_(y), z_(z) {}
  void run() override {
    product_.run(1, x_, y_, z_, product_.size().columns,
                 [](const ProductTile&) {});
  }
  void move_x(std::byte* x) override { x_.data = floats(x); }

 private:
  TiledProduct product_;
  BlasOperand x_, y_;
  float* z_;
};

class Sgemm final : public EngineProduct {
 public:
  Sgemm(const NodeLowering& lowering, const MatrixView& x, const MatrixView& y)
      : product_({x.rows, y.columns, x.columns}, PrimitiveThreads::count()),
        x_(describe_for_blas(lowering, x)),
        y_(describe_for_blas(lowering, y)) {}
  std::shared_ptr<BoundProduct> bind(std::span<std::byte* const> /*at*/,
                                     std::byte* x, std::byte* y,
                                     std::byte* z) const override {
    BlasOperand left = x_, right = y_;
    left.data = floats(x);
    right.data = floats(y);
    return std::make_shared<BoundSgemm>(product_, left, right, floats(z));
  }

 private:
  TiledProduct product_;
  BlasOperand x_, y_;
};

}  // namespace

std::shared_ptr<const EngineProduct> make_engine_product(NodeLowering& lowering,
                                                         const MatrixView& x,
                                                         const MatrixView& y,
                                                         DataType type,
                                                         ProductUse /*use*/) {
  if (type != DataType::Float32) {
    throw InternalError(ErrorInfo{.op = lowering.node().op->name,
                                  .node = lowering.node().name,
                                  .what = "a CBLAS multiplies float32 alone",
                                  .got = std::string(to_string(type))});
  }
  return std::make_shared<const Sgemm>(lowering, x, y);
}

}  // namespace traingraph::cpu
