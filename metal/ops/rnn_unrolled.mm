// SPDX-License-Identifier: MIT
#import "metal/ops/rnn_unrolled.h"

#import "metal/ops/elementwise_activation.h"
#import "metal/ops/layout_moves.h"
#import "metal/ops/matmul_product.h"

namespace traingraph::metal {

UnrolledCell::UnrolledCell(GraphBuilder& b)
    : RnnNode(b),
      f_(gate_activations(attrs())),
      blocks_(gate_blocks(attrs())),
      is_reverse_(is_reverse(attrs())),
      mask_(input(Operand::Mask)),
      lengths_(input(Operand::Lengths)) {}

void UnrolledCell::run() {
  using enum Operand;
  const bool has_cell = op_.input(InitialCell) >= 0;
  RnnState state{input_or_zeros(InitialState),
                 has_cell ? input_or_zeros(InitialCell) : nil};
  const auto count = static_cast<std::size_t>(size_.steps);
  std::vector<T> hidden(count), cells(count), gates(count);
  for (std::int64_t i = 0; i < size_.steps; ++i) {
    const std::int64_t step = at(i);
    const auto s = static_cast<std::size_t>(step);
    GateList saved(blocks_.size());
    const RnnState next = compute(step_of(X, step), state, saved);
    T takes_part = has_step(step);
    hidden[s] = where(takes_part, next.h);
    gates[s] = where(takes_part, join_gates(saved));
    state.h = where(takes_part, next.h, state.h);
    if (!has_cell) continue;
    cells[s] = where(takes_part, next.c);
    state.c = where(takes_part, next.c, state.c);
  }
  set(join(hidden, 0), Hidden);
  set(join(gates, 0), Operand::Gates);
  set(state.h, LastHidden);
  if (!has_cell) return;
  set(join(cells, 0), Cells);
  set(state.c, LastCell);
}

void UnrolledCell::run_gradient() {
  using enum Operand;
  const bool has_cell = differentiates(InitialCell);
  RnnState d{input_or_zeros(LastHidden, true),
             has_cell ? input_or_zeros(LastCell, true) : nil};
  T dweights = nil, dmask = nil;
  std::vector<T> dx(static_cast<std::size_t>(size_.steps));
  for (std::int64_t i = size_.steps - 1; i >= 0; --i) {
    const std::int64_t step = at(i);
    T takes_part = has_step(step);
    const RnnStepGradient back =
        differentiate(i, {sum(d.h, step_gradient(Hidden, step)), d.c});
    dx[static_cast<std::size_t>(step)] = back.gates;
    dweights = sum(dweights, back.weights);
    dmask = sum(dmask, b_.mul(back.product, state_before(i)));
    d.h = where(takes_part, sum(back.direct, masked(back.product)), d.h);
    if (has_cell) d.c = where(takes_part, back.cell, d.c);
  }
  set(join(dx, 0), X);
  set(dweights, Weights);
  set(d.h, InitialState);
  set(dmask, Mask);
  if (has_cell) set(d.c, InitialCell);
  finish_gradient();
}

T UnrolledCell::step_of(T x, std::int64_t step) {
  const Shape shape{size_.samples, [[[x shape] lastObject] longLongValue]};
  return b_.reshape(slice_axis(b_, x, 0, step, 1), shape);
}

T UnrolledCell::step_gradient(Operand operand, std::int64_t step) {
  return has(operand, true) ? step_of(input(operand, true), step) : nil;
}

T UnrolledCell::gate_of(T x, int q) {
  return blocks_of(x, static_cast<int>([[x shape] count]) - 1, blocks_[q]);
}

T UnrolledCell::join_gates(const GateList& gates) {
  GateList blocks(gates.size());
  for (std::size_t q = 0; q < gates.size(); ++q) blocks[blocks_[q]] = gates[q];
  return join(blocks, 1);
}

/// Steps on a new axis 0, or blocks of gates on axis 1.
T UnrolledCell::join(std::span<const T> parts, int axis) {
  NSMutableArray<MPSGraphTensor*>* all = [NSMutableArray array];
  for (T part : parts) {
    if (axis == 0) {
      const Shape shape = shape_of(part);
      part = b_.reshape(part, {1, shape[0], shape[1]});
    }
    [all addObject:part];
  }
  return concatenate(b_, all, axis);
}

T UnrolledCell::has_step(std::int64_t step) {
  if (!lengths_) return nil;
  T later = b_.greater(lengths_, static_cast<double>(step));
  return b_.reshape(later, {size_.samples, 1});
}

T UnrolledCell::product(T x, T y) { return matrix_product(b_, x, y); }

T UnrolledCell::run_gate(int q, T u, GateList& saved) {
  T value = activation_value(b_, f_[q], u);
  saved[q] = saves_value(q) ? value : u;
  return value;
}

T UnrolledCell::value_of(int q, T saved) {
  T own = gate_of(saved, q);
  return saves_value(q) ? own : activation_value(b_, f_[q], own);
}

T UnrolledCell::slope_of(int q, T saved) {
  const ActivationAttrs& f = f_[q];
  if (!saves_value(q)) return activation_slope(b_, f, saved);
  switch (f.type) {
    case ActivationType::Sigmoid:
      return b_.mul(saved, b_.sub(1.0, saved));
    case ActivationType::Tanh:
      return b_.mul(b_.sub(f.a, b_.div(b_.square(saved), f.a)), f.b);
    case ActivationType::HardSigmoid:
      return b_.select(b_.both(b_.greater(saved, 0.0), b_.less(saved, 1.0)),
                       f.a, 0.0, type());
    case ActivationType::ReLU:
      return b_.select(b_.greater(saved, 0.0), 1.0, f.a, type());
    default:
      return b_.scalar(f.type == ActivationType::Linear ? f.a : 1, type());
  }
}

T UnrolledCell::gate_gradient(int q, std::int64_t step, T saved, T d) {
  T all = step_gradient(Operand::Gates, step);
  T more = all ? gate_of(all, q) : nil;
  T slope = slope_of(q, gate_of(saved, q));
  if (!saves_value(q)) return sum(b_.mul(d, slope), more);
  return b_.mul(sum(d, more), slope);
}

RnnStepGradient UnrolledCell::with_product(std::int64_t i, T gates) {
  T a = where(has_step(at(i)), gates);
  return {.gates = a,
          .weights = product(b_.transpose_matrix(a), masked(state_before(i))),
          .product = product(a, input(Operand::Weights))};
}

}  // namespace traingraph::metal
