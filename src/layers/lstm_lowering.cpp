// SPDX-License-Identifier: MIT
// An LSTM layer is, for each layer and direction, one product of all steps'
// inputs with their weights and one lstm op. Ops want the time on axis 0.
#include <utility>

#include "layers/layer_builder.h"
#include "layers/lstm_parameters.h"
#include "ops/rnn_gates.h"
#include "traingraph/error.h"

namespace traingraph::layers {
namespace {

LstmAttrs attributes_of(const std::vector<ActivationDescriptor>& gates,
                        const ActivationDescriptor& cell, bool reverse) {
  return {.reverse = reverse,
          .output_peephole_reads_new_cell = true,
          .input_gate_activation = gates[kInputGate].activation_type,
          .input_gate_a = gates[kInputGate].a,
          .input_gate_b = gates[kInputGate].b,
          .forget_gate_activation = gates[kForgetGate].activation_type,
          .forget_gate_a = gates[kForgetGate].a,
          .forget_gate_b = gates[kForgetGate].b,
          .cell_gate_activation = gates[kCellGate].activation_type,
          .cell_gate_a = gates[kCellGate].a,
          .cell_gate_b = gates[kCellGate].b,
          .output_gate_activation = gates[kOutputGate].activation_type,
          .output_gate_a = gates[kOutputGate].a,
          .output_gate_b = gates[kOutputGate].b,
          .activation = cell.activation_type,
          .activation_a = cell.a,
          .activation_b = cell.b};
}

/// The ops of one node.
class Lowering {
 public:
  Lowering(LayerBuilder& builder, const LSTM& layer)
      : b_(builder), layer_(layer), d_(layer.descriptor()) {}

  void run() {
    find_sources();
    ValueId x = b_.source(0);
    if (d_.batch_first) x = swap_axes(x);
    std::vector<ValueId> hidden, cells;  // last ones, by layer and direction
    ValueId top = kNoValue;
    for (std::int64_t layer = 0; layer < d_.layer_count; ++layer) {
      std::vector<ValueId> outputs, lasts;
      for (std::int64_t direction = 0; direction < d_.num_directions();
           ++direction) {
        const auto results = add_op(x, layer, direction);
        outputs.push_back(results[0]);
        lasts.push_back(results[3]);
        hidden.push_back(results[3]);
        cells.push_back(results[4]);
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
    b_.add_result(stack(hidden));
    b_.add_result(stack(cells));
  }

 private:
  void find_sources() {
    b_.require_sources(1, 4);
    int count = b_.num_sources();
    if (count > 1 &&
        b_.desc(b_.source(count - 1)).data_type == DataType::Int32) {
      lengths_ = b_.source(--count);
    }
    if (count > 3) b_.require_sources(1, 3);  // throws
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
    if (count > 1) state_ = states(1, "the initial hidden state");
    if (count > 2) cell_ = states(2, "the initial cell");
  }

  /// A source with the states of all layers and directions as (all, samples,
  /// hidden).
  ValueId states(int source, const char* what) {
    const ValueId value = b_.source(source);
    const Shape full{d_.layer_count, d_.num_directions(), samples_,
                     d_.hidden_size};
    const Shape flat{num_sets(d_), samples_, d_.hidden_size};
    if (b_.shape(value) == flat) return value;
    if (b_.shape(value) == full) return reshape(value, flat);
    fail(std::string(what) + " has the wrong shape",
         full.to_string() + " or " + flat.to_string(), b_.shape(value));
  }

  [[noreturn]] void fail(std::string what, std::string expected,
                         const Shape& got) const {
    throw ShapeError({.op = "node",
                      .node = b_.name(),
                      .what = std::move(what),
                      .expected = std::move(expected),
                      .got = got.to_string(),
                      .hint = {}});
  }

  std::vector<ValueId> add_op(ValueId x, std::int64_t layer,
                              std::int64_t direction) {
    const std::int64_t set = direction * d_.layer_count + layer;
    const auto parameter = [&](const Kind& kind,
                               const std::vector<TensorParameter>& list) {
      return this->parameter(kind, list, set);
    };
    const ValueId product = b_.append(
        OpKind::MatMul, MatMulAttrs{.transposes_y = true},
        {x, parameter(kInputWeights, layer_.input_weights_parameters()),
         parameter(kBiases, layer_.biases_parameters())});
    const std::int64_t index = layer * d_.num_directions() + direction;
    return b_.append_all(
        OpKind::Lstm,
        attributes_of(layer_.gate_activations(),
                      layer_.output_result_activation(),
                      /*reverse=*/direction == 1),
        {product, parameter(kHiddenWeights, layer_.hidden_weights_parameters()),
         state_of(state_, index), state_of(cell_, index),
         parameter(kPeepholeWeights, layer_.peephole_weights_parameters()),
         kNoValue, lengths_});
  }

  /// All gates of a set in one value; none when the list is empty.
  ValueId parameter(const Kind& kind, const std::vector<TensorParameter>& list,
                    std::int64_t set) {
    if (list.empty()) return kNoValue;
    const auto count = static_cast<std::int64_t>(list.size()) / num_sets(d_);
    const Shape shape = shape_of(kind, d_, set, kNumLstmGates / count);
    std::vector<ValueId> parts;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(set * count + i);
      parts.push_back(b_.variable(list[at].tensor(), shape, kind.name));
    }
    return join(parts, 0);
  }

  ValueId state_of(ValueId states, std::int64_t index) {
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

  ValueId output(ValueId sequences, ValueId last) {
    if (d_.returns_sequences) {
      return d_.batch_first ? swap_axes(sequences) : sequences;
    }
    const std::int64_t width = d_.num_directions() * d_.hidden_size;
    return reshape(last, d_.batch_first ? Shape{samples_, 1, width}
                                        : Shape{1, samples_, width});
  }

  /// (layers, directions, samples, hidden)
  ValueId stack(std::vector<ValueId> states) {
    for (ValueId& state : states) {
      state = reshape(state, {1, samples_, d_.hidden_size});
    }
    return reshape(join(states, 0), {d_.layer_count, d_.num_directions(),
                                     samples_, d_.hidden_size});
  }

  ValueId drop(ValueId x) {
    const DropoutAttrs attrs{.rate = d_.dropout,
                             .stream = b_.next_random_stream()};
    return b_.append(OpKind::Dropout, attrs, {x, b_.random_state()});
  }
  ValueId join(const std::vector<ValueId>& parts, std::int64_t axis) {
    if (parts.size() == 1) return parts[0];
    return b_.append(OpKind::Concatenate, AxisAttrs{axis}, parts);
  }
  ValueId swap_axes(ValueId x) {
    return b_.append(OpKind::Transpose, TransposeAttrs{{1, 0, 2}}, {x});
  }
  ValueId reshape(ValueId x, const Shape& shape) {
    return b_.append(OpKind::Reshape, ShapeAttrs{shape}, {x});
  }

  LayerBuilder& b_;
  const LSTM& layer_;
  const LSTMDescriptor d_;
  ValueId state_ = kNoValue, cell_ = kNoValue, lengths_ = kNoValue;
  std::int64_t samples_ = 0;
};

}  // namespace

void LSTM::lower(LayerBuilder& builder) const {
  Lowering(builder, *this).run();
}

}  // namespace traingraph::layers
