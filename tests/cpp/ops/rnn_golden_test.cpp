// SPDX-License-Identifier: MIT
// Graph::gru, lstm, single_gate_rnn and their gradients: two steps of one unit,
// whose numbers were worked out in float64.
#include <gtest/gtest.h>

#include <deque>

#include "support/training.h"

namespace traingraph::testing {
namespace {

constexpr double kPrinted = 2e-6;  // six digits

/// Inputs with contents, which are the same for all ops: two steps of one
/// sample and feature.
class RnnGolden : public ::testing::Test {
  std::deque<Floats> contents_;
  TensorMap inputs_;
  std::vector<NamedData> data_;

 protected:
  /// `name` is a literal.
  Tensor input(const char* name, const Shape& shape, Floats values) {
    contents_.push_back(std::move(values));
    const Tensor tensor({shape}, name, /*batch_axis=*/std::nullopt);
    inputs_[name] = tensor;
    data_.push_back({name, view(std::as_const(contents_.back()))});
    return tensor;
  }

  void expect(const std::vector<Tensor>& results,
              const std::vector<Floats>& expected) {
    ASSERT_EQ(results.size(), expected.size());
    InferenceGraph inference({graph});
    inference.add_inputs(inputs_);
    TensorMap outputs;
    for (std::size_t i = 0; i < results.size(); ++i) {
      outputs["y" + std::to_string(i)] = results[i];
    }
    inference.add_outputs(outputs);
    inference.compile(test_device());
    const auto run = inference.execute(data_).result();
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Floats got = floats_of(run.output("y" + std::to_string(i)));
      ASSERT_EQ(got.size(), expected[i].size());
      for (std::size_t j = 0; computes() && j < got.size(); ++j) {
        EXPECT_NEAR(got[j], expected[i][j], kPrinted)
            << "element " << j << " of result " << i;
      }
    }
  }

  Graph graph;
  Tensor x = input("x", {2, 1, 1}, {0.5f, -1});
  Tensor dh = input("dh", {2, 1, 1}, {1, 0.5f});
  Tensor last = input("last", {1, 1}, {0.3f});
  Tensor initial = input("h0", {1, 1}, {0.2f});
};

TEST_F(RnnGolden, SingleGate) {
  const SingleGateRNNDescriptor d{.training = true,
                                  .activation = ActivationType::Tanh};
  const Tensor r = input("r", {1, 1}, {-0.4f});
  const SingleGateRNNInputs more{.input_weight = input("w", {1, 1}, {0.7f}),
                                 .bias = input("b", {1}, {0.1f}),
                                 .init_state = initial};
  auto all = graph.single_gate_rnn(x, r, more, d);
  const auto gradients =
      graph.single_gate_rnn_gradients(x, r, dh, all[1], last, more, d);
  all.insert(all.end(), gradients.begin(), gradients.end());
  expect(all, {{0.353992f, -0.630109f},
               {0.37f, -0.741597f},
               {0.494144f, 0.337659f},
               {0.311939f},
               {-0.12941f},
               {1.18829f},
               {-0.282368f}});
}

TEST_F(RnnGolden, Lstm) {
  const LSTMOpDescriptor d{.produce_cell = true, .training = true};
  const Tensor r = input("r", {4, 1}, {-0.1f, 0.5f, 0.25f, -0.3f});
  const Tensor last_cell = input("last_cell", {1, 1}, {-0.2f});
  const LSTMInputs more{
      .input_weight = input("w", {4, 1}, {0.1f, 0.2f, 0.3f, 0.4f}),
      .bias = input("b", {4}, {0.05f, 0.1f, -0.05f, 0.2f}),
      .init_state = initial,
      .init_cell = input("c0", {1, 1}, {-0.1f}),
      .peephole = input("p", {4}, {0.3f, -0.2f, 0.1f, 0.4f})};
  auto all = graph.lstm(x, r, more, d);
  const auto gradients =
      graph.lstm_gradients(x, r, dh, all[2], all[1], last, last_cell, more, d);
  all.insert(all.end(), gradients.begin(), gradients.end());
  expect(all, {{0.00767f, -0.069998f},
               {0.013352f, -0.1565f},
               {0.512497f, 0.579324f, 0.139092f, 0.574443f, 0.488312f,
                0.475311f, -0.333488f, 0.450919f},
               {0.098831f, 0.006331f},
               {0.004439f, -0.003177f, 0.066108f, 0.000435f},
               {0.024009f, -0.008459f, 0.098018f, 0.032424f},
               {0.010011f, -0.015399f, 0.393998f, -0.027395f},
               {-0.002437f, 0.001597f, -0.03192f, -0.000746f},
               {0.070776f},
               {0.422224f}});
}

TEST_F(RnnGolden, GruResetsBefore) {
  const GRUDescriptor d{.training = true};
  const Tensor r = input("r", {3, 1}, {-0.1f, 0.5f, 0.25f});
  const GRUInputs more{.input_weight = input("w", {3, 1}, {0.1f, 0.2f, 0.3f}),
                       .bias = input("b", {3}, {0.05f, 0.1f, -0.05f}),
                       .init_state = initial};
  auto all = graph.gru(x, r, more, d);
  const auto gradients =
      graph.gru_gradients(x, r, dh, all[1], all[0], last, more, d);
  all.insert(all.end(), gradients.begin(), gradients.end());
  expect(all,
         {{0.165447f, -0.084352f},
          {0.519989f, 0.574443f, 0.128016f, 0.48337f, 0.495681f, -0.318069f},
          {0.206046f, 0.121875f},
          {0.021102f, 0.00228f, 0.107763f},
          {-0.083795f, 0.000271f, -0.03509f},
          {0.1222f, 0.012065f, 1.044293f},
          {0.839154f}});
}

TEST_F(RnnGolden, GruResetsAfter) {
  const GRUDescriptor d{.training = true, .reset_after = true};
  const Tensor r = input("r", {3, 1}, {-0.1f, 0.5f, 0.25f});
  const GRUInputs more{.input_weight = input("w", {3, 1}, {0.1f, 0.2f, 0.3f}),
                       .bias = input("b", {3}, {0.05f, 0.1f, -0.05f}),
                       .init_state = initial,
                       .secondary_bias = input("b2", {1}, {0.15f})};
  auto all = graph.gru(x, r, more, d);
  const auto gradients =
      graph.gru_gradients(x, r, dh, all[1], all[0], last, more, d);
  all.insert(all.end(), gradients.begin(), gradients.end());
  expect(all,
         {{0.205588f, -0.027201f},
          {0.519989f, 0.574443f, 0.211641f, 0.482368f, 0.500698f, -0.24413f},
          {0.203471f, 0.129732f},
          {0.017634f, 0.010467f, 0.115703f},
          {-0.091917f, -0.003518f, -0.060339f},
          {0.085661f, 0.051786f, 1.047599f},
          {0.857452f},
          {0.573067f}});
}

}  // namespace
}  // namespace traingraph::testing
