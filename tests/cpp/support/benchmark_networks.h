// SPDX-License-Identifier: MIT
// The networks of benchmarks/workloads.py, through the public API.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "support/training.h"

namespace traingraph::testing {

inline constexpr std::array kBenchmarkNetworks{
    "mlp-tiny",     "mlp-small", "mlp-large",  "cnn-mnist",
    "resnet-cifar", "lstm",      "transformer"};

/// One of them, with made-up data of one batch.
class BenchmarkNetwork {
 public:
  explicit BenchmarkNetwork(const std::string& name) {
    if (name == "mlp-tiny") {
      start({32, 32});
      y = dense(relu(dense(image, 64)), 10);
    } else if (name == "mlp-small") {
      start({32, 784});
      y = dense(relu(dense(image, 256)), 10);
    } else if (name == "mlp-large") {
      start({256, 784});
      y = dense(relu(dense(relu(dense(image, 1024)), 1024)), 10);
    } else if (name == "cnn-mnist") {
      start({64, 1, 28, 28});
      y = pool(relu(conv(image, 32)));
      y = pool(relu(conv(y, 64)));
      y = dense(relu(dense(flat(y), 128)), 10);
    } else if (name == "resnet-cifar") {
      start({32, 3, 32, 32});
      y = relu(norm(conv(image, 32, 3, 1, /*has_bias=*/false)));
      y = block(block(y, 32, 1), 32, 1);
      y = block(block(y, 64, 2), 64, 1);
      y = block(block(y, 128, 2), 128, 1);
      y = graph.node(
          std::make_shared<layers::Reduction>(ReductionType::Mean, Shape{2, 3}),
          y);
      y = dense(flat(y), 10);
    } else if (name == "lstm") {
      start({32, 64, 128});
      y = dense(flat(graph.node(std::make_shared<layers::LSTM>(
                                    LSTMDescriptor{.input_size = 128,
                                                   .hidden_size = 256,
                                                   .returns_sequences = false}),
                                image)),
                10);
    } else if (name == "transformer") {
      start({8, 128, 256});
      y = mean_of_tokens(layer_norm(encoder_layer(encoder_layer(image))));
      y = dense(y, 10);
    } else {
      throw std::invalid_argument("no network is called " + name);
    }
    if (name == "mlp-tiny") {
      optimizer = std::make_shared<optimizers::SGD>(1e-2f);
    } else {
      optimizer = std::make_shared<optimizers::Adam>(1e-3f);
    }
  }
  BenchmarkNetwork(const BenchmarkNetwork&) = delete;

  TrainingGraph train(const Device& device = test_device(),
                      const CompileOptions& options = {}) const {
    TrainingGraph t({graph}, std::make_shared<losses::SoftmaxCrossEntropy>(),
                    optimizer);
    t.add_inputs({{"image", image}}, {{"label", label}});
    t.compile(device, options);
    return t;
  }

  Graph graph;
  Tensor image, label, y;
  OptimizerPtr optimizer;
  Floats image_data, label_data;
  std::vector<NamedData> inputs, labels;

 private:
  void start(const Shape& shape) {
    image = Tensor({shape}, "image");
    label = Tensor({{shape[0], 10}}, "label");
    image_data = random_floats(shape.num_elements(), 1);
    label_data = one_hot(shape[0], 10);
    inputs = {{"image", view(std::as_const(image_data))}};
    labels = {{"label", view(std::as_const(label_data))}};
  }

  Tensor dense(const Tensor& x, std::int64_t size) {
    return graph.node(
        std::make_shared<layers::FullyConnected>(x.shape().back(), size), x);
  }
  Tensor conv(const Tensor& x, std::int64_t channels, std::int64_t kernel = 3,
              std::int64_t stride = 1, bool has_bias = true) {
    return graph.node(
        std::make_shared<layers::Convolution>(
            ConvolutionDescriptor{.kernel_size = {kernel, kernel},
                                  .input_feature_channel_count = x.shape()[1],
                                  .output_feature_channel_count = channels,
                                  .strides = {stride, stride}},
            WeightOptions{.uses_biases = has_bias}),
        x);
  }
  Tensor norm(const Tensor& x) {
    const Shape channels{x.shape()[1]};
    const Floats zeros(x.shape()[1], 0.0f), ones(x.shape()[1], 1.0f);
    return graph.node(
        std::make_shared<layers::BatchNormalization>(
            channels[0],
            BatchNormalizationOptions{.beta = Tensor({channels}, view(zeros)),
                                      .gamma = Tensor({channels}, view(ones)),
                                      .momentum = 0.9f}),
        x);
  }
  Tensor relu(const Tensor& x) {
    return graph.node(std::make_shared<layers::ReLU>(), x);
  }
  Tensor pool(const Tensor& x) {
    return graph.node(std::make_shared<layers::MaxPooling>(2), x);
  }
  Tensor layer_norm(const Tensor& x) {
    return graph.node(
        std::make_shared<layers::LayerNormalization>(Shape{x.shape().back()}),
        x);
  }
  Tensor mean_of_tokens(const Tensor& x) {
    return flat(graph.node(
        std::make_shared<layers::Reduction>(ReductionType::Mean, 1), x));
  }
  Tensor add(const Tensor& x, const Tensor& y) {
    return graph.node(
        std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add), {x, y});
  }
  Tensor flat(const Tensor& x) { return graph.reshape({x.shape()[0], -1}, x); }

  /// relu(body(x) + shortcut(x))
  Tensor block(const Tensor& x, std::int64_t channels, std::int64_t stride) {
    Tensor body = relu(norm(conv(x, channels, 3, stride, false)));
    body = norm(conv(body, channels, 3, 1, false));
    const bool is_same = stride == 1 && x.shape()[1] == channels;
    const Tensor shortcut =
        is_same ? x : norm(conv(x, channels, 1, stride, false));
    return relu(add(body, shortcut));
  }

  /// Normalizations before eight heads and before the feed-forward part.
  Tensor encoder_layer(const Tensor& x) {
    const std::int64_t width = x.shape().back();
    const auto attention = std::make_shared<layers::MultiheadAttention>(
        MultiheadAttentionDescriptor{.model_dimension = width,
                                     .head_count = 8});
    const Tensor normal = layer_norm(x);
    const Tensor y = add(x, graph.node(attention, {normal, normal, normal}));
    const Tensor inner = graph.node(std::make_shared<layers::GELU>(),
                                    dense(layer_norm(y), 4 * width));
    return add(y, dense(inner, width));
  }
};

}  // namespace traingraph::testing
