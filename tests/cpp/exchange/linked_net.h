// SPDX-License-Identifier: MIT
// Linked graphs that every rank of a group of threads trains on its part of 12
// samples.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "exchange/rank_net.h"

namespace traingraph::testing {

struct LinkedOptions {
  OptimizerPtr optimizer = nullptr;  // null: SGD with momentum; it is cloned
  ReductionType reduction = ReductionType::Mean;
  CompileOptions compile = {};
  bool norms = false;       // batch normalization in the first graph
  bool two_losses = false;  // the first graph has one of its own, too
};

/// The options of one rank of a group.
inline LinkedOptions linked_rank(LinkedOptions options,
                                 const ThreadGroup& group, int rank) {
  options.compile.data_parallel.collective = group[rank];
  return options;
}

/// Graphs of several kinds are made of 12 samples of 7 numbers, and parameters
/// of which shards cut some.
class LinkedParts {
 public:
  static constexpr std::int64_t kSamples = 12, kWidth = 7;

  explicit LinkedParts(LinkedOptions options) : options_(std::move(options)) {
    options_.compile.link_graphs = true;
    double& timeout = options_.compile.data_parallel.collective_timeout;
    timeout = std::min(timeout, 20.0);
  }

  /// Takes rows of data that is the same on all ranks.
  static TensorData rows(const Floats& of, Part part) {
    return SmallNet::rows(of, kWidth, part.begin, part.count);
  }

  Floats x_data = random_floats(kSamples * kWidth, 5);
  Floats labels = random_floats(kSamples * kWidth, 6);
  Floats more_labels = random_floats(kSamples * kWidth, 7);

 protected:
  static Tensor parameter(Shape shape, unsigned seed, const char* name) {
    return Tensor({shape}, view(random_floats(shape.num_elements(), seed)),
                  name);
  }
  static std::shared_ptr<layers::FullyConnected> dense(const Tensor& weights) {
    return std::make_shared<layers::FullyConnected>(weights);
  }
  OptimizerPtr optimizer() const {
    return options_.optimizer ? options_.optimizer->clone() : sgd(0.1f, 0.9f);
  }
  std::shared_ptr<losses::Loss> loss() const {
    return std::make_shared<losses::MeanSquaredError>(
        LossDescriptor{.reduction_type = options_.reduction});
  }

  LinkedOptions options_;
  Device device_ = rank_device();
};

/// An encoder and a decoder, which shares its weights and reads its result:
///   x -> shared -> own -> tanh -> middle | middle -> shared -> last -> loss
class EncoderDecoder : public LinkedParts {
 public:
  /// `batch`: samples of each call.
  EncoderDecoder(std::int64_t batch, LinkedOptions options)
      : LinkedParts(std::move(options)),
        x({{batch, kWidth}}, "x"),
        label({{batch, kWidth}}, "label") {
    Graph a, b;
    Tensor h = a.node(dense(own), a.node(dense(shared), x));
    if (options_.norms) h = a.node(norm(), h);
    const Tensor middle = a.node(std::make_shared<layers::Tanh>(), h);
    if (options_.two_losses) a.node(dense(early), middle);
    b.node(dense(last), b.node(dense(shared), middle));
    front.emplace(std::vector{a}, options_.two_losses ? loss() : nullptr,
                  optimizer());
    TensorMap front_labels;
    if (options_.two_losses) front_labels = {{"label", label}};
    front->add_inputs({{"x", x}}, front_labels);
    // Its own layer reads it, too.
    if (options_.two_losses) front->allocate_user_gradient(middle);
    back.emplace(std::vector{b}, loss(), optimizer());
    back->add_inputs({{"middle", middle}}, {{"label", label}});
    front->compile(device_, options_.compile);
    back->compile(device_, options_.compile);
    front->link({*back});
  }

  void gradients(Part part, GradientAccumulation by = {}) {
    const auto wanted = rows(labels, part);
    std::vector<NamedData> early_labels;
    const auto early_wanted = rows(more_labels, part);
    if (options_.two_losses) early_labels = {{"label", early_wanted}};
    front->execute_forward({{"x", rows(x_data, part)}}, early_labels);
    back->execute_forward({}, {{"label", wanted}});
    back->execute_gradient({.accumulate = by});
    front->execute_gradient({.accumulate = by});
  }
  void update() {
    front->execute_optimizer_update();
    back->execute_optimizer_update().wait();
  }
  /// Parameters, then running statistics.
  std::vector<Floats> values() const {
    std::vector<Floats> all{read(shared), read(own), read(last)};
    if (options_.two_losses) all.push_back(read(early));
    if (!options_.norms) return all;
    for (const Tensor& tensor : {layer_->mean(), layer_->variance()}) {
      all.push_back(read(tensor));
    }
    return all;
  }

  Tensor x, label;
  const Tensor shared = parameter({kWidth, kWidth}, 1, "shared"),
               own = parameter({kWidth, kWidth}, 2, "own"),
               last = parameter({kWidth, kWidth}, 3, "last"),
               early = parameter({kWidth, kWidth}, 4, "early");
  std::optional<TrainingGraph> front, back;

 private:
  LayerPtr norm() {
    layer_ = std::make_shared<layers::BatchNormalization>(
        kWidth,
        BatchNormalizationOptions{.beta = parameter({kWidth}, 8, "beta"),
                                  .gamma = parameter({kWidth}, 9, "gamma")});
    return layer_;
  }
  std::shared_ptr<layers::BatchNormalization> layer_;
};

/// Two losses on one parameter: the first graph updates what both have, the
/// second what it has alone. They run any batch size.
///   x -> shared -> loss | x -> own -> tanh -> shared -> loss
class Twins : public LinkedParts {
 public:
  explicit Twins(LinkedOptions options, bool first_updates = true)
      : LinkedParts(std::move(options)) {
    Graph a, b;
    a.node(dense(shared), x);
    b.node(dense(shared),
           b.node(std::make_shared<layers::Tanh>(), b.node(dense(own), x)));
    one.emplace(std::vector{a}, loss(), first_updates ? optimizer() : nullptr);
    other.emplace(std::vector{b}, loss(), optimizer());
    for (TrainingGraph* t : {&*one, &*other}) {
      t->add_inputs({{"x", x}}, {{"label", label}});
    }
    one->compile(device_, options_.compile);
    other->compile(device_, options_.compile);
  }
  void link() { one->link({*other}); }

  Execution step(TrainingGraph& t, Part part) {
    return t.execute({{"x", rows(x_data, part)}}, {{"label", wanted(t, part)}},
                     {}, {.batch_size = part.count});
  }
  void pass(TrainingGraph& t, Part part, GradientAccumulation by = {}) {
    t.execute_forward({{"x", rows(x_data, part)}}, {{"label", wanted(t, part)}},
                      {}, {.batch_size = part.count});
    t.execute_gradient({.accumulate = by});
  }
  std::vector<Floats> values() const { return {read(shared), read(own)}; }

  const Tensor x{{{kSamples, kWidth}}, "x"},
      label{{{kSamples, kWidth}}, "label"};
  const Tensor shared = parameter({kWidth, kWidth}, 1, "shared"),
               own = parameter({kWidth, kWidth}, 2, "own");
  std::optional<TrainingGraph> one, other;

 private:
  TensorData wanted(const TrainingGraph& t, Part part) const {
    return rows(&t == &*one ? labels : more_labels, part);
  }
};

}  // namespace traingraph::testing
