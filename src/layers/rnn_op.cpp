// SPDX-License-Identifier: MIT
#include "layers/rnn_op.h"

#include <utility>

#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::array<const char*, kNumRnnInputs> kNames{
    "source",          "recurrent_weight", "input_weight", "bias",
    "init_state",      "init_cell",        "mask",         "peephole",
    "secondary_bias",  "source_gradient",  "z_state",      "output_fwd",
    "cell_output_fwd", "state_gradient",   "cell_gradient"};

const char* name_of(RnnInput input) {
  return kNames[static_cast<std::size_t>(input)];
}

/// Can `shape` be repeated to `to`?
bool broadcasts(const Shape& shape, const Shape& to) {
  if (shape.rank() > to.rank()) return false;
  const int missing = to.rank() - shape.rank();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1 && shape[i] != to[missing + i]) return false;
  }
  return true;
}

class Forward : RnnOpLowering {
 public:
  using RnnOpLowering::RnnOpLowering;

  void run() {
    const ValueId projected = project();
    std::vector<ValueId> hidden, cells, gates;
    for (int d = 0; d < directions_; ++d) {
      const auto results =
          b_.append_all(op_.kind, attributes(d),
                        inputs(part_of(projected, /*axis=*/2, d), d));
      const bool has_cells = op_.kind == OpKind::LstmSteps;
      hidden.push_back(results[0]);
      if (has_cells) cells.push_back(results[1]);
      gates.push_back(results[has_cells ? 2 : 1]);
    }
    b_.add_result(join(hidden, 2));
    if (op_.produces_cell) b_.add_result(join(cells, 2));
    if (op_.is_training) b_.add_result(join(gates, 2));
  }

 private:
  /// The source times its weights, with the bias.
  ValueId project() {
    const ValueId source = input_of(RnnInput::Source);
    const ValueId bias = input_of(RnnInput::Bias);
    if (has(RnnInput::InputWeight)) {
      return matmul(source, false, input_of(RnnInput::InputWeight), true, bias);
    }
    if (bias == kNoValue) return source;
    return b_.append(OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Add},
                     {source, bias});
  }

  std::vector<ValueId> inputs(ValueId x, int d) {
    using enum RnnInput;
    const ValueId weight = recurrent_weight(d);
    const ValueId state = part_of(InitState, d), mask = mask_of(d);
    switch (op_.kind) {
      case OpKind::LstmSteps:
        return {
            x,    weight,  state, part_of(InitCell, d), part_of(Peephole, d),
            mask, kNoValue};
      case OpKind::GruSteps:
        return {x, weight, state, mask, part_of(SecondaryBias, d), kNoValue};
      default:
        return {x, weight, state, mask, kNoValue};
    }
  }
};

}  // namespace

RnnOpLayer::RnnOpLayer(RnnOp op) : Layer(op.name), op_(std::move(op)) {}

void RnnOpLayer::add(RnnInput input, const Tensor& tensor, bool is_required) {
  if (tensor) {
    inputs_.push_back(input);
    sources_.push_back(tensor);
    return;
  }
  if (!is_required) return;
  throw InvalidArgument(
      ErrorInfo{.op = op_.name,
                .node = label(),
                .what = std::string(name_of(input)) + " is missing",
                .expected = "a tensor",
                .got = "none",
                .hint = {}});
}

void RnnOpLayer::lower(LayerBuilder& builder) const {
  if (op_.is_gradient) return lower_rnn_gradients(builder, *this);
  Forward(builder, *this).run();
}

RnnOpLowering::RnnOpLowering(LayerBuilder& builder, const RnnOpLayer& layer)
    : b_(builder), op_(layer.op()), directions_(op_.is_bidirectional ? 2 : 1) {
  inputs_.fill(kNoValue);
  for (std::size_t i = 0; i < layer.inputs().size(); ++i) {
    inputs_[static_cast<std::size_t>(layer.inputs()[i])] =
        b_.source(static_cast<int>(i));
  }
  find_sizes();
  check_shapes();
}

void RnnOpLowering::find_sizes() {
  const Shape& weight = b_.shape(input_of(RnnInput::RecurrentWeight));
  const int rank = op_.is_bidirectional ? 3 : 2;
  const std::string gates =
      op_.num_gates == 1 ? "H" : std::to_string(op_.num_gates) + " H";
  if (weight.rank() != rank ||
      weight[rank - 2] != op_.num_gates * weight[rank - 1] ||
      (rank == 3 && weight[0] != 2)) {
    fail(RnnInput::RecurrentWeight,
         (rank == 3 ? "(2, " : "(") + gates + ", H)" +
             (rank == 3 ? ": it is bidirectional" : ""));
  }
  hidden_ = weight[rank - 1];
  const Shape& source = b_.shape(input_of(RnnInput::Source));
  if (source.rank() != 3) fail(RnnInput::Source, "(steps, samples, features)");
  steps_ = source[0];
  samples_ = source[1];
}

void RnnOpLowering::check_shapes() {
  using enum RnnInput;
  const std::int64_t all = directions_ * op_.num_gates * hidden_;
  const std::int64_t width = directions_ * hidden_;
  const Shape& source = b_.shape(input_of(Source));
  if (has(InputWeight)) {
    require(InputWeight, {all, source[2]});
  } else if (source[2] != all) {
    fail(
        Source, Shape{steps_, samples_, all}.to_string(),
        "Without an input weight the source holds the arguments of all gates.");
  }
  for (RnnInput input : {Bias, SecondaryBias}) {
    if (has(input)) require(input, {input == Bias ? all : width});
  }
  for (RnnInput input : {InitState, InitCell, StateGradient, CellGradient}) {
    if (has(input)) require(input, {samples_, width});
  }
  for (RnnInput input : {SourceGradient, OutputFwd, CellOutputFwd}) {
    if (has(input)) require(input, {steps_, samples_, width});
  }
  if (has(ZState)) require(ZState, {steps_, samples_, all});
  if (has(Peephole)) {
    peephole_shape_ = b_.shape(input_of(Peephole));
    fit(Peephole, {all});
  }
  if (has(Mask)) fit(Mask, {samples_, width});
}

/// The mask may be smaller, peepholes of two directions (2, 4 H).
void RnnOpLowering::fit(RnnInput input, const Shape& shape) {
  ValueId& value = inputs_[static_cast<std::size_t>(input)];
  const Shape given = b_.shape(value);
  if (given == shape) return;
  if (input == RnnInput::Mask && broadcasts(given, shape)) return;
  if (input == RnnInput::Peephole && op_.is_bidirectional &&
      given == Shape{2, shape[0] / 2}) {
    value = reshape(value, shape);
  } else {
    require(input, shape);
  }
}

void RnnOpLowering::require(RnnInput input, const Shape& shape) const {
  if (b_.shape(input_of(input)) != shape) fail(input, shape.to_string());
}

void RnnOpLowering::fail(RnnInput input, std::string expected,
                         std::string hint) const {
  throw ShapeError(
      {.op = op_.name,
       .node = b_.name(),
       .what = std::string(name_of(input)) + " has the wrong shape",
       .expected = std::move(expected),
       .got = b_.shape(input_of(input)).to_string(),
       .hint = std::move(hint)});
}

ValueId RnnOpLowering::part_of(RnnInput input, int direction) {
  const ValueId value = input_of(input);
  if (value == kNoValue) return kNoValue;
  return part_of(value, b_.shape(value).rank() - 1, direction);
}

/// Each direction repeats its own part, so that what is repeated has one reader
/// and follows the batch.
ValueId RnnOpLowering::mask_of(int direction) {
  const ValueId mask = input_of(RnnInput::Mask);
  if (mask == kNoValue) return kNoValue;
  const Shape given = b_.shape(mask);
  const bool is_whole = given[given.rank() - 1] == directions_ * hidden_;
  const ValueId part = is_whole ? part_of(RnnInput::Mask, direction) : mask;
  const Shape shape{samples_, hidden_};
  if (b_.shape(part) == shape) return part;
  return b_.append(OpKind::BroadcastTo, ShapeAttrs{shape}, {part});
}

ValueId RnnOpLowering::part_of(ValueId value, int axis, int direction) {
  if (directions_ == 1) return value;
  const Shape shape = b_.shape(value);
  const std::int64_t size = shape[axis] / 2;
  SliceAttrs attrs{.start = Shape::filled(shape.rank(), 0),
                   .end = shape,
                   .stride = Shape::filled(shape.rank(), 1)};
  attrs.start[axis] = direction * size;
  attrs.end[axis] = (direction + 1) * size;
  return b_.append(OpKind::Slice, attrs, {value});
}

ValueId RnnOpLowering::recurrent_weight(int direction) {
  const ValueId weight =
      part_of(input_of(RnnInput::RecurrentWeight), /*axis=*/0, direction);
  return reshape(weight, {op_.num_gates * hidden_, hidden_});
}

Attributes RnnOpLowering::attributes(int direction) const {
  const bool reverse = op_.is_bidirectional ? direction == 1 : op_.is_reverse;
  Attributes attrs = op_.attrs;
  if (auto* lstm = std::get_if<LstmAttrs>(&attrs)) lstm->reverse = reverse;
  if (auto* gru = std::get_if<GruAttrs>(&attrs)) gru->reverse = reverse;
  if (auto* single = std::get_if<SingleGateAttrs>(&attrs)) {
    single->reverse = reverse;
  }
  return attrs;
}

ValueId RnnOpLowering::join(const std::vector<ValueId>& parts,
                            std::int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return b_.append(OpKind::Concatenate, AxisAttrs{axis}, parts);
}

ValueId RnnOpLowering::reshape(ValueId value, const Shape& shape) {
  if (b_.shape(value) == shape) return value;
  return b_.append(OpKind::Reshape, ShapeAttrs{shape}, {value});
}

ValueId RnnOpLowering::matmul(ValueId x, bool transposes_x, ValueId y,
                              bool transposes_y, ValueId bias) {
  return b_.append(
      OpKind::MatMul,
      MatMulAttrs{.transposes_x = transposes_x, .transposes_y = transposes_y},
      {x, y, bias});
}

}  // namespace traingraph
