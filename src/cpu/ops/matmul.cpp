// SPDX-License-Identifier: MIT
// Matrix products: the engine's, or loops of ours where that would be mostly
// dispatch (matmul_small.h), or the engine's in float32 (matmul_upcast.h).
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "cpu/engine/product.h"
#include "cpu/float_types.h"
#include "cpu/instruction_set.h"
#include "cpu/native_types.h"
#include "cpu/ops/matmul_small.h"
#include "cpu/ops/matmul_upcast.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

Matrices view(const Shape& shape, int rank, bool is_transposed) {
  using Sizes = std::vector<std::int64_t>;
  Matrices m{Sizes(rank, 1), Sizes(rank, 0)};
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const int to = axis + rank - shape.rank();
    m.dims[to] = shape[axis];
    m.strides[to] = stride;
    stride *= shape[axis];
  }
  for (int to = 0; to < rank - shape.rank(); ++to) m.strides[to] = stride;
  if (is_transposed) {
    std::swap(m.dims[rank - 2], m.dims[rank - 1]);
    std::swap(m.strides[rank - 2], m.strides[rank - 1]);
  }
  return m;
}

/// Leading axes `axis` and `axis + 1` as one, for an operand that has both.
void merge(Matrices& m, int axis) {
  m.dims[axis] *= m.dims[axis + 1];
  m.strides[axis] = m.strides[axis + 1];
  m.dims.erase(m.dims.begin() + axis + 1);
  m.strides.erase(m.strides.begin() + axis + 1);
}

/// Fewer axes make faster primitives. Adjacent leading axes merge when both
/// operands have them in full, or one operand repeats over both. A single
/// leading axis over which y repeats joins the rows of x.
void simplify(Matrices& x, Matrices& y, Matrices& z) {
  for (int axis = static_cast<int>(z.dims.size()) - 4; axis >= 0; --axis) {
    const auto is_full = [&](const Matrices& m) {
      return m.dims[axis] == z.dims[axis] &&
             m.dims[axis + 1] == z.dims[axis + 1];
    };
    const auto repeats = [&](const Matrices& m) {
      return m.dims[axis] == 1 && m.dims[axis + 1] == 1;
    };
    if ((is_full(x) || repeats(x)) && (is_full(y) || repeats(y))) {
      for (Matrices* m : {&x, &y, &z}) merge(*m, axis);
    }
  }
  const bool joins = z.dims.size() == 3 && y.dims[0] == 1 &&
                     x.dims[0] == z.dims[0] &&
                     x.strides[0] == x.dims[1] * x.strides[1];
  if (joins) {
    y.dims.erase(y.dims.begin());
    y.strides.erase(y.strides.begin());
    merge(x, 0);
    merge(z, 0);
  } else if (z.dims.size() == 3 && z.dims[0] == 1) {
    for (Matrices* m : {&x, &y, &z}) {
      m->dims.erase(m->dims.begin());
      m->strides.erase(m->strides.begin());
    }
  }
}

ProductOperands find_operands(const UnitBuilder& unit) {
  const auto& attrs = unit.attrs<MatMulAttrs>();
  const int rank = unit.result_shape().rank();
  ProductOperands all{view(unit.input_shape(0), rank, attrs.transposes_x),
                      view(unit.input_shape(1), rank, attrs.transposes_y),
                      view(unit.result_shape(), rank, /*is_transposed=*/false)};
  simplify(all.x, all.y, all.z);
  return all;
}

/// The product for loops of ours, if it is small enough. They know ReLU only:
/// with another activation that the engine would fuse it is the engine's.
std::optional<SmallProduct> find_small_product(
    UnitBuilder& unit, const ProductOperands& operands) {
  const auto& attrs = unit.attrs<MatMulAttrs>();
  const ActivationAttrs* next = unit.fusion().next_activation();
  const bool has_relu = next != nullptr && next->type == ActivationType::ReLU;
  if (!has_relu && fuses_next_activation(unit)) return {};
  const auto& [x, y, z] = operands;
  if (z.dims.size() != 2) return {};
  const ProductSize size{z.dims[0], z.dims[1], x.dims[1]};
  const double count = static_cast<double>(size.rows) *
                       static_cast<double>(size.columns) *
                       static_cast<double>(size.depth);
  if (count > static_cast<double>(kMaxSmall)) return {};
  return SmallProduct{.size = size,
                      .x_row = x.strides[0],
                      .x_column = x.strides[1],
                      .y_row = y.strides[0],
                      .y_column = y.strides[1],
                      .alpha = attrs.alpha,
                      .has_relu = has_relu,
                      .slope = has_relu ? next->a : 0};
}

void run_small(const SmallProduct& product,
               const SmallProductArgs<float>& args) {
  vectorized_by_width([&]<int kFloats>(VectorWidth<kFloats>) {
    run_small_product<kFloats>(product, args);
  });
}

template <class From, class To>
void convert_all(const From* from, To* to, std::int64_t n) {
  vectorized([=] {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
  });
}

/// Arguments of a product of 16 bits as floats beside them.
class UpcastMatMul {
 public:
  UpcastMatMul(UnitBuilder& unit, bool has_bias)
      : sizes_{unit.input_shape(0).num_elements(),
               unit.input_shape(1).num_elements(),
               has_bias ? unit.input_shape(2).num_elements() : 0,
               unit.result_shape().num_elements()},
        scratch_(unit.scratch(checked_bytes<float>(
            sizes_[0] + sizes_[1] + sizes_[2] + sizes_[3], "scratch"))) {}

  /// The product of `from`, whose result is stored as it is there.
  template <class T, class Z>
  BoundKernel bind(const SmallProduct& product, const T* x, const T* y,
                   const T* bias, Z* z, float* panel, BindContext& at) const {
    float* const wide_x = floats(at[scratch_]);
    float* const wide_y = wide_x + sizes_[0];
    float* const wide_bias = wide_y + sizes_[1];
    float* wide_z = wide_bias + sizes_[2];
    if constexpr (is_exact<Z>) wide_z = z;
    const SmallProductArgs<float> args{
        wide_x, wide_y, bias ? wide_bias : nullptr, wide_z, panel};
    return [=, sizes = sizes_] {
      convert_all(x, wide_x, sizes[0]);
      convert_all(y, wide_y, sizes[1]);
      if (bias) convert_all(bias, wide_bias, sizes[2]);
      run_small(product, args);
      if constexpr (!is_exact<Z>) convert_all(wide_z, z, sizes[3]);
    };
  }

 private:
  std::array<std::int64_t, 4> sizes_;  // of x, y, bias, z
  int scratch_;
};

void lower_small_product(UnitBuilder& unit, const SmallProduct& product) {
  if (product.has_relu) unit.fusion().fuse_activation();
  const int x = unit.read(0), y = unit.read(1),
            bias = unit.has(2) ? unit.read(2) : -1, z = unit.write(0),
            scratch = unit.scratch(
                checked_bytes<float>(product.scratch(), "scratch"));
  const DataType type = unit.input_desc(0).data_type;
  if (type == DataType::Float32) {
    return emit(unit, [=](BindContext& at) -> BoundKernel {
      const SmallProductArgs<float> args{floats(at[x]), floats(at[y]),
                                         bias < 0 ? nullptr : floats(at[bias]),
                                         floats(at[z]), floats(at[scratch])};
      return [=] { run_small(product, args); };
    });
  }
  const UpcastMatMul upcast(unit, bias >= 0);
  const DataType result = unit.result_desc().data_type;
  visit_any_float(unit, type, [&]<class T>(T) {
    const auto emit_to = [&]<class Z>(Z) {
      emit(unit, [=](BindContext& at) -> BoundKernel {
        return upcast.bind(product, typed<T>(at[x]), typed<T>(at[y]),
                           bias < 0 ? nullptr : typed<T>(at[bias]),
                           typed<Z>(at[z]), floats(at[scratch]), at);
      });
    };
    result == type ? emit_to(T{}) : emit_to(float{});
  });
}

}  // namespace

void lower_matmul(UnitBuilder& unit) {
  if (unit.fusion().has_next_cast()) unit.fusion().fuse_cast();
  const ProductOperands operands = find_operands(unit);
  if (const auto small = find_small_product(unit, operands)) {
    return lower_small_product(unit, *small);
  }
  if (!has_products(unit.input_desc(0).data_type)) {
    return lower_upcast_product(unit, operands);
  }
  lower_product(unit, operands);
}

}  // namespace traingraph::cpu
