// SPDX-License-Identifier: MIT
#include "metal/ops/rnn_pair.h"

#include "graph/op_def.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

/// Half of a value on an axis: the first (0) or the second (1).
struct Half {
  ValueId of = kNoValue;
  int axis = 0, index = 0;
};

const Node* producer_of(const Program& program, ValueId value, OpKind kind) {
  const NodeId producer = program.value(value).producer;
  if (producer < 0 || program.node(producer).op->kind != kind) return nullptr;
  return &program.node(producer);
}

std::optional<Half> half_of(const Program& program, ValueId value) {
  const Node* const slice = producer_of(program, value, OpKind::Slice);
  if (slice == nullptr) return {};
  const auto& attrs = std::get<SliceAttrs>(slice->attrs);
  const Shape& whole = program.shape(slice->inputs[0]);
  std::optional<Half> half;
  for (int axis = 0; axis < whole.rank(); ++axis) {
    if (attrs.stride[axis] != 1) return {};
    const std::int64_t start = attrs.start[axis], end = attrs.end[axis];
    if (start == 0 && end == whole[axis]) continue;
    const std::int64_t size = whole[axis] / 2;
    if (half || end - start != size || start % size != 0) return {};
    half = Half{slice->inputs[0], axis, static_cast<int>(start / size)};
  }
  return half;
}

/// What two values are the first and the second half of, on its last axis or,
/// of weights, on its first one, which the parts have not.
ValueId whole_of(const Program& program, ValueId first, ValueId second,
                 bool are_weights) {
  if (are_weights) {
    const Node* const a = producer_of(program, first, OpKind::Reshape);
    const Node* const b = producer_of(program, second, OpKind::Reshape);
    if (a == nullptr || b == nullptr) return kNoValue;
    first = a->inputs[0];
    second = b->inputs[0];
  }
  const auto a = half_of(program, first), b = half_of(program, second);
  if (!a || !b || a->of != b->of || a->index != 0 || b->index != 1) {
    return kNoValue;
  }
  const Shape& whole = program.shape(a->of);
  const int axis = are_weights ? 0 : whole.rank() - 1;
  const bool is_stacked = !are_weights || (whole.rank() == 3 && whole[0] == 2);
  return a->axis == axis && b->axis == axis && is_stacked ? a->of : kNoValue;
}

bool has_same_inputs(const Program& program, const Node& a, const Node& b) {
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const ValueId x = a.inputs[i], y = b.inputs[i];
    if ((x == kNoValue) != (y == kNoValue)) return false;
    if (x != kNoValue && program.desc(x) != program.desc(y)) return false;
  }
  return true;
}

}  // namespace

std::optional<RnnPair> find_rnn_pair(const Program& program, NodeId reverse,
                                     int weights) {
  const Node& node = program.node(reverse);
  if (!is_reverse(node.attrs)) return {};
  const Attributes wanted = in_direction(node.attrs, /*is_reverse=*/false);
  for (NodeId id = reverse - 1; id >= 0; --id) {
    const Node& other = program.node(id);
    if (other.op != node.op || other.phase != node.phase ||
        other.attrs != wanted || !has_same_inputs(program, other, node)) {
      continue;
    }
    RnnPair pair{.forward = id, .whole = {}};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      pair.whole.push_back(node.inputs[i] == kNoValue
                               ? kNoValue
                               : whole_of(program, other.inputs[i],
                                          node.inputs[i],
                                          static_cast<int>(i) == weights));
    }
    if (pair.whole[static_cast<std::size_t>(weights)] != kNoValue) return pair;
  }
  return {};
}

}  // namespace traingraph::metal
