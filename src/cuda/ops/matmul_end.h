// SPDX-License-Identifier: MIT
// What becomes of the sums of a product: alpha and the bias, then the next
// activation or cast, or the element-wise nodes that were joined with it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cuda/code/kernel_writer.h"
#include "lowering/expression.h"

namespace traingraph::cuda {

class ProductEnd {
 public:
  /// Takes the activation or the cast that is joined with a MatMul node.
  explicit ProductEnd(UnitBuilder& unit);
  explicit ProductEnd(Expression& expression);

  UnitBuilder& product() const { return product_; }
  /// The builder of the unit's result.
  UnitBuilder& result() const { return result_; }

  /// Asks for the arguments. The result may overwrite what is read with the
  /// sums, unless they are `stored` there first.
  void read(bool is_stored = false);
  int x() const { return x_; }
  int y() const { return y_; }
  int z() const { return z_; }
  DataType result_type() const { return result_.result_desc().data_type; }
  /// Of what the product's own node makes.
  DataType product_type() const { return product_.result_desc().data_type; }

  // For who does this for us: what is left is less from then on.
  float take_alpha() { return std::exchange(alpha_, 1); }
  /// -1: there is none of this type.
  int take_bias(DataType type);
  bool take_relu();
  bool is_over() const {
    return alpha_ == 1 && bias_ < 0 && activation_.empty() &&
           expression_ == nullptr;
  }

  /// Writes lines that store what becomes of `sum` as element `i`.
  void write(KernelWriter& kernel, const std::string& sum, const std::string& i,
             const std::string& column) const;

 private:
  UnitBuilder& product_;
  UnitBuilder& result_;
  Expression* expression_ = nullptr;
  float alpha_;
  std::string activation_;
  bool is_relu_ = false;
  int x_ = -1, y_ = -1, bias_ = -1, z_ = -1;
  std::vector<int> args_;  // of the expression
};

}  // namespace traingraph::cuda
