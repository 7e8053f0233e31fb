// SPDX-License-Identifier: MIT
#include "neuron.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace emulator::mpsnn {
namespace {

double logistic(double x) {
  // Neither branch overflows.
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

/// ln(1 + e^x)
double soft_plus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

/// -1 stands for the base e.
double log_of_base(double base) { return base == -1 ? 1 : std::log(base); }

double normal_distribution(double x) {
  return (1 + std::erf(x / std::numbers::sqrt2)) / 2;
}

Neuron of_channel(const Neuron& neuron, std::int64_t channel) {
  Neuron one{neuron.type, neuron.a, neuron.b, neuron.c, {}};
  if (neuron.type == NeuronType::kPReLU) {
    one.a = neuron.slopes[static_cast<std::size_t>(channel)];
  }
  return one;
}

}  // namespace

double neuron_value(const Neuron& n, double x) {
  switch (n.type) {
    case NeuronType::kNone:
      return x;
    case NeuronType::kReLU:
    case NeuronType::kPReLU:
      return x >= 0 ? x : n.a * x;
    case NeuronType::kLinear:
      return n.a * x + n.b;
    case NeuronType::kSigmoid:
      return logistic(x);
    case NeuronType::kHardSigmoid:
      return std::clamp(n.a * x + n.b, 0.0, 1.0);
    case NeuronType::kTanH:
      return n.a * std::tanh(n.b * x);
    case NeuronType::kAbsolute:
      return std::abs(x);
    case NeuronType::kSoftPlus:
      return n.a * soft_plus(n.b * x);
    case NeuronType::kSoftSign:
      return x / (1 + std::abs(x));
    case NeuronType::kELU:
      return x >= 0 ? x : n.a * std::expm1(x);
    case NeuronType::kReLUN:
      return std::min(x >= 0 ? x : n.a * x, n.b);
    case NeuronType::kPower:
      return std::pow(n.a * x + n.b, n.c);
    case NeuronType::kExponential:
      return std::exp(log_of_base(n.c) * (n.a * x + n.b));
    case NeuronType::kLogarithm:
      return std::log(n.a * x + n.b) / log_of_base(n.c);
    case NeuronType::kGeLU:
      return x * normal_distribution(x);
  }
  return x;
}

double neuron_derivative(const Neuron& n, double x) {
  switch (n.type) {
    case NeuronType::kNone:
      return 1;
    case NeuronType::kReLU:
    case NeuronType::kPReLU:
      return x >= 0 ? 1 : n.a;
    case NeuronType::kLinear:
      return n.a;
    case NeuronType::kSigmoid:
      return logistic(x) * logistic(-x);
    case NeuronType::kHardSigmoid: {
      const double y = n.a * x + n.b;
      return y >= 0 && y <= 1 ? n.a : 0;
    }
    case NeuronType::kTanH: {
      const double y = std::tanh(n.b * x);
      return n.a * n.b * (1 - y * y);
    }
    case NeuronType::kAbsolute:
      return double(x > 0) - double(x < 0);
    case NeuronType::kSoftPlus:
      return n.a * n.b * logistic(n.b * x);
    case NeuronType::kSoftSign:
      return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
    case NeuronType::kELU:
      return x >= 0 ? 1 : n.a * std::exp(x);
    case NeuronType::kReLUN:
      // Zero at the bound: Apple's text prints the bound itself, which is no
      // derivative of what it prints for the value.
      if (x >= 0) return x < n.b ? 1 : 0;
      return n.a * x < n.b ? n.a : 0;
    case NeuronType::kPower:
      return n.a * n.c * std::pow(n.a * x + n.b, n.c - 1);
    case NeuronType::kExponential:
      return n.a * log_of_base(n.c) * neuron_value(n, x);
    case NeuronType::kLogarithm:
      return n.a / (log_of_base(n.c) * (n.a * x + n.b));
    case NeuronType::kGeLU:
      return normal_distribution(x) +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  }
  return 1;
}

Picture apply_neuron(const Neuron& neuron, const Picture& source) {
  return picture_of(source.extent, [&](auto c, auto y, auto x) {
    return neuron_value(of_channel(neuron, c), source.at(c, y, x));
  });
}

Picture neuron_gradient(const Neuron& neuron, const Picture& gradient,
                        const Picture& source) {
  return picture_of(source.extent, [&](auto c, auto y, auto x) {
    return gradient.at(c, y, x) *
           neuron_derivative(of_channel(neuron, c), source.at(c, y, x));
  });
}

}  // namespace emulator::mpsnn
