// SPDX-License-Identifier: MIT
#include "layers/recurrent_stack.h"

#include <utility>

#include "traingraph/error.h"

namespace traingraph::layers {

RecurrentStack::RecurrentStack(LayerBuilder& builder,
                               const LSTMDescriptor& descriptor,
                               std::vector<const char*> state_names)
    : b_(builder), d_(descriptor), state_names_(std::move(state_names)) {}

void RecurrentStack::run() {
  find_sources();
  ValueId x = b_.source(0);
  if (d_.batch_first) x = swap_axes(x);
  // Last ones of each kind, by layer and direction.
  std::vector<std::vector<ValueId>> all(state_names_.size());
  ValueId top = kNoValue;
  for (std::int64_t layer = 0; layer < d_.layer_count; ++layer) {
    std::vector<ValueId> outputs, lasts;
    for (std::int64_t direction = 0; direction < d_.num_directions();
         ++direction) {
      Step step{.set = direction * d_.layer_count + layer,
                .is_reverse = direction == 1,
                .x = x,
                .states = {}};
      const std::int64_t index = layer * d_.num_directions() + direction;
      for (std::size_t i = 0; i < state_names_.size(); ++i) {
        step.states.push_back(i < states_.size() ? state_of(states_[i], index)
                                                 : kNoValue);
      }
      const auto results = append(step);
      outputs.push_back(results[0]);
      lasts.push_back(results[1]);
      for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].push_back(results[1 + i]);
      }
    }
    const bool is_last = layer + 1 == d_.layer_count;
    if (is_last && !d_.returns_sequences) {
      top = join(lasts, 1);
    } else {
      x = join(outputs, 2);
      if (!is_last && d_.dropout > 0) x = drop(x);
    }
  }
  b_.add_result(output(x, top));
  if (d_.result_mode == LSTMResultMode::Output) return;
  for (std::vector<ValueId>& lasts : all) b_.add_result(stack(lasts));
}

ValueId RecurrentStack::parameter(const char* name,
                                  const std::vector<TensorParameter>& list,
                                  std::int64_t set, std::int64_t rows,
                                  std::int64_t columns) {
  if (list.empty()) return kNoValue;
  const auto count = static_cast<std::int64_t>(list.size()) / num_sets(d_);
  const std::int64_t own = rows / count;
  const Shape shape = columns == 0 ? Shape{own} : Shape{own, columns};
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(set * count + i);
    parts.push_back(b_.variable(list[at].tensor(), shape, name));
  }
  return join(parts, 0);
}

ValueId RecurrentStack::product(ValueId x, ValueId weights, ValueId biases) {
  return b_.append(OpKind::MatMul, MatMulAttrs{.transposes_y = true},
                   {x, weights, biases});
}

void RecurrentStack::find_sources() {
  const auto num_states = static_cast<int>(state_names_.size());
  b_.require_sources(1, 2 + num_states);
  int count = b_.num_sources();
  if (count > 1 && b_.desc(b_.source(count - 1)).data_type == DataType::Int32) {
    lengths_ = b_.source(--count);
  }
  if (count > 1 + num_states) b_.require_sources(1, 1 + num_states);  // throws
  const Shape& shape = b_.shape(b_.source(0));
  if (shape.rank() != 3 || shape[2] != d_.input_size) {
    const std::string features = std::to_string(d_.input_size) + ")";
    fail("the source does not fit the layer",
         (d_.batch_first ? "(batch, time, " : "(time, batch, ") + features,
         shape);
  }
  samples_ = shape[d_.batch_first ? 0 : 1];
  if (lengths_ != kNoValue && b_.shape(lengths_) != Shape{samples_}) {
    fail("lengths have the wrong shape", Shape{samples_}.to_string(),
         b_.shape(lengths_));
  }
  for (int i = 1; i < count; ++i) {
    states_.push_back(states(i, state_names_[static_cast<std::size_t>(i - 1)]));
  }
}

/// A source with the states of all layers and directions as (all, samples,
/// hidden).
ValueId RecurrentStack::states(int source, const char* what) {
  const ValueId value = b_.source(source);
  const Shape full{d_.layer_count, d_.num_directions(), samples_,
                   d_.hidden_size};
  const Shape flat{num_sets(d_), samples_, d_.hidden_size};
  if (b_.shape(value) == flat) return value;
  if (b_.shape(value) == full) return reshape(value, flat);
  fail(std::string(what) + " has the wrong shape",
       full.to_string() + " or " + flat.to_string(), b_.shape(value));
}

void RecurrentStack::fail(std::string what, std::string expected,
                          const Shape& got) const {
  throw ShapeError(ErrorInfo{.op = "node",
                             .node = b_.name(),
                             .what = std::move(what),
                             .expected = std::move(expected),
                             .got = got.to_string(),
                             .hint = {}});
}

ValueId RecurrentStack::state_of(ValueId states, std::int64_t index) {
  if (states == kNoValue) return kNoValue;
  const Shape state{samples_, d_.hidden_size};
  if (num_sets(d_) == 1) return reshape(states, state);
  const ValueId slice =
      b_.append(OpKind::Slice,
                SliceAttrs{.start = {index, 0, 0},
                           .end = {index + 1, samples_, d_.hidden_size},
                           .stride = {1, 1, 1}},
                {states});
  return reshape(slice, state);
}

ValueId RecurrentStack::output(ValueId sequences, ValueId last) {
  if (d_.returns_sequences) {
    return d_.batch_first ? swap_axes(sequences) : sequences;
  }
  const std::int64_t width = d_.num_directions() * d_.hidden_size;
  return reshape(last, d_.batch_first ? Shape{samples_, 1, width}
                                      : Shape{1, samples_, width});
}

/// (layers, directions, samples, hidden)
ValueId RecurrentStack::stack(std::vector<ValueId> states) {
  for (ValueId& state : states) {
    state = reshape(state, {1, samples_, d_.hidden_size});
  }
  return reshape(join(states, 0), {d_.layer_count, d_.num_directions(),
                                   samples_, d_.hidden_size});
}

ValueId RecurrentStack::drop(ValueId x) {
  const DropoutAttrs attrs{.rate = d_.dropout,
                           .stream = b_.next_random_stream()};
  return b_.append(OpKind::Dropout, attrs, {x, b_.random_state()});
}

ValueId RecurrentStack::join(const std::vector<ValueId>& parts,
                             std::int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return b_.append(OpKind::Concatenate, AxisAttrs{axis}, parts);
}

ValueId RecurrentStack::swap_axes(ValueId x) {
  return b_.append(OpKind::Transpose, TransposeAttrs{{1, 0, 2}}, {x});
}

ValueId RecurrentStack::reshape(ValueId x, const Shape& shape) {
  return b_.append(OpKind::Reshape, ShapeAttrs{shape}, {x});
}

}  // namespace traingraph::layers
