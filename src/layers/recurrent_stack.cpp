// SPDX-License-Identifier: MIT
// Layers of a recurrent op on top of each other, in one direction or two, as
// the layers LSTM, GRU and RNN have them: sources, states, dropout, results.
// Each layer and direction is one product of all steps' inputs with their
// weights and one op. Ops want the time on axis 0.
#include <string>
#include <utility>

#include "layers/layer_builder.h"
#include "layers/recurrent_lists.h"
#include "ops/rnn_gates.h"
#include "ops/rnn_ops.h"
#include "traingraph/error.h"

namespace traingraph::layers {

using rnn::Operand;

class RecurrentStack {
 public:
  RecurrentStack(LayerBuilder& builder, const Recurrent& layer)
      : b_(builder),
        layer_(layer),
        d_(layer.own().descriptor),
        op_(rnn::op_of(layer.op_)) {}

  void run();

 private:
  /// One layer and direction.
  struct Step {
    std::int64_t set;  // of parameters: see recurrent_lists.h
    bool is_reverse;
    ValueId x;                    // (time, batch, in)
    std::vector<ValueId> states;  // initial ones, (batch, hidden), or none
  };
  /// Appends its op; returns the sequence, then the last states.
  std::vector<ValueId> append(const Step& step);
  ValueId input(Operand operand, const Step& step);
  /// One set of a list of tensors as one value; none when the list is empty.
  ValueId parameter(List list, std::int64_t set);
  void find_sources();
  ValueId states(int source, const char* what);
  [[noreturn]] void fail(std::string what, std::string expected,
                         const Shape& got) const;
  ValueId state_of(ValueId states, std::int64_t index);
  ValueId output(ValueId sequences, ValueId last);
  ValueId stack(std::vector<ValueId> states);
  ValueId drop(ValueId x);
  ValueId join(const std::vector<ValueId>& parts, std::int64_t axis);
  ValueId swap_axes(ValueId x);
  ValueId reshape(ValueId x, const Shape& shape);

  bool has_cell() const { return op_.input(Operand::InitialCell) >= 0; }
  std::size_t num_states() const { return has_cell() ? 2 : 1; }

  LayerBuilder& b_;
  const Recurrent& layer_;
  const LSTMDescriptor& d_;
  const rnn::Op& op_;
  std::vector<ValueId> states_;  // those given
  ValueId lengths_ = kNoValue;
  std::int64_t samples_ = 0;
};

void Recurrent::lower(LayerBuilder& builder) const {
  RecurrentStack(builder, *this).run();
}

void RecurrentStack::run() {
  find_sources();
  ValueId x = b_.source(0);
  if (d_.batch_first) x = swap_axes(x);
  // Last ones of each kind, by layer and direction.
  std::vector<std::vector<ValueId>> all(num_states());
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
      for (std::size_t i = 0; i < num_states(); ++i) {
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

std::vector<ValueId> RecurrentStack::append(const Step& step) {
  std::vector<ValueId> inputs;
  for (const rnn::Slot& slot : op_.inputs) {
    inputs.push_back(input(slot.operand, step));
  }
  const auto results =
      b_.append_all(op_.kind, in_direction(layer_.attributes_, step.is_reverse),
                    std::move(inputs));
  std::vector<ValueId> wanted;
  for (Operand operand :
       {Operand::Hidden, Operand::LastHidden, Operand::LastCell}) {
    const int result = op_.result(operand);
    if (result >= 0) wanted.push_back(results[result]);
  }
  return wanted;
}

ValueId RecurrentStack::input(Operand operand, const Step& step) {
  switch (operand) {
    case Operand::X:
      return b_.append(OpKind::MatMul, MatMulAttrs{.transposes_y = true},
                       {step.x, parameter(kInputWeights, step.set),
                        parameter(kBiases, step.set)});
    case Operand::Weights:
      return parameter(kHiddenWeights, step.set);
    case Operand::InitialState:
      return step.states[0];
    case Operand::InitialCell:
      return step.states[1];
    case Operand::Peephole:
      return parameter(kPeepholeWeights, step.set);
    case Operand::SecondaryBias:
      return parameter(kSecondaryBiases, step.set);
    case Operand::Lengths:
      return lengths_;
    default:
      return kNoValue;
  }
}

ValueId RecurrentStack::parameter(List list, std::int64_t set) {
  const std::vector<TensorParameter>& all = layer_.own().lists[list];
  if (all.empty()) return kNoValue;
  const auto count = static_cast<std::int64_t>(all.size()) / num_sets(d_);
  const Shape shape =
      shape_of(list, d_, set, gates_of(list, op_.num_gates) / count);
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(set * count + i);
    parts.push_back(b_.variable(all[at].tensor(), shape, kListNames[list]));
  }
  return join(parts, 0);
}

void RecurrentStack::find_sources() {
  const auto most = static_cast<int>(num_states());
  b_.require_sources(1, 2 + most);
  int count = b_.num_sources();
  if (count > 1 && b_.desc(b_.source(count - 1)).data_type == DataType::Int32) {
    lengths_ = b_.source(--count);
  }
  if (count > 1 + most) b_.require_sources(1, 1 + most);  // throws
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
    states_.push_back(states(i, i == 2       ? "the initial cell"
                                : has_cell() ? "the initial hidden state"
                                             : "the initial state"));
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
