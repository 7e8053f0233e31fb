// SPDX-License-Identifier: MIT
// Layers of a recurrent op on top of each other, in one direction or two, as
// the layers LSTM, GRU and RNN have them: sources, states, dropout, results.
#pragma once

#include <string>
#include <vector>

#include "layers/layer_builder.h"
#include "layers/lstm_parameters.h"

namespace traingraph::layers {

class RecurrentStack {
 public:
  /// `state_names`: what the last states of the op are, in messages.
  RecurrentStack(LayerBuilder& builder, const LSTMDescriptor& descriptor,
                 std::vector<const char*> state_names);
  virtual ~RecurrentStack() = default;
  RecurrentStack(const RecurrentStack&) = delete;
  RecurrentStack& operator=(const RecurrentStack&) = delete;

  void run();

 protected:
  /// The op of one layer and direction.
  struct Step {
    std::int64_t set;  // of parameters: see lstm_parameters.h
    bool is_reverse;
    ValueId x;                    // (time, batch, in)
    std::vector<ValueId> states;  // initial ones, (batch, hidden), or none
  };
  /// Appends it; returns the sequence, then the last states.
  virtual std::vector<ValueId> append(const Step& step) = 0;

  /// One set of a list of tensors as one value of `rows` rows, (rows) or (rows,
  /// columns); none when the list is empty.
  ValueId parameter(const char* name, const std::vector<TensorParameter>& list,
                    std::int64_t set, std::int64_t rows, std::int64_t columns);
  /// x of all steps times the weights of a set, with the biases.
  ValueId product(ValueId x, ValueId weights, ValueId biases);
  ValueId lengths() const { return lengths_; }
  const LSTMDescriptor& descriptor() const { return d_; }
  LayerBuilder& builder() { return b_; }

 private:
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

  LayerBuilder& b_;
  const LSTMDescriptor d_;
  const std::vector<const char*> state_names_;
  std::vector<ValueId> states_;  // those given
  ValueId lengths_ = kNoValue;
  std::int64_t samples_ = 0;
};

}  // namespace traingraph::layers
