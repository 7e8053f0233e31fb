// SPDX-License-Identifier: MIT
// Products by loops over packed panels, for all widths of vectors, against sums
// in double.
#include "cpu/cblas/packed_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "cpu/instruction_set.h"

namespace traingraph::cpu {
namespace {

struct Case {
  ProductSize size;
  bool transposes_x, transposes_y;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ProductSize& size :
       {ProductSize{1, 1, 1}, ProductSize{8, 32, 256}, ProductSize{15, 47, 33},
        ProductSize{3, 16, 600}, ProductSize{21, 65, 257}}) {
    for (bool x : {false, true}) {
      for (bool y : {false, true}) all.push_back({size, x, y});
    }
  }
  return all;
}

MatrixView view(std::int64_t rows, std::int64_t columns, bool is_transposed) {
  return is_transposed ? MatrixView::plain(columns, rows).transposed()
                       : MatrixView::plain(rows, columns);
}

struct Data {
  std::vector<float> x, y;
  MatrixView x_view, y_view;
  ProductSize size;

  explicit Data(const Case& c)
      : x(c.size.rows * c.size.depth),
        y(c.size.depth * c.size.columns),
        x_view(view(c.size.rows, c.size.depth, c.transposes_x)),
        y_view(view(c.size.depth, c.size.columns, c.transposes_y)),
        size(c.size) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& value : x) value = uniform(random);
    for (float& value : y) value = uniform(random);
  }
  LeftOperand<float> left() const {
    return {x.data(), x_view.row, x_view.column};
  }

  /// z = factor x y + start, within the rounding of sums in float32: depth
  /// terms below 1, each rounded once, and `start` once more.
  void expect(const std::vector<float>& z, double factor, double start) const {
    for (std::int64_t i = 0; i < size.rows; ++i) {
      for (std::int64_t j = 0; j < size.columns; ++j) {
        double sum = start;
        for (std::int64_t k = 0; k < size.depth; ++k) {
          sum += factor * x[i * x_view.row + k * x_view.column] *
                 y[k * y_view.row + j * y_view.column];
        }
        ASSERT_NEAR(z[i * size.columns + j], sum,
                    6e-8 * (static_cast<double>(size.depth) + 1 + 2 * start))
            << i << ", " << j << " of " << size.rows << " x " << size.columns;
      }
    }
  }
};

template <int kFloats>
void check_packed(const Data& data) {
  const ProductSize& size = data.size;
  std::vector<float> packed(packed_floats(size));
  const std::int64_t panels = (size.columns + kPanel - 1) / kPanel;
  for (std::int64_t i = 0; i < panels; ++i) {
    const std::int64_t j = i * kPanel;
    pack_panel(data.y_view, data.y.data() + j * data.y_view.column, size.depth,
               std::min(kPanel, size.columns - j),
               packed.data() + j * size.depth);
  }
  std::vector<float> z(size.rows * size.columns, 5);
  // Two threads would divide it so.
  const std::int64_t middle = panels / 2;
  multiply_packed<kFloats>(size, data.left(), packed.data(), z.data(), 0,
                           middle);
  multiply_packed<kFloats>(size, data.left(), packed.data(), z.data(), middle,
                           panels);
  data.expect(z, 1, 0);
}

template <int kFloats>
void check_unpacked(const Data& data) {
  const ProductSize& size = data.size;
  for (bool adds : {false, true}) {
    std::vector<float> z(size.rows * size.columns, 5);
    multiply_unpacked<kFloats>(size, 0.5f, data.left(), data.y.data(),
                               data.y_view, z.data(), size.columns, adds);
    data.expect(z, 0.5, adds ? 5 : 0);
  }
}

TEST(PackedProduct, IsTheProductForAllWidths) {
  for (const Case& c : cases()) {
    const Data data(c);
    check_packed<4>(data);
    check_packed<8>(data);
    check_packed<16>(data);
    check_unpacked<4>(data);
    check_unpacked<8>(data);
    check_unpacked<16>(data);
  }
}

TEST(PackedProduct, RunsOnThisProcessor) {
  const Data data({{21, 65, 257}, false, true});
  vectorized_by_width(
      [&]<int kFloats>(VectorWidth<kFloats>) { check_packed<kFloats>(data); });
}

}  // namespace
}  // namespace traingraph::cpu
