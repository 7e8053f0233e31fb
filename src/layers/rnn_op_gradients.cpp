// SPDX-License-Identifier: MIT
// The gradients of Graph's recurrent ops: one gradient op for each direction,
// and one product each for the source and the input weight.
#include "layers/rnn_op.h"

namespace traingraph {
namespace {

class Gradients : RnnOpLowering {
 public:
  using RnnOpLowering::RnnOpLowering;

  void run() {
    using enum RnnInput;
    for (int d = 0; d < directions_; ++d) append_direction(d);
    const ValueId dx = join(dx_, 2);
    if (has(InputWeight)) {
      b_.add_result(matmul(dx, false, input_of(InputWeight), false));
    } else {
      b_.add_result(dx);
    }
    b_.add_result(reshape(join(recurrent_weight_, 0),
                          b_.shape(input_of(RecurrentWeight))));
    if (has(InputWeight)) {
      b_.add_result(
          matmul(as_rows(dx), true, as_rows(input_of(Source)), false));
    }
    if (has(Bias)) b_.add_result(sum_of_rows(dx));
    const bool is_lstm = op_.kind == OpKind::LstmSteps;
    if (is_lstm && has(Peephole)) {
      b_.add_result(reshape(join(peephole_, 0), peephole_shape_));
    }
    if (has(InitState)) b_.add_result(join(state_, 1));
    if (has(InitCell)) b_.add_result(join(cell_, 1));
    if (has(SecondaryBias)) b_.add_result(join(secondary_bias_, 0));
  }

 private:
  void append_direction(int d) {
    using enum RnnInput;
    const ValueId none = kNoValue;
    const ValueId gates = part_of(ZState, d), weight = recurrent_weight(d);
    const ValueId state = part_of(InitState, d), mask = mask_of(d);
    const ValueId sequence = part_of(SourceGradient, d),
                  last = part_of(StateGradient, d);
    const auto append = [&](OpKind kind, std::vector<ValueId> inputs) {
      auto results = b_.append_all(kind, attributes(d), std::move(inputs));
      dx_.push_back(results[0]);
      recurrent_weight_.push_back(results[1]);
      return results;
    };
    if (op_.kind == OpKind::LstmSteps) {
      const auto results =
          append(OpKind::LstmStepsGradient,
                 {gates, part_of(CellOutputFwd, d), none, weight, state,
                  part_of(InitCell, d), part_of(Peephole, d), mask, none,
                  sequence, none, none, last, part_of(CellGradient, d)});
      peephole_.push_back(results[2]);
      state_.push_back(results[3]);
      cell_.push_back(results[4]);
    } else if (op_.kind == OpKind::GruSteps) {
      const auto results =
          append(OpKind::GruStepsGradient,
                 {gates, part_of(OutputFwd, d), weight, state, mask,
                  part_of(SecondaryBias, d), none, sequence, none, last});
      state_.push_back(results[2]);
      secondary_bias_.push_back(results[4]);
    } else {
      const auto results =
          append(OpKind::SingleGateStepsGradient,
                 {gates, weight, state, mask, none, sequence, none, last});
      state_.push_back(results[2]);
    }
  }

  /// (steps, samples, n) -> (steps * samples, n)
  ValueId as_rows(ValueId value) {
    return reshape(value, {steps_ * samples_, b_.shape(value)[2]});
  }

  ValueId sum_of_rows(ValueId value) {
    const std::int64_t columns = b_.shape(value)[2];
    const ValueId sum = b_.append(
        OpKind::Reduce, ReduceAttrs{ReductionType::Sum, {0, 1}}, {value});
    return reshape(sum, {columns});
  }

  std::vector<ValueId> dx_, recurrent_weight_, peephole_, state_, cell_,
      secondary_bias_;
};

}  // namespace

void lower_rnn_gradients(LayerBuilder& builder, const RnnOpLayer& layer) {
  Gradients(builder, layer).run();
}

}  // namespace traingraph
