// SPDX-License-Identifier: MIT
// Neurons: one function of one number.
#pragma once

#include "picture.h"

namespace emulator::mpsnn {

/// The order is that of MPSCNNNeuronType.
enum class NeuronType {
  kNone,
  kReLU,
  kLinear,
  kSigmoid,
  kHardSigmoid,
  kTanH,
  kAbsolute,
  kSoftPlus,
  kSoftSign,
  kELU,
  kPReLU,
  kReLUN,
  kPower,
  kExponential,
  kLogarithm,
  kGeLU,
};

struct Neuron {
  NeuronType type = NeuronType::kNone;
  double a = 0, b = 0, c = 0;
  /// PReLU's a of every channel.
  std::vector<float> slopes;
};

/// PReLU takes its slope as a.
double neuron_value(const Neuron& neuron, double x);
double neuron_derivative(const Neuron& neuron, double x);

Picture apply_neuron(const Neuron& neuron, const Picture& source);
Picture neuron_gradient(const Neuron& neuron, const Picture& gradient,
                        const Picture& source);

}  // namespace emulator::mpsnn
