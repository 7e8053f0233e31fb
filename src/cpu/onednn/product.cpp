// SPDX-License-Identifier: MIT
// Matrix products as one oneDNN primitive, whose post-ops are alpha and the
// activation, or as tiles (tiled_product.h).
#include "cpu/engine/product.h"

#include <bit>

#include "cpu/onednn/eltwise.h"
#include "cpu/onednn/tiled_product.h"

namespace traingraph::cpu {
namespace {

using dnnl::memory;

memory::desc describe(Matrices m, DataType type) {
  // The step between rows of a single row is never taken; make it one that
  // reads as a leading dimension. So is the one of a single column, which
  // would else be the leading dimension of a transposed matrix.
  const std::size_t rows = m.dims.size() - 2;
  if (m.dims[rows + 1] == 1) m.strides[rows + 1] = 1;
  if (m.dims[rows] == 1) m.strides[rows] = m.dims[rows + 1];
  return {m.dims, to_dnnl(type), m.strides};
}

memory::desc describe_bias(const Matrices& z, DataType type) {
  memory::dims dims(z.dims.size(), 1), strides(z.dims.size(), z.dims.back());
  dims.back() = z.dims.back();
  strides.back() = 1;
  return {dims, to_dnnl(type), strides};
}

/// What products of equal operands share: large networks have many.
struct Product {
  memory::desc x, y, z, bias = {};
  int bias_arg = DNNL_ARG_BIAS;
  WithPostOp<dnnl::matmul::primitive_desc> matmul = {};
};

Product make_product(const UnitBuilder& unit, const ProductOperands& operands,
                     const std::optional<Eltwise>& activation) {
  const auto& attrs = unit.attrs<MatMulAttrs>();
  const auto& [x, y, z] = operands;
  Product product{.x = describe(x, unit.input_desc(0).data_type),
                  .y = describe(y, unit.input_desc(1).data_type),
                  .z = describe(z, unit.result_desc().data_type)};
  if (unit.has(2)) {
    product.bias = describe_bias(z, unit.input_desc(2).data_type);
  }
  // oneDNN adds its bias before post-ops, but alpha does not scale ours; and
  // with one of float16 it has its reference alone. Then the bias is a post-op,
  // too.
  const bool is_scaled = attrs.alpha != 1;
  const bool is_added_last =
      unit.has(2) &&
      (is_scaled || unit.input_desc(2).data_type == DataType::Float16);
  dnnl::primitive_attr attr = product_attributes(unit);
  dnnl::post_ops ops;
  if (is_scaled) {
    ops.append_eltwise(dnnl::algorithm::eltwise_linear, attrs.alpha, 0);
  }
  if (is_added_last) {
    product.bias_arg =
        DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1;
    ops.append_binary(dnnl::algorithm::binary_add, product.bias);
  }
  attr.set_post_ops(ops);
  const auto own_bias = is_added_last ? memory::desc() : product.bias;
  product.matmul =
      describe_with(activation, attr, [&](const auto& with, bool allow_empty) {
        return dnnl::matmul::primitive_desc(engine(), product.x, product.y,
                                            own_bias, product.z, with,
                                            allow_empty);
      });
  return product;
}

/// All that make_product() looks at.
std::vector<std::int64_t> key_of(const UnitBuilder& unit,
                                 const std::optional<Eltwise>& activation) {
  const auto& attrs = unit.attrs<MatMulAttrs>();
  std::vector<std::int64_t> key{attrs.transposes_x, attrs.transposes_y,
                                std::bit_cast<std::int32_t>(attrs.alpha),
                                unit.has(2), activation.has_value()};
  if (activation) {
    key.insert(key.end(), {static_cast<std::int64_t>(activation->algorithm),
                           std::bit_cast<std::int32_t>(activation->alpha),
                           std::bit_cast<std::int32_t>(activation->beta)});
  }
  const auto add = [&](const TensorDescriptor& tensor) {
    key.push_back(static_cast<std::int64_t>(tensor.data_type));
    key.push_back(tensor.shape.rank());
    key.insert(key.end(), tensor.shape.begin(), tensor.shape.end());
  };
  add(unit.input_desc(0));
  add(unit.input_desc(1));
  if (unit.has(2)) add(unit.input_desc(2));
  add(unit.result_desc());
  return key;
}

}  // namespace

bool fuses_next_activation(UnitBuilder& unit) {
  return find_next_post_op(unit).has_value();
}

void lower_product(UnitBuilder& unit, const ProductOperands& operands) {
  const auto activation = find_next_post_op(unit);
  const bool is_plain =
      !unit.has(2) && !activation && unit.attrs<MatMulAttrs>().alpha == 1;
  if (is_plain && lower_tiled_product(unit, operands)) return;
  const Product& product = unit.shared(key_of(unit, activation), [&] {
    return make_product(unit, operands, activation);
  });
  if (product.matmul.is_fused) unit.fusion().fuse_activation();

  std::vector<PrimitiveArg> args{{DNNL_ARG_SRC, product.x, unit.read(0)},
                                 {DNNL_ARG_WEIGHTS, product.y, unit.read(1)}};
  if (unit.has(2)) {
    args.push_back({product.bias_arg, product.bias, unit.read(2)});
  }
  args.push_back({DNNL_ARG_DST, product.z, unit.write(0)});
  emit_primitive(unit, product.matmul.primitive, std::move(args));
}

}  // namespace traingraph::cpu
