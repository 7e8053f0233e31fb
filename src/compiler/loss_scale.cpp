// SPDX-License-Identifier: MIT
#include "compiler/loss_scale.h"

#include <cstddef>

#include "formulas/run_time_scalars.h"
#include "graph/op_def.h"

namespace traingraph {

ValueId LossScale::factor() {
  if (factor_ != kNoValue) return factor_;
  Program& program = a_.program;
  const TensorInfo& info = graph_.tensors[graph_.loss_scale];
  ValueId& state = a_.value_of[graph_.loss_scale];
  state = program.add_value(Role::Variable, info.desc, info.name,
                            graph_.loss_scale);
  static_assert(offsetof(formulas::LossScale, factor) == 0);
  const SliceAttrs first{.start = {0}, .end = {1}, .stride = {1}};
  factor_ = program.append_one(OpKind::Slice, first, {state});
  return factor_;
}

ValueId scaled(Program& program, ValueId gradient, ValueId factor) {
  const int rank = program.shape(gradient).rank();
  const ShapeAttrs shape{Shape::filled(rank, 1)};
  const ValueId one = program.append_one(OpKind::Reshape, shape, {factor});
  return program.append_one(OpKind::Binary,
                            ArithmeticAttrs{ArithmeticOperation::Multiply},
                            {gradient, one});
}

ValueId LossScale::applied(ValueId seed) {
  return is_used() ? scaled(a_.program, seed, factor()) : seed;
}

ValueId LossScale::removed(ValueId gradient) {
  if (!is_used()) return gradient;
  Program& program = a_.program;
  if (inverse_ == kNoValue) {
    const FillAttrs one{{1}, 1.0f, DataType::Float32};
    inverse_ = program.append_one(
        OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Divide},
        {program.append_one(OpKind::Fill, one, {}), factor()});
  }
  return scaled(program, gradient, inverse_);
}

}  // namespace traingraph
