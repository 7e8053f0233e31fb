// SPDX-License-Identifier: MIT
// Programs of single nodes, and what recognize_layers() makes of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/passes/recognize_layers.h"
#include "compiler/passes/remove_dead_nodes.h"
#include "graph/op_def.h"
#include "graph/verify.h"

namespace traingraph {

class RecognizeLayers : public ::testing::Test {
 protected:
  using Names = std::vector<std::string>;

  ValueId input(Shape shape, DataType type = DataType::Float32) {
    return program().add_value(Role::Input, {shape, type}, "x");
  }
  ValueId append(OpKind op, Attributes attrs, std::vector<ValueId> inputs) {
    const std::string name =
        std::string(op_def(op).name) + std::to_string(++num_nodes_);
    return program().append_one(op, std::move(attrs), std::move(inputs), name);
  }
  ValueId binary(ArithmeticOperation operation, ValueId x, ValueId y) {
    return append(OpKind::Binary, ArithmeticAttrs{operation}, {x, y});
  }
  ValueId add(ValueId x, ValueId y) {
    return binary(ArithmeticOperation::Add, x, y);
  }
  ValueId multiply(ValueId x, ValueId y) {
    return binary(ArithmeticOperation::Multiply, x, y);
  }
  ValueId unary(ArithmeticOperation operation, ValueId x) {
    return append(OpKind::Unary, ArithmeticAttrs{operation}, {x});
  }
  ValueId number(float value) {
    return append(OpKind::Fill, FillAttrs{.shape = {1}, .value = value}, {});
  }
  ValueId activation(ActivationType type, ValueId x) {
    return append(OpKind::Activation, ActivationAttrs{.type = type}, {x});
  }
  ValueId line(float a, float b, ValueId x) {
    return append(
        OpKind::Activation,
        ActivationAttrs{.type = ActivationType::Linear, .a = a, .b = b}, {x});
  }
  ValueId reshape(ValueId x, Shape shape) {
    return append(OpKind::Reshape, ShapeAttrs{shape}, {x});
  }
  ValueId transpose(ValueId x, Shape axes) {
    return append(OpKind::Transpose, TransposeAttrs{axes}, {x});
  }
  ValueId matmul(ValueId x, ValueId y, MatMulAttrs attrs = {}) {
    return append(OpKind::MatMul, attrs, {x, y});
  }
  ValueId mean(ValueId x, Shape axes) {
    return append(OpKind::Reduce, ReduceAttrs{ReductionType::Mean, axes}, {x});
  }
  ValueId softmax(ValueId x, std::int64_t axis) {
    return append(OpKind::Softmax, SoftmaxAttrs{.axis = axis}, {x});
  }
  /// Reads the value in another way, so that it stays.
  void read(ValueId x) { unary(ArithmeticOperation::Cos, x); }

  /// The ops in order, after the pass.
  Names ops(std::vector<ValueId> named) {
    recognize_layers(MergedGraph{}, named, a_);
    verify(program());
    remove_dead_nodes(program(), named);
    Names names;
    for (const Node& node : program().nodes()) names.push_back(node.op->name);
    return names;
  }
  Program& program() { return a_.program; }
  const std::vector<Rewrite>& rewrites() const { return a_.rewrites; }
  const Node& maker(ValueId value) {
    return program().node(program().value(value).producer);
  }
  template <class Attrs>
  const Attrs& attrs(ValueId value) {
    return std::get<Attrs>(maker(value).attrs);
  }

  /// (x - mean) / sqrt(variance + epsilon)
  ValueId written_out_norm(ValueId x, Shape axes, bool by_rsqrt) {
    const ValueId d = binary(ArithmeticOperation::Subtract, x, mean(x, axes));
    const ValueId variance = mean(multiply(d, d), axes);
    const ValueId shifted = add(variance, number(1e-3f));
    if (by_rsqrt) {
      return multiply(d, unary(ArithmeticOperation::Rsqrt, shifted));
    }
    return binary(ArithmeticOperation::Divide, d,
                  unary(ArithmeticOperation::Sqrt, shifted));
  }

  struct Heads {
    ValueId query, key, value;
  };
  /// (2, heads, length, width) of (2, length, heads * width)
  Heads heads() {
    const auto split = [&](ValueId x) {
      return transpose(reshape(x, {2, 5, 3, 4}), {0, 2, 1, 3});
    };
    const ValueId q = input({2, 5, 12}), k = input({2, 5, 12}),
                  v = input({2, 5, 12});
    return {split(q), split(k), split(v)};
  }

 private:
  Assembled a_;
  int num_nodes_ = 0;
};

}  // namespace traingraph
