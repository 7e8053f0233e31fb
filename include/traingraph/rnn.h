// SPDX-License-Identifier: MIT
// Descriptors and optional inputs of Graph's recurrent ops: gru(), lstm(),
// single_gate_rnn() and their gradients. They mean what MPSGraph's mean, which
// docs/recurrent.md writes out.
#pragma once

#include "traingraph/enums.h"
#include "traingraph/tensor.h"

namespace traingraph {

// Activations are None, ReLU, Tanh, Sigmoid or HardSigmoid (0.2 x + 0.5 within
// 0 and 1). `reverse`: from the last step to the first; without meaning when
// `bidirectional`. `training`: the op also gives the training state, which the
// gradients take as `z_state`.

struct TRAINGRAPH_API GRUDescriptor {
  bool reverse = false;
  bool bidirectional = false;
  bool training = false;
  /// Gate blocks in the order reset, update, output, else update, reset,
  /// output.
  bool reset_gate_first = false;
  /// The reset gate multiplies the recurrent product, else the state that goes
  /// into it.
  bool reset_after = false;
  /// h = (1 - z) h' + z o, else z h' + (1 - z) o.
  bool flip_z = false;
  ActivationType update_gate_activation = ActivationType::Sigmoid;
  ActivationType reset_gate_activation = ActivationType::Sigmoid;
  ActivationType output_gate_activation = ActivationType::Tanh;

  /// Throws InvalidArgument.
  void validate() const;
  bool operator==(const GRUDescriptor&) const = default;
};

struct TRAINGRAPH_API LSTMOpDescriptor {
  bool reverse = false;
  bool bidirectional = false;
  /// The op also gives the cells. Gradients need them.
  bool produce_cell = false;
  bool training = false;
  /// Gate blocks in the order input, cell, forget, output, else input, forget,
  /// cell, output.
  bool forget_gate_last = false;
  ActivationType input_gate_activation = ActivationType::Sigmoid;
  ActivationType forget_gate_activation = ActivationType::Sigmoid;
  ActivationType cell_gate_activation = ActivationType::Tanh;
  ActivationType output_gate_activation = ActivationType::Sigmoid;
  /// The cell goes through this.
  ActivationType activation = ActivationType::Tanh;

  /// Throws InvalidArgument.
  void validate() const;
  bool operator==(const LSTMOpDescriptor&) const = default;
};

struct TRAINGRAPH_API SingleGateRNNDescriptor {
  bool reverse = false;
  bool bidirectional = false;
  bool training = false;
  ActivationType activation = ActivationType::ReLU;

  /// Throws InvalidArgument.
  void validate() const;
  bool operator==(const SingleGateRNNDescriptor&) const = default;
};

// Inputs that may be left out. With T steps, N samples, I features, H units,
// G gates (GRU 3, LSTM 4, single gate 1) and D directions:
//
//   input_weight  (D G H, I)   absent: the source is (T, N, D G H)
//   bias          (D G H)
//   init_state    (N, D H)     zeros
//   init_cell     (N, D H)     zeros
//   mask          (N, D H)     or what broadcasts to it: times the state that
//                              goes into the recurrent product
//
// The forward direction's block comes first.

struct GRUInputs {
  Tensor input_weight = {}, bias = {}, init_state = {}, mask = {};
  Tensor secondary_bias = {};  // (D H), with reset_after
};

struct LSTMInputs {
  Tensor input_weight = {}, bias = {}, init_state = {}, init_cell = {};
  Tensor mask = {};
  Tensor peephole = {};  // (4 H), with two directions (2, 4 H) or (8 H)
};

struct SingleGateRNNInputs {
  Tensor input_weight = {}, bias = {}, init_state = {}, mask = {};
};

}  // namespace traingraph
