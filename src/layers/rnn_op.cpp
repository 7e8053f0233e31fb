// SPDX-License-Identifier: MIT
// One op for each direction, forward or gradient, and the products around them.
#include "layers/rnn_op.h"

#include <array>
#include <utility>

#include "ops/rnn_gates.h"
#include "ops/rnn_ops.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// RnnInput is the index.
constexpr std::array kNames{
    "source",          "recurrent_weight", "input_weight", "bias",
    "init_state",      "init_cell",        "mask",         "peephole",
    "secondary_bias",  "source_gradient",  "z_state",      "output_fwd",
    "cell_output_fwd", "state_gradient",   "cell_gradient"};
constexpr std::size_t kNumRnnInputs = kNames.size();

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

/// Lowers one node.
class RnnOpLowering {
 public:
  RnnOpLowering(LayerBuilder& builder, const RnnOpLayer& layer);
  void run();
  void run_gradients();

 private:
  using Operand = rnn::Operand;

  bool has(RnnInput input) const { return input_of(input) != kNoValue; }
  ValueId input_of(RnnInput input) const {
    return inputs_[static_cast<std::size_t>(input)];
  }
  /// The part of an input that a direction has; kNoValue: it is absent.
  ValueId mask_of(int direction);
  ValueId part_of(RnnInput input, int direction);
  /// One of two equal parts of an axis; the whole with one direction.
  ValueId part_of(ValueId value, int axis, int direction);
  ValueId recurrent_weight(int direction);

  /// The source times its weights, with the bias.
  ValueId project();
  /// Appends the op of each direction; `x` is what forward ones read.
  void append(OpKind kind, ValueId x);
  ValueId operand_of(Operand operand, int direction, ValueId x);
  ValueId gradient_of(Operand operand, int direction);
  /// A result of the op of all directions, joined on an axis.
  ValueId result(Operand operand, std::int64_t axis);

  ValueId join(const std::vector<ValueId>& parts, std::int64_t axis);
  ValueId reshape(ValueId value, const Shape& shape);
  ValueId matmul(ValueId x, bool transposes_x, ValueId y, bool transposes_y,
                 ValueId bias = kNoValue);
  /// (steps, samples, n) -> (steps * samples, n)
  ValueId as_rows(ValueId value) {
    return reshape(value, {steps_ * samples_, b_.shape(value)[2]});
  }
  ValueId sum_of_rows(ValueId value);

  void find_sizes();
  void check_shapes();
  void fit(RnnInput input, const Shape& shape);
  void require(RnnInput input, const Shape& shape) const;
  [[noreturn]] void fail(RnnInput input, std::string expected,
                         std::string hint = {}) const;

  LayerBuilder& b_;
  const RnnOp& op_;
  const int num_gates_;
  std::int64_t steps_ = 0, samples_ = 0, hidden_ = 0, directions_ = 1;
  Shape peephole_shape_;  // as it was given
  std::array<ValueId, kNumRnnInputs> inputs_;
  std::vector<std::vector<ValueId>> results_;  // by direction
  OpKind appended_{};
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
                .node = name(),
                .what = std::string(name_of(input)) + " is missing",
                .expected = "a tensor",
                .got = "none",
                .hint = {}});
}

void RnnOpLayer::lower(LayerBuilder& builder) const {
  RnnOpLowering lowering(builder, *this);
  if (op_.is_gradient) return lowering.run_gradients();
  lowering.run();
}

RnnOpLowering::RnnOpLowering(LayerBuilder& builder, const RnnOpLayer& layer)
    : b_(builder),
      op_(layer.op()),
      num_gates_(rnn::op_of(op_.kind).num_gates),
      directions_(op_.is_bidirectional ? 2 : 1) {
  inputs_.fill(kNoValue);
  for (std::size_t i = 0; i < layer.inputs().size(); ++i) {
    inputs_[static_cast<std::size_t>(layer.inputs()[i])] =
        b_.source(static_cast<int>(i));
  }
  find_sizes();
  check_shapes();
}

void RnnOpLowering::run() {
  append(op_.kind, project());
  b_.add_result(result(Operand::Hidden, 2));
  if (op_.produces_cell) b_.add_result(result(Operand::Cells, 2));
  if (op_.is_training) b_.add_result(result(Operand::Gates, 2));
}

/// One product each for the source and the input weight.
void RnnOpLowering::run_gradients() {
  using enum RnnInput;
  append(rnn::op_of(op_.kind).gradient, kNoValue);
  const ValueId dx = result(Operand::X, 2);
  const bool has_weight = has(InputWeight);
  b_.add_result(has_weight ? matmul(dx, false, input_of(InputWeight), false)
                           : dx);
  b_.add_result(reshape(result(Operand::Weights, 0),
                        b_.shape(input_of(RecurrentWeight))));
  if (has_weight) {
    b_.add_result(matmul(as_rows(dx), true, as_rows(input_of(Source)), false));
  }
  if (has(Bias)) b_.add_result(sum_of_rows(dx));
  if (has(Peephole)) {
    b_.add_result(reshape(result(Operand::Peephole, 0), peephole_shape_));
  }
  if (has(InitState)) b_.add_result(result(Operand::InitialState, 1));
  if (has(InitCell)) b_.add_result(result(Operand::InitialCell, 1));
  if (has(SecondaryBias)) b_.add_result(result(Operand::SecondaryBias, 0));
}

ValueId RnnOpLowering::project() {
  const ValueId source = input_of(RnnInput::Source);
  const ValueId bias = input_of(RnnInput::Bias);
  if (has(RnnInput::InputWeight)) {
    return matmul(source, false, input_of(RnnInput::InputWeight), true, bias);
  }
  if (bias == kNoValue) return source;
  return b_.append(OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Add},
                   {source, bias});
}

void RnnOpLowering::append(OpKind kind, ValueId x) {
  appended_ = kind;
  for (int d = 0; d < directions_; ++d) {
    std::vector<ValueId> inputs;
    for (const auto& [operand, is_gradient] : rnn::op_of(kind).inputs) {
      inputs.push_back(is_gradient ? gradient_of(operand, d)
                                   : operand_of(operand, d, x));
    }
    const bool reverse = op_.is_bidirectional ? d == 1 : op_.is_reverse;
    results_.push_back(b_.append_all(kind, in_direction(op_.attrs, reverse),
                                     std::move(inputs)));
  }
}

ValueId RnnOpLowering::operand_of(Operand operand, int d, ValueId x) {
  switch (operand) {
    case Operand::X:
      return part_of(x, /*axis=*/2, d);
    case Operand::Weights:
      return recurrent_weight(d);
    case Operand::InitialState:
      return part_of(RnnInput::InitState, d);
    case Operand::InitialCell:
      return part_of(RnnInput::InitCell, d);
    case Operand::Peephole:
      return part_of(RnnInput::Peephole, d);
    case Operand::Mask:
      return mask_of(d);
    case Operand::SecondaryBias:
      return part_of(RnnInput::SecondaryBias, d);
    case Operand::Hidden:
      return part_of(RnnInput::OutputFwd, d);
    case Operand::Cells:
      return part_of(RnnInput::CellOutputFwd, d);
    case Operand::Gates:
      return part_of(RnnInput::ZState, d);
    default:
      return kNoValue;
  }
}

ValueId RnnOpLowering::gradient_of(Operand operand, int d) {
  switch (operand) {
    case Operand::Hidden:
      return part_of(RnnInput::SourceGradient, d);
    case Operand::LastHidden:
      return part_of(RnnInput::StateGradient, d);
    case Operand::LastCell:
      return part_of(RnnInput::CellGradient, d);
    default:
      return kNoValue;
  }
}

ValueId RnnOpLowering::result(Operand operand, std::int64_t axis) {
  const rnn::Op& op = rnn::op_of(appended_);
  const int i = op.result(operand, op.is_gradient());
  std::vector<ValueId> parts;
  for (const auto& results : results_) parts.push_back(results[i]);
  return join(parts, axis);
}

ValueId RnnOpLowering::sum_of_rows(ValueId value) {
  const std::int64_t columns = b_.shape(value)[2];
  const ValueId sum = b_.append(
      OpKind::Reduce, ReduceAttrs{ReductionType::Sum, {0, 1}}, {value});
  return reshape(sum, {columns});
}

void RnnOpLowering::find_sizes() {
  const Shape& weight = b_.shape(input_of(RnnInput::RecurrentWeight));
  const int rank = op_.is_bidirectional ? 3 : 2;
  const std::string gates =
      num_gates_ == 1 ? "H" : std::to_string(num_gates_) + " H";
  if (weight.rank() != rank ||
      weight[rank - 2] != num_gates_ * weight[rank - 1] ||
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
  const std::int64_t all = directions_ * num_gates_ * hidden_;
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
  return reshape(weight, {num_gates_ * hidden_, hidden_});
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
