// SPDX-License-Identifier: MIT
#include "cuda/ops/matmul_end.h"

#include "cuda/ops/elementwise_expression.h"
#include "cuda/ops/elementwise_text.h"
#include "lowering/fusion_query.h"

namespace traingraph::cuda {

ProductEnd::ProductEnd(UnitBuilder& unit)
    : product_(unit), result_(unit), alpha_(unit.attrs<MatMulAttrs>().alpha) {
  if (unit.fusion().has_next_cast()) {
    unit.fusion().fuse_cast();
  } else if (const auto* next = unit.fusion().next_activation()) {
    activation_ = activation_text(*next);
    is_relu_ = next->type == ActivationType::ReLU && next->a == 0;
    unit.fusion().fuse_activation();
  }
}

ProductEnd::ProductEnd(Expression& expression)
    : product_(*find_product(expression)),
      result_(expression.steps.back().unit),
      expression_(&expression),
      alpha_(product_.attrs<MatMulAttrs>().alpha) {}

void ProductEnd::read(bool is_stored) {
  x_ = product_.read(0);
  y_ = product_.read(1);
  if (product_.has(2)) bias_ = product_.read(2);
  if (expression_ != nullptr) args_ = read_operands(*expression_);
  z_ = result_.write(0);
  if (expression_ != nullptr && !is_stored) {
    may_overwrite_operands(*expression_, z_, args_, {x_, y_, bias_});
  }
}

int ProductEnd::take_bias(DataType type) {
  if (bias_ < 0 || product_.input_desc(2).data_type != type) return -1;
  return std::exchange(bias_, -1);
}

bool ProductEnd::take_relu() {
  if (!is_relu_ || bias_ >= 0 || alpha_ != 1) return false;
  activation_.clear();
  return true;
}

void ProductEnd::write(KernelWriter& kernel, const std::string& sum,
                       const std::string& i, const std::string& column) const {
  std::string value = sum;
  if (alpha_ != 1) value = literal(alpha_) + " * " + value;
  if (bias_ >= 0) {
    const std::string bias =
        kernel.pointer(bias_, product_.input_desc(2).data_type);
    value += " + static_cast<float>(" + bias + "[" + column + "])";
  }
  if (!activation_.empty()) value = activation_ + ".value(" + value + ")";
  std::string last = kernel.local();
  kernel.body("    const auto " + last + " = " + type_text(product_type()) +
              "(" + value + ");\n");
  const std::string z = kernel.pointer(z_, result_type());
  if (expression_ != nullptr) {
    last = write_expression(kernel, *expression_, args_, i, last);
  }
  kernel.body("    " + z + "[" + i + "] = " + last + ";\n");
}

}  // namespace traingraph::cuda
