// SPDX-License-Identifier: MIT
// An LSTM layer is, for each layer and direction, one product of all steps'
// inputs with their weights and one lstm op. Ops want the time on axis 0.
#include "layers/recurrent_stack.h"
#include "ops/rnn_gates.h"

namespace traingraph::layers {
namespace {

LstmAttrs attributes_of(const std::vector<ActivationDescriptor>& gates,
                        const ActivationDescriptor& cell, bool reverse,
                        bool has_peephole) {
  return {.reverse = reverse,
          .output_peephole_reads_new_cell = has_peephole,
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

class Lowering : public RecurrentStack {
 public:
  Lowering(LayerBuilder& builder, const LSTM& layer)
      : RecurrentStack(builder, layer.descriptor(),
                       {"the initial hidden state", "the initial cell"}),
        layer_(layer) {}

 private:
  std::vector<ValueId> append(const Step& step) override {
    const auto parameter = [&](const Kind& kind,
                               const std::vector<TensorParameter>& list) {
      const Shape shape = shape_of(kind, descriptor(), step.set, kNumLstmGates);
      return RecurrentStack::parameter(kind.name, list, step.set, shape[0],
                                       shape.rank() == 1 ? 0 : shape[1]);
    };
    const ValueId x = product(
        step.x, parameter(kInputWeights, layer_.input_weights_parameters()),
        parameter(kBiases, layer_.biases_parameters()));
    const ValueId peephole =
        parameter(kPeepholeWeights, layer_.peephole_weights_parameters());
    const auto results = builder().append_all(
        OpKind::LstmSteps,
        attributes_of(layer_.gate_activations(),
                      layer_.output_result_activation(), step.is_reverse,
                      peephole != kNoValue),
        {x, parameter(kHiddenWeights, layer_.hidden_weights_parameters()),
         step.states[0], step.states[1], peephole, kNoValue, lengths()});
    return {results[0], results[3], results[4]};
  }

  const LSTM& layer_;
};

}  // namespace

void LSTM::lower(LayerBuilder& builder) const {
  Lowering(builder, *this).run();
}

}  // namespace traingraph::layers
