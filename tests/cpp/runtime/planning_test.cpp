// SPDX-License-Identifier: MIT
// Random networks: the values of the float64 reference, and the same bits
// planned, without reuse, and with freed memory poisoned, in one step and in
// phases.
#include <gtest/gtest.h>

#include "compiler/assemble.h"
#include "compiler/merge.h"
#include "runtime/device/null_backend.h"
#include "support/reference.h"
#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kClasses = 4;

/// A random network; the same seed gives the same layers and parameters. A
/// smooth one has nothing that makes much of a rounding error: no ReLU and
/// no max pooling, which see many exact zeros here, and no division by the size
/// of gradients.
class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed, bool is_smooth = false)
      : is_smooth_(is_smooth), engine_(seed) {
    Platform::set_rng_seed(seed + 1);
    const std::int64_t channels = 2 + pick(3);
    x = Tensor({{kBatch, channels, 8, 8}}, "x");
    label = Tensor({{kBatch, kClasses}}, "label");
    pool_.push_back(conv(x, 4));
    const int num_layers = 6 + pick(10);
    for (int i = 0; i < num_layers; ++i) add_layer();
    Tensor h = pool_.back();
    h = graph.reshape({kBatch, -1}, h);
    y = graph.node(
        std::make_shared<layers::FullyConnected>(h.shape()[1], kClasses), h);
    if (pick(2)) {  // a second loss in the middle
      Tensor side = graph.reshape({kBatch, -1}, any());
      side = graph.node(
          std::make_shared<layers::FullyConnected>(side.shape()[1], kClasses),
          side);
      graph.node(std::make_shared<losses::MeanSquaredError>(), side,
                 {.loss_labels = {label}});
    }
    graph.node(std::make_shared<losses::SoftmaxCrossEntropy>(), y,
               {.loss_labels = {label}});
    optimizer_ = pick(5);
    if (is_smooth && (optimizer_ == 1 || optimizer_ == 2)) optimizer_ = 0;
  }

  TrainingGraph train(const CompileOptions& options) {
    TrainingGraph t({graph}, nullptr, optimizer());
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.add_outputs({{"y", y}});
    t.compile(test_device(), options);
    return t;
  }

  OptimizerPtr optimizer() const;

  Tensor x, label, y;
  Graph graph;

 private:
  int pick(int n) { return static_cast<int>(engine_() % n); }
  const Tensor& any() { return pool_[pick(static_cast<int>(pool_.size()))]; }
  LayerPtr normalization(std::int64_t channels) const {
    // A large epsilon: what hardly varies is mostly rounding.
    BatchNormalizationOptions options;
    if (is_smooth_) options.variance_epsilon = 0.1f;
    return std::make_shared<layers::BatchNormalization>(channels, options);
  }
  Tensor conv(const Tensor& source, std::int64_t out) {
    return graph.node(
        std::make_shared<layers::Convolution>(
            source.shape()[1], out, 1 + 2 * pick(2), PaddingPolicy::Same),
        source);
  }

  void add_layer() {
    // Mostly the newest tensor, at times an older one: a skip connection.
    const Tensor h = pick(4) ? pool_.back() : any();
    switch (pick(12)) {
      case 0:
      case 1:
        return push(conv(h, 2 + pick(6)));
      case 2:
        return push(graph.node(normalization(h.shape()[1]), h));
      case 3:
        if (is_smooth_) {
          return push(graph.node(std::make_shared<layers::Sigmoid>(), h));
        }
        return push(graph.node(std::make_shared<layers::ReLU>(), h));
      case 4:
        return push(graph.node(std::make_shared<layers::Tanh>(), h));
      case 5:
        return push(graph.node(std::make_shared<layers::Dropout>(0.3f, 5), h));
      case 6:
        if (h.shape()[2] < 4) return;
        if (!is_smooth_) {
          return push(graph.node(std::make_shared<layers::MaxPooling>(2), h));
        }
        [[fallthrough]];
      case 7:
        if (h.shape()[2] < 4) return;
        return push(graph.node(std::make_shared<layers::AveragePooling>(2), h));
      case 8:
      case 9:
        return push(add(h, any()));
      case 10:
        return push(concatenate(h, any()));
      default:
        return split(h);
    }
  }

  void push(Tensor tensor) {
    if (tensor) pool_.push_back(std::move(tensor));
  }
  Tensor add(const Tensor& a, const Tensor& b) {
    if (!(a.shape() == b.shape())) return {};
    const auto operation =
        pick(2) ? ArithmeticOperation::Add : ArithmeticOperation::Multiply;
    return graph.node(std::make_shared<layers::Arithmetic>(operation), {a, b});
  }
  Tensor concatenate(const Tensor& a, const Tensor& b) {
    const bool fits = a.shape()[2] == b.shape()[2] && a.shape()[1] < 16;
    return fits ? graph.concatenate({a, b}) : Tensor();
  }
  void split(const Tensor& h) {
    if (h.shape()[1] < 2) return;
    const auto parts = graph.split(h, 2, 1);
    push(parts[0]);
    if (pick(2)) push(parts[1]);
  }
  bool is_smooth_;
  std::mt19937 engine_;
  std::vector<Tensor> pool_;
  int optimizer_ = 0;
};

OptimizerPtr RandomNetwork::optimizer() const {
  OptimizerDescriptor descriptor{.learning_rate = 0.01f};
  switch (optimizer_) {
    case 0:
      return std::make_shared<optimizers::SGD>(descriptor, 0.9f);
    case 1:
      return std::make_shared<optimizers::Adam>(descriptor);
    case 2:
      return std::make_shared<optimizers::RMSProp>(descriptor, 0.5f);
    default:
      descriptor.applies_gradient_clipping = true;
      descriptor.gradient_clipping_type =
          optimizer_ == 3 ? GradientClippingType::ByNorm
                          : GradientClippingType::ByGlobalNorm;
      return std::make_shared<optimizers::SGD>(descriptor);
  }
}

/// Everything that training leaves behind, bit by bit.
std::vector<Floats> train(unsigned seed, const CompileOptions& options,
                          bool in_phases) {
  RandomNetwork net(seed);
  TrainingGraph t = net.train(options);
  const Floats label_data = one_hot(kBatch, kClasses);
  std::vector<Floats> trace;
  for (unsigned step = 0; step < 3; ++step) {
    const Floats data =
        random_floats(net.x.shape().num_elements(), 1000 + step);
    const NamedData inputs[] = {{"x", view(data)}};
    const NamedData labels[] = {{"label", view(label_data)}};
    const ExecuteOptions batch{.batch_size = step == 2 ? 2 : 0};
    std::optional<Execution> execution;
    if (in_phases) {
      execution = t.execute_forward(inputs, labels, {}, batch);
      t.execute_gradient();
      t.execute_optimizer_update();
    } else {
      execution = t.execute(inputs, labels, {}, batch);
    }
    const auto result = execution->result();
    trace.push_back({result.loss()});
    trace.push_back(floats_of(result.output("y")));
    const auto inference =
        t.execute(inputs, {}, {}, {.forward_for_inference = true}).result();
    trace.push_back(floats_of(inference.output("y")));
  }
  for (const LayerPtr& layer : net.graph.layers()) {
    for (const auto& p : layer->parameters()) trace.push_back(read(p.tensor()));
    for (const Tensor& s : layer->statistics()) trace.push_back(read(s));
  }
  return trace;
}

void expect_same_bits(const std::vector<Floats>& got,
                      const std::vector<Floats>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), expected[i].size());
    EXPECT_EQ(std::memcmp(got[i].data(), expected[i].data(),
                          got[i].size() * sizeof(float)),
              0)
        << "entry " << i << " of " << got.size();
  }
}

/// Computes the steps in double, op by op, in memory that nothing shares.
class ReferenceSteps {
 public:
  explicit ReferenceSteps(const RandomNetwork& net)
      : net_(net), optimizer_(net.optimizer()) {
    Declaration d;
    d.trains = true;
    d.graphs = {net.graph.state()};
    d.optimizer = optimizer_;
    d.inputs = {{"x", net.x}};
    d.labels = {{"label", net.label}};
    d.outputs = {{"y", net.y}};
    merged_ = merge_graphs(d);
    assembled_ =
        assemble(merged_.graph, {}, kBatch, make_null_context()->target());
    const Program& program = assembled_.program;
    for (ValueId id = 0; id < static_cast<ValueId>(program.values().size());
         ++id) {
      // Variables without contents of their own, as the optimizer's buffers,
      // are zeros.
      if (program.value(id).role != Role::Variable) continue;
      values_[id] = zeros(program.shape(id));
    }
    for (const LayerPtr& layer : net.graph.layers()) {
      for (const auto& p : layer->parameters())
        set(p.tensor(), host(p.tensor()));
      for (const Tensor& s : layer->statistics()) set(s, host(s));
    }
  }

  void step(const Floats& x, const Floats& label) {
    set(net_.x, x);
    set(net_.label, label);
    const float clips = optimizer_->applies_gradient_clipping() ? 1 : 0;
    set(merged_.graph.hyperparameters,
        {optimizer_->learning_rate(), optimizer_->corrected_rate(), clips, 0});
    set(merged_.graph.random_state,
        {0, 0, static_cast<float>(num_steps_++), 0});
    values_ = evaluate_program(assembled_.program, std::move(values_));
  }

  Doubles operator()(const Tensor& tensor) const {
    return values_.at(assembled_.find(merged_.objects.find(tensor))).data;
  }
  double loss() const {
    double sum = 0;
    for (ValueId loss : assembled_.losses) sum += values_.at(loss).data[0];
    return sum;
  }

 private:
  void set(const Tensor& tensor, const Floats& contents) {
    set(merged_.objects.find(tensor), contents);
  }
  void set(TensorIndex tensor, const Floats& contents) {
    const ValueId id = assembled_.find(tensor);
    if (id == kNoValue) return;
    values_[id] = {assembled_.program.shape(id),
                   {contents.begin(), contents.end()}};
  }

  const RandomNetwork& net_;
  OptimizerPtr optimizer_;
  int num_steps_ = 0;
  Merged merged_;
  Assembled assembled_;
  RefValues values_;
};

class Planning : public ::testing::TestWithParam<unsigned> {};

TEST_P(Planning, RandomNetworksGiveTheValuesOfTheReference) {
  if (!computes()) GTEST_SKIP() << "the device computes nothing";
  const unsigned seed = GetParam();
  SCOPED_TRACE("network seed " + std::to_string(seed));
  RandomNetwork net(seed, /*is_smooth=*/true);
  ReferenceSteps reference(net);
  TrainingGraph t = net.train({.poison_memory = true});
  const Floats label = one_hot(kBatch, kClasses);
  for (unsigned step = 0; step < 2; ++step) {
    const Floats x = random_floats(net.x.shape().num_elements(), 1000 + step);
    reference.step(x, label);
    const auto result =
        t.execute({{"x", view(x)}}, {{"label", view(label)}}).result();
    // Some twenty layers in float32, and central differences.
    constexpr double kTolerance = 2e-4;
    EXPECT_NEAR(result.loss(), reference.loss(), kTolerance);
    expect_near(floats_of(result.output("y")), reference(net.y), kTolerance);
    for (const LayerPtr& layer : net.graph.layers()) {
      for (const auto& p : layer->parameters()) {
        expect_near(read(p.tensor()), reference(p.tensor()), kTolerance);
      }
      for (const Tensor& s : layer->statistics()) {
        expect_near(read(s), reference(s), kTolerance);
      }
    }
  }
}

TEST_P(Planning, RandomNetworksGiveTheSameBitsHoweverPlanned) {
  const unsigned seed = GetParam();
  SCOPED_TRACE("network seed " + std::to_string(seed));
  const auto expected = train(seed, {.reuse_memory = false}, false);
  for (const Floats& values : expected) {
    for (float v : values) ASSERT_TRUE(std::isfinite(v));
  }
  const struct {
    const char* name;
    CompileOptions options;
    bool in_phases;
  } variants[] = {{"planned", {}, false},
                  {"poisoned", {.poison_memory = true}, false},
                  {"phases", {}, true},
                  {"phases without reuse", {.reuse_memory = false}, true},
                  {"poisoned phases", {.poison_memory = true}, true},
                  {"input gradients",
                   {.compute_all_gradients = true, .poison_memory = true},
                   false}};
  for (const auto& variant : variants) {
    SCOPED_TRACE(variant.name);
    expect_same_bits(train(seed, variant.options, variant.in_phases), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Planning, ::testing::Range(0u, 24u));

}  // namespace
}  // namespace traingraph
