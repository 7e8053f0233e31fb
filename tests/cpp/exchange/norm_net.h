// SPDX-License-Identifier: MIT
// A network with normalizations in a row, beside each other and behind a
// residual sum, which ranks train on parts of 12 samples.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "exchange/rank_net.h"

namespace traingraph::testing {

struct NormOptions {
  ReductionType reduction = ReductionType::Mean;
  CompileOptions compile = {};
};

class NormNet {
 public:
  static constexpr std::int64_t kSamples = 12, kSize = 3 * 5 * 4;

  explicit NormNet(NormOptions options) {
    double& timeout = options.compile.data_parallel.collective_timeout;
    timeout = std::min(timeout, 20.0);
    const Tensor a = activated(norm(4, convolved(3, x)));
    const Tensor b = norm(4, convolved(4, a));
    const Tensor sum =
        add<layers::Arithmetic>({b, a}, ArithmeticOperation::Add);
    const Tensor c = convolved(3, norm(3, x));
    const Tensor all =
        add<layers::Arithmetic>({activated(sum), c}, ArithmeticOperation::Add);
    const Tensor flat = graph_.reshape({kSamples, -1}, all);
    add<layers::FullyConnected>({flat}, parameter({3, 80}), parameter({3}));
    t.emplace(std::vector{graph_},
              std::make_shared<losses::MeanSquaredError>(
                  LossDescriptor{.reduction_type = options.reduction}),
              sgd(options.reduction == ReductionType::Mean ? 0.02f : 0.0005f));
    t->add_inputs({{"x", x}}, {{"label", label}});
    options.compile.compute_all_gradients = true;
    t->compile(rank_device(), options.compile);
    // Ranks and one process would else leave out other updates before gradients
    // are finite.
    if (options.compile.precision == Precision::MixedFloat16) {
      t->set_loss_scale(256);
    }
  }
  NormNet(const NormNet&) = delete;

  /// One update from a part of the samples.
  void train(Way way, Part part) {
    if (way == Way::Step) return step(part).wait();
    forward(part);
    t->execute_gradient();
    t->execute_optimizer_update().wait();
  }
  Execution step(Part part, ExecuteOptions options = {}) {
    options.batch_size = part.count;
    return t->execute({{"x", images(part)}}, {{"label", wanted(part)}}, {},
                      options);
  }
  Execution forward(Part part) {
    return t->execute_forward({{"x", images(part)}}, {{"label", wanted(part)}},
                              {}, {.batch_size = part.count});
  }

  /// Parameters, then running means and variances.
  std::vector<Floats> values() const {
    std::vector<Floats> all;
    for (const Tensor& tensor : t->parameters()) all.push_back(read(tensor));
    for (const Tensor& tensor : running_) all.push_back(read(tensor));
    return all;
  }
  /// Reads the input gradient of the samples of the last pass.
  Floats input_gradient(std::int64_t count) const {
    Floats values = read(t->gradient_tensor(x));
    values.resize(static_cast<std::size_t>(count * kSize));
    return values;
  }

  Tensor x{{{kSamples, 3, 5, 4}}, "x"}, label{{{kSamples, 3}}, "label"};
  std::optional<TrainingGraph> t;

 private:
  template <class L, class... Args>
  Tensor add(std::vector<Tensor> sources, Args&&... args) {
    return graph_.node(std::make_shared<L>(std::forward<Args>(args)...),
                       sources);
  }
  Tensor parameter(Shape shape) {
    Floats values = random_floats(shape.num_elements(), ++num_parameters_);
    for (float& value : values) value *= 0.5f;
    return Tensor({shape}, view(values));
  }
  Tensor convolved(std::int64_t channels, const Tensor& from) {
    const WeightOptions weights{.weights = parameter({4, channels, 3, 3}),
                                .biases = parameter({4})};
    return add<layers::Convolution>({from}, channels, 4, 3, PaddingPolicy::Same,
                                    weights);
  }
  Tensor norm(std::int64_t channels, const Tensor& from) {
    const auto layer = std::make_shared<layers::BatchNormalization>(
        channels, BatchNormalizationOptions{.beta = parameter({channels}),
                                            .gamma = parameter({channels}),
                                            .momentum = 0.7f});
    running_.push_back(layer->mean());
    running_.push_back(layer->variance());
    return graph_.node(layer, from);
  }
  Tensor activated(const Tensor& from) { return add<layers::ReLU>({from}); }

  TensorData images(Part part) const {
    return SmallNet::rows(x_data_, kSize, part.begin, part.count);
  }
  TensorData wanted(Part part) const {
    return SmallNet::rows(labels_, 3, part.begin, part.count);
  }

  Graph graph_;
  unsigned num_parameters_ = 100;
  std::vector<Tensor> running_;
  Floats x_data_ = random_floats(kSamples * kSize, 5);
  Floats labels_ = random_floats(kSamples * 3, 6);
};

/// Options of a rank whose batch normalization is that of all.
inline NormOptions with_norms(NormOptions options, const ThreadGroup& group,
                              int rank) {
  options.compile.data_parallel.collective = group[rank];
  options.compile.data_parallel.synchronize_batch_norm = true;
  return options;
}

}  // namespace traingraph::testing
