// SPDX-License-Identifier: MIT
// A GRU or RNN layer is, for each layer and direction, one product of all
// steps' inputs with their weights and one op.
#include "layers/recurrent_stack.h"
#include "traingraph/layers/recurrent.h"

namespace traingraph::layers {

class RecurrentLowering : public RecurrentStack {
 public:
  RecurrentLowering(LayerBuilder& builder, const Recurrent& layer)
      : RecurrentStack(builder, layer.descriptor(), {"the initial state"}),
        layer_(layer) {}

 private:
  std::vector<ValueId> append(const Step& step) override {
    const LSTMDescriptor& d = descriptor();
    const std::int64_t gates = layer_.num_gates();
    const auto parameter = [&](const char* name,
                               const std::vector<TensorParameter>& list,
                               std::int64_t blocks, std::int64_t columns) {
      return RecurrentStack::parameter(name, list, step.set,
                                       blocks * d.hidden_size, columns);
    };
    const ValueId x =
        product(step.x,
                parameter("input_weights", layer_.input_weights_, gates,
                          input_size(d, step.set % d.layer_count)),
                parameter("biases", layer_.biases_, gates, 0));
    const ValueId weights = parameter("hidden_weights", layer_.hidden_weights_,
                                      gates, d.hidden_size);
    constexpr ValueId kNoMask = kNoValue;
    std::vector<ValueId> inputs{x, weights, step.states[0], kNoMask};
    Attributes attrs = layer_.attributes_;
    if (auto* gru = std::get_if<GruAttrs>(&attrs)) {
      gru->reverse = step.is_reverse;
      inputs.push_back(
          parameter("secondary_biases", layer_.secondary_biases_, 1, 0));
    } else {
      std::get<SingleGateAttrs>(attrs).reverse = step.is_reverse;
    }
    inputs.push_back(lengths());
    const auto results =
        builder().append_all(layer_.op_, std::move(attrs), std::move(inputs));
    return {results[0], results[2]};
  }

  const Recurrent& layer_;
};

void Recurrent::lower(LayerBuilder& builder) const {
  RecurrentLowering(builder, *this).run();
}

}  // namespace traingraph::layers
