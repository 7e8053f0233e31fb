// SPDX-License-Identifier: MIT
// Products of ops that make several.
#include "base/checked.h"
#include "cpu/cblas/packed_product.h"
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
  Sgemm(const UnitBuilder& unit, const MatrixView& x, const MatrixView& y)
      : product_({x.rows, y.columns, x.columns}, PrimitiveThreads::count(),
                 /*has_epilogue=*/false),
        x_(describe_for_blas(unit, x)),
        y_(describe_for_blas(unit, y)) {}
  std::shared_ptr<BoundProduct> bind(BindContext& /*at*/, std::byte* x,
                                     std::byte* y,
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

class BoundPacked final : public BoundProduct {
 public:
  BoundPacked(const ProductSize& size, int num_threads,
              const MatrixView& x_view, const MatrixView& y_view,
              const float* x, const float* y, float* packed, float* z)
      : size_(size),
        num_threads_(num_threads),
        y_view_(y_view),
        x_{x, x_view.row, x_view.column},
        y_(y),
        packed_(packed),
        z_(z) {}

  void pack() override {
    const auto share = [&](int index) {
      const Part part(num_panels(), index, num_threads_, /*multiple=*/1);
      vectorized([&] {
        for (std::int64_t i = part.begin; i < part.end; ++i) {
          const std::int64_t j = i * kPanel;
          pack_panel(y_view_, y_ + j * y_view_.column, size_.depth,
                     std::min(kPanel, size_.columns - j),
                     packed_ + j * size_.depth);
        }
      });
    };
    run_workers(num_threads_, share);
  }
  void run() override {
    const auto share = [&](int index) {
      const Part part(num_panels(), index, num_threads_, /*multiple=*/2);
      vectorized_by_width([&]<int kFloats>(VectorWidth<kFloats>) {
        multiply_packed<kFloats>(size_, x_, packed_, z_, part.begin, part.end);
      });
    };
    run_workers(num_threads_, share);
  }
  void move_x(std::byte* x) override { x_.data = floats(x); }

 private:
  std::int64_t num_panels() const {
    return (size_.columns + kPanel - 1) / kPanel;
  }

  ProductSize size_;
  int num_threads_;
  MatrixView y_view_;
  LeftOperand<float> x_;
  const float* y_;
  float* packed_;
  float* z_;
};

class Packed final : public EngineProduct {
 public:
  Packed(UnitBuilder& unit, const MatrixView& x, const MatrixView& y)
      : x_(x),
        y_(y),
        size_{x.rows, y.columns, x.columns},
        num_threads_(PrimitiveThreads::count()),
        packed_(unit.scratch(
            checked_bytes<float>(packed_floats(size_), "scratch"))) {}
  std::shared_ptr<BoundProduct> bind(BindContext& at, std::byte* x,
                                     std::byte* y,
                                     std::byte* z) const override {
    return std::make_shared<BoundPacked>(size_, num_threads_, x_, y_, floats(x),
                                         floats(y), floats(at[packed_]),
                                         floats(z));
  }

 private:
  MatrixView x_, y_;
  ProductSize size_;
  int num_threads_, packed_;
};

/// Rows up to which packing anew in each call would cost more than a CBLAS is
/// faster.
constexpr std::int64_t kMaxPackedRows = 128;

}  // namespace

std::shared_ptr<const EngineProduct> make_engine_product(UnitBuilder& unit,
                                                         const MatrixView& x,
                                                         const MatrixView& y,
                                                         DataType type,
                                                         ProductUse use) {
  if (type != DataType::Float32) {
    throw InternalError(ErrorInfo{.op = unit.node().op->name,
                                  .node = unit.node().name,
                                  .what = "a CBLAS multiplies float32 alone",
                                  .got = std::string(to_string(type))});
  }
  if (use == ProductUse::Repeated && x.rows <= kMaxPackedRows) {
    return std::make_shared<const Packed>(unit, x, y);
  }
  return std::make_shared<const Sgemm>(unit, x, y);
}

}  // namespace traingraph::cpu
