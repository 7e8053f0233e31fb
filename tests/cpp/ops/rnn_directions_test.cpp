// SPDX-License-Identifier: MIT
// Bidirectional ops and their gradients, explicit and of a training graph: the
// same on the test device, which may run both directions at once, as on the
// CPU, which never does.
#include "support/recurrent_networks.h"

namespace traingraph::testing {
namespace {

constexpr std::array<RecurrentSize, 3> kSizes{{
    {.steps = 1, .samples = 1, .features = 1, .hidden = 1},
    {.steps = 2, .samples = 3, .features = 4, .hidden = 2},
    {.steps = 4, .samples = 2, .features = 3, .hidden = 5},
}};
// A few recurrent steps in float32.
constexpr double kTolerance = 2e-5;

std::vector<Floats> results(const RecurrentOps& ops, const Device& device) {
  InferenceGraph inference = ops.compile(device);
  const auto run = inference.execute(ops.data).result();
  std::vector<Floats> all;
  for (std::size_t i = 0; i < ops.results.size(); ++i) {
    all.push_back(floats_of(run.output(std::to_string(i))));
  }
  return all;
}

TEST(RnnDirections, AtOnceAreAsOneByOne) {
  for (const char* name : kRecurrentOps) {
    for (const RecurrentSize& size : kSizes) {
      SCOPED_TRACE(std::string(name) + ", hidden " +
                   std::to_string(size.hidden));
      const RecurrentOps ops(name, size);
      const auto got = results(ops, test_device());
      if (!computes()) continue;
      const RecurrentOps same(name, size);
      const auto expected = results(same, Device::cpu());
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        SCOPED_TRACE("result " + std::to_string(i));
        expect_near(got[i], expected[i], kTolerance);
      }
    }
  }
}

/// Gradients of the weights of a network with an op of both directions.
std::vector<Floats> gradients(const std::string& name, const Device& device) {
  constexpr std::int64_t kSteps = 4, kSamples = 3, kIn = 2, kHidden = 5;
  const std::int64_t gates = name == "lstm" ? 4 : name == "gru" ? 3 : 1;
  const auto parameter = [](const char* label, const Shape& shape) {
    Floats values = random_floats(shape.num_elements(), 3);
    return Tensor({shape}, view(std::as_const(values)), label);
  };
  const Tensor x({{kSteps, kSamples, kIn}}, "x", /*batch_axis=*/1);
  const Tensor label({{kSteps, kSamples, 2 * kHidden}}, "label", 1);
  const Tensor r = parameter("r", {2, gates * kHidden, kHidden});
  const Tensor w = parameter("w", {2 * gates * kHidden, kIn});
  const Tensor b = parameter("b", {2 * gates * kHidden});
  Graph graph;
  Tensor y;
  if (name == "lstm") {
    y = graph.lstm(x, r, {.input_weight = w, .bias = b},
                   {.bidirectional = true})[0];
  } else if (name == "gru") {
    y = graph.gru(x, r, {.input_weight = w, .bias = b},
                  {.bidirectional = true, .reset_after = true})[0];
  } else {
    y = graph.single_gate_rnn(
        x, r, {.input_weight = w, .bias = b},
        {.bidirectional = true, .activation = ActivationType::Sigmoid})[0];
  }
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(0.1f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.set_training_tensor_parameters(
      {TensorParameter(r), TensorParameter(w), TensorParameter(b)});
  t.compile(device);
  const Floats x_data = random_floats(x.shape().num_elements(), 1);
  const Floats label_data = random_floats(label.shape().num_elements(), 2);
  t.execute_forward({{"x", view(x_data)}}, {{"label", view(label_data)}});
  t.execute_gradient().wait();
  std::vector<Floats> all;
  for (const Tensor& each : {r, w, b}) all.push_back(copy(t.gradient(each)));
  return all;
}

TEST(RnnDirections, OfATrainingGraph) {
  for (const char* name : {"lstm", "gru", "single_gate"}) {
    SCOPED_TRACE(name);
    const auto got = gradients(name, test_device());
    if (!computes()) continue;
    const auto expected = gradients(name, Device::cpu());
    for (std::size_t i = 0; i < got.size(); ++i) {
      expect_near(got[i], expected[i], kTolerance);
    }
  }
}

}  // namespace
}  // namespace traingraph::testing
