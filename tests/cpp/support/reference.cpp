// SPDX-License-Identifier: MIT
#include "support/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/op_def.h"
#include "graph/tensor_state.h"
#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

double dot(const RefTensor& x, const RefTensor& y) {
  if (x.shape != y.shape) {
    throw InternalError("a seed of shape " + y.shape.to_string() +
                        " for a result of shape " + x.shape.to_string());
  }
  double sum = 0;
  for (std::size_t i = 0; i < x.data.size(); ++i) sum += x.data[i] * y.data[i];
  return sum;
}

/// d f(x) / d x, one element after the other.
RefTensor central_differences(
    RefTensor x, const std::function<double(const RefTensor&)>& f) {
  RefTensor gradient = zeros(x.shape);
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    const double center = x.data[i];
    const double step = difference_step(center);
    x.data[i] = center + step;
    const double above = f(x);
    x.data[i] = center - step;
    const double below = f(x);
    x.data[i] = center;
    gradient.data[i] = (above - below) / (2 * step);
  }
  return gradient;
}

}  // namespace

RefTensor filled(const Shape& shape, double value) {
  const auto count = static_cast<std::size_t>(shape.num_elements());
  return {shape, std::vector<double>(count, value)};
}

RefTensors evaluate(OpKind op, const Attributes& attrs, RefTensors& inputs) {
  const std::size_t num_slots = op_def(op).inputs.size();
  if (inputs.size() < num_slots) inputs.resize(num_slots);
  switch (op) {
#define OP(Kind, name, Attrs) \
  case OpKind::Kind:          \
    return reference_##name(std::get<Attrs>(attrs), inputs);
#include "traingraph/ops.inc"
#undef OP
    default:
      throw InternalError("not an op of a device");
  }
}

RefTensors evaluate(const Node& node, RefTensors& inputs) {
  return evaluate(node.op->kind, node.attrs, inputs);
}

RefValues evaluate_program(const Program& program, RefValues values) {
  for (const Node& node : program.nodes()) {
    RefTensors inputs;
    for (ValueId id : node.inputs) {
      if (id != kNoValue && !values.contains(id)) {
        throw InternalError("the reference has no contents of \"" +
                            program.value(id).name + "\"");
      }
      inputs.push_back(id == kNoValue ? RefTensor{} : values.at(id));
    }
    const RefTensors results = evaluate(node, inputs);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      values[node.outputs[i]] = results.at(i);
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || program.value(id).role != Role::Variable) continue;
      values[id] = inputs[i];
    }
  }
  return values;
}

RefTensor numerical_gradient(OpKind op, const Attributes& attrs,
                             const RefTensors& inputs, int input,
                             const RefTensor& seed, int result) {
  return central_differences(inputs.at(input), [&](const RefTensor& x) {
    RefTensors changed = inputs;
    changed[input] = x;
    return dot(evaluate(op, attrs, changed).at(result), seed);
  });
}

RefTensor numerical_gradient(const Program& program, const RefValues& values,
                             ValueId input, ValueId result,
                             const RefTensor& seed) {
  return central_differences(values.at(input), [&](const RefTensor& x) {
    RefValues changed = values;
    changed[input] = x;
    return dot(evaluate_program(program, changed).at(result), seed);
  });
}

Shape broadcast(const Shape& x, const Shape& y) {
  const int rank = std::max(x.rank(), y.rank());
  Shape result = Shape::filled(rank, 1);
  for (const Shape& shape : {x, y}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      std::int64_t& size = result[rank - shape.rank() + axis];
      if (shape[axis] != 1) size = shape[axis];
    }
  }
  return result;
}

Shape source_of(const Shape& x, const Shape& position) {
  Shape source;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t at = position[position.rank() - x.rank() + axis];
    source.push_back(x[axis] == 1 ? 0 : at);
  }
  return source;
}

RefTensor expand(const RefTensor& x, const Shape& shape) {
  RefTensor result = zeros(shape);
  for_each_position(shape, [&](const Shape& position) {
    result(position) = read_broadcast(x, position);
  });
  return result;
}

double difference_step(double x) { return 1e-5 * std::max(1.0, std::abs(x)); }

}  // namespace traingraph::testing
