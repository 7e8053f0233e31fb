// SPDX-License-Identifier: MIT
// Small pieces for tests that train through the public API: host arrays,
// device reads, error capture, and one-layer graphs whose gradients are known.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/test_device.h"
#include "traingraph/traingraph.h"

namespace traingraph::testing {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline TensorData view(const Floats& values) {
  return TensorData(std::span<const float>(values));
}
inline TensorData view(Floats& values) {
  return TensorData(std::span<float>(values));
}

inline Floats random_floats(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  Floats values(count);
  for (float& value : values) value = uniform(engine);
  return values;
}

/// One-hot rows; row i is class i % classes.
inline Floats one_hot(std::size_t rows, std::size_t classes) {
  Floats values(rows * classes, 0.0f);
  for (std::size_t i = 0; i < rows; ++i) values[i * classes + i % classes] = 1;
  return values;
}

/// The device's copy of a tensor.
inline Floats read(const Tensor& tensor) {
  Floats values(tensor.shape().num_elements());
  tensor.copy_data_from_device_memory(
      std::as_writable_bytes(std::span<float>(values)));
  return values;
}

inline Floats floats_of(const OutputView& view) {
  Floats values(view.data.size() / sizeof(float));
  std::memcpy(values.data(), view.data.data(), view.data.size());
  return values;
}

inline Floats host(const Tensor& tensor) {
  const auto values = tensor.floats();
  return {values.begin(), values.end()};
}

template <class Range>
Floats copy(const Range& values) {
  return {values.begin(), values.end()};
}

/// The error that `call` throws; fails when it is of another type.
template <class ErrorType, class Call>
ErrorInfo error_of(Call call) {
  try {
    call();
  } catch (const ErrorType& error) {
    return error.info();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// A result that the host knows, as the test device gives it.
template <class Values>
Values computed(Values values) {
  if (!computes()) std::ranges::fill(values, 0);
  return values;
}

template <class A, class B>
void expect_near(const A& got, const B& expected, double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double scale = std::max(1.0, std::abs(double(expected[i])));
    EXPECT_NEAR(got[i], expected[i], tolerance * scale) << "at " << i;
  }
}

/// y = x W^T + b over (batch, in) -> (batch, out), mean squared error.
struct Linear {
  explicit Linear(std::int64_t batch = 4, std::int64_t in = 3,
                  std::int64_t out = 2, unsigned seed = 1,
                  const std::string& name = "dense")
      : batch(batch), in(in), out(out) {
    x = Tensor({{batch, in}}, "x");
    label = Tensor({{batch, out}}, "label");
    const Floats w = random_floats(out * in, seed);
    const Floats b = random_floats(out, seed + 1);
    layer = std::make_shared<layers::FullyConnected>(
        Tensor({{out, in}}, view(w), "w"), Tensor({{out}}, view(b), "b"));
    layer->set_name(name);
    y = graph.node(layer, x);
    x_data = random_floats(batch * in, seed + 2);
    label_data = random_floats(batch * out, seed + 3);
    inputs = {{"x", view(std::as_const(x_data))}};
    labels = {{"label", view(std::as_const(label_data))}};
  }
  Linear(const Linear&) = delete;

  const Tensor& w() const { return layer->weights(); }
  Tensor b() const { return layer->biases(); }

  /// A training graph on this graph object, compiled.
  TrainingGraph train(OptimizerPtr optimizer,
                      const CompileOptions& options = {},
                      const Device& device = test_device()) {
    TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                    std::move(optimizer));
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.add_outputs({{"y", y}});
    t.compile(device, options);
    return t;
  }

  /// d loss / d y at given parameters, in double; zeros where the test device
  /// computes nothing.
  Doubles prediction_gradient(const Floats& w, const Floats& b,
                              std::int64_t rows) const {
    Doubles g(rows * out);
    for (std::int64_t n = 0; n < rows; ++n) {
      for (std::int64_t o = 0; o < out; ++o) {
        double sum = b[o];
        for (std::int64_t i = 0; i < in; ++i) {
          sum += double(x_data[n * in + i]) * w[o * in + i];
        }
        g[n * out + o] = 2 * (sum - label_data[n * out + o]) / (rows * out);
      }
    }
    return computed(std::move(g));
  }
  Doubles weight_gradient(const Floats& w, const Floats& b,
                          std::int64_t rows = 0) const {
    if (rows == 0) rows = batch;
    const Doubles g = prediction_gradient(w, b, rows);
    Doubles result(out * in);
    for (std::int64_t n = 0; n < rows; ++n) {
      for (std::int64_t o = 0; o < out; ++o) {
        for (std::int64_t i = 0; i < in; ++i) {
          result[o * in + i] += g[n * out + o] * x_data[n * in + i];
        }
      }
    }
    return result;
  }
  Doubles bias_gradient(const Floats& w, const Floats& b,
                        std::int64_t rows = 0) const {
    if (rows == 0) rows = batch;
    const Doubles g = prediction_gradient(w, b, rows);
    Doubles result(out);
    for (std::int64_t i = 0; i < rows * out; ++i) result[i % out] += g[i];
    return result;
  }

  std::int64_t batch, in, out;
  Tensor x, label, y;
  Graph graph;
  std::shared_ptr<layers::FullyConnected> layer;
  Floats x_data, label_data;
  std::vector<NamedData> inputs, labels;
};

inline OptimizerPtr sgd(float rate, float momentum = 0) {
  return std::make_shared<optimizers::SGD>(rate, momentum);
}

/// a - rate * g, by an update on the test device
inline Doubles stepped(const Floats& a, const Doubles& g, double rate) {
  Doubles result(a.begin(), a.end());
  if (!computes()) return result;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] -= rate * g[i];
  return result;
}

}  // namespace traingraph::testing
