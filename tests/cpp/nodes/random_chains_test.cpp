// SPDX-License-Identifier: MIT
// Random chains of filters with branches, trained for some runs: every engine
// of a device gives what the CPU gives. TRAINGRAPH_TEST_SEED moves the seeds.
#include <cmath>
#include <cstdlib>
#include <random>

#include "nodes/node_check.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

/// Sums of some hundred products of numbers near 1, in another order.
constexpr double kTolerance = 2e-4;

class RandomChain {
 public:
  RandomChain(unsigned seed, OptimizerPtr optimizer)
      : random_(seed), optimizer_(std::move(optimizer)) {
    images_.emplace_back("x",
                         ImageSize{4 * pick(1, 2), pick(5, 9), pick(5, 9)});
    const int length = pick(3, 7);
    for (int i = 0; i < length; ++i) add(seed + static_cast<unsigned>(i));
    const ImageNode labels("t", last().size());
    const LossNode loss(last(), labels, {});
    for (const FilterNode& leaf : loss.training_graph()) {
      if (leaf.result_image().handle().empty()) continue;
      leaf.result_image().set_handle("dx");
      ends_.push_back(leaf.result_image());
    }
    inputs_ = {random_floats(count(images_.front()), seed + 100),
               random_floats(count(labels), seed + 101)};
  }

  /// Results and weights after each run.
  std::vector<Floats> train(const Device& device, bool uses_mpsnn) {
    Graph graph(device, ends_,
                {.batch_size = kBatch, .uses_mpsnn = uses_mpsnn});
    num_copies_ = 0;
    num_results_ = graph.result_handles().size();
    for (const UnitSpan& unit : graph.compiled().report().units) {
      num_copies_ += unit.image_copies;
    }
    std::vector<Floats> all;
    for (int run = 0; run < 3; ++run) {
      const auto result = graph
                              .execute({{"x", view(std::as_const(inputs_[0]))},
                                        {"t", view(std::as_const(inputs_[1]))}})
                              .result();
      for (const std::string& name : graph.result_handles()) {
        all.push_back(floats_of(result.output(name)));
      }
    }
    for (const auto& weights : weights_) {
      const Graph::Weights trained = graph.weights(*weights);
      all.insert(all.end(), {trained.weights, trained.biases});
    }
    for (const auto& source : normalizations_) {
      const Graph::Parameters trained = graph.parameters(*source);
      all.insert(all.end(),
                 {trained.gamma, trained.beta, trained.mean, trained.variance});
    }
    return all;
  }
  int num_copies() const { return num_copies_; }
  std::size_t num_results() const { return num_results_; }
  std::string to_string() const { return text_; }

 private:
  std::int64_t pick(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }
  const ImageNode& last() const { return images_.back(); }
  static std::size_t count(const ImageNode& image) {
    return Images::count(image.size());
  }
  void keep(const FilterNode& filter) {
    text_ +=
        filter.class_name() + filter.result_image().size().to_string() + ' ';
    images_.push_back(filter.result_image());
  }

  void add(unsigned seed) {
    const ImageSize size = last().size();
    switch (pick(0, 10)) {
      case 0:
      case 1:
        return keep(convolution(seed));
      case 2:
        return keep(TanHNode(last()));
      case 3:
        return keep(SigmoidNode(last()));
      case 4:
        return keep(ELUNode(last()));
      case 5:
        if (size.height < 3 || size.width < 3)
          return keep(SoftSignNode(last()));
        return keep(PoolingAverageNode(
            last(), {.kernel_size = {2, 2}, .strides = {1, 1}}));
      case 6:
        return keep(SoftMaxNode(last()));
      case 7:
        return keep(UpsamplingNearestNode(last(), 2, 1));
      case 8:
      case 9:
        return keep(normalization(seed));
      default:
        for (const ImageNode& other : images_) {
          if (other.size() != size) continue;
          return keep(MultiplicationNode(last(), other));
        }
        return keep(SoftPlusNode(last()));
    }
  }

  FilterNode convolution(unsigned seed) {
    const std::int64_t kernel = pick(1, 3);
    const ConvolutionDescriptor descriptor{
        .kernel_size = {kernel, kernel},
        .input_feature_channels = last().size().feature_channels,
        .output_feature_channels = 4 * pick(1, 2),
        .strides = {pick(1, 2), 1}};
    weights_.push_back(
        std::make_shared<GivenWeights>(descriptor, seed, optimizer_));
    // Neither images nor gradients grow along the chain.
    const double fan_in = static_cast<double>(
        kernel * kernel * descriptor.input_feature_channels);
    for (float& w : weights_.back()->weight_values) {
      w /= static_cast<float>(std::sqrt(fan_in));
    }
    return ConvolutionNode(last(), weights_.back());
  }

  FilterNode normalization(unsigned seed) {
    const std::int64_t channels = last().size().feature_channels;
    normalizations_.push_back(
        std::make_shared<GivenNormalization>(channels, seed, pick(1, 2) * 2));
    const auto& source = normalizations_.back();
    source->given_optimizer = optimizer_;
    source->given_momentum = 0.75f;
    // Images that are nearly constant give large numbers otherwise.
    source->given_epsilon = 0.25f;
    switch (pick(0, 2)) {
      case 0:
        return BatchNormalizationNode(last(), source);
      case 1:
        return InstanceNormalizationNode(last(), source);
      default:
        return GroupNormalizationNode(last(), source);
    }
  }

  std::mt19937 random_;
  OptimizerPtr optimizer_;
  std::vector<ImageNode> images_, ends_;
  std::vector<std::shared_ptr<GivenWeights>> weights_;
  std::vector<std::shared_ptr<GivenNormalization>> normalizations_;
  std::vector<Floats> inputs_;
  int num_copies_ = 0;
  std::size_t num_results_ = 0;
  std::string text_;
};

unsigned first_seed() {
  const char* given = std::getenv("TRAINGRAPH_TEST_SEED");
  return given == nullptr ? 1 : static_cast<unsigned>(std::atoi(given));
}

/// The difference is relative to the largest value when that is above 1.
double difference(const Floats& got, const Floats& expected) {
  double largest = 1, distance = 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    largest = std::max<double>(largest, std::abs(expected.at(k)));
    distance = std::max<double>(distance, std::abs(got[k] - expected[k]));
  }
  return distance / largest;
}

void expect_near(const std::vector<Floats>& got,
                 const std::vector<Floats>& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(difference(got[i], expected[i]), kTolerance)
        << what << "result " << i;
  }
}

TEST(RandomChains, TrainAsOnTheCpu) {
  if (test_device().type() == DeviceType::Null) return;
  int num_with_copies = 0, num_learning = 0;
  for (unsigned seed = first_seed(); seed < first_seed() + 30; ++seed) {
    const auto make = [&] {
      return RandomChain(seed, std::make_shared<optimizers::SGD>(1e-4f, 0.9f));
    };
    RandomChain on_cpu = make();
    const auto expected = on_cpu.train(Device::cpu(), true);
    const Floats& third_run = expected[2 * on_cpu.num_results()];
    num_learning += difference(third_run, expected[0]) > 10 * kTolerance;
    for (const bool uses_mpsnn : {true, false}) {
      RandomChain chain = make();
      const auto got = chain.train(test_device(), uses_mpsnn);
      expect_near(got, expected,
                  "seed " + std::to_string(seed) + ": " + chain.to_string());
      if (!uses_mpsnn) {
        EXPECT_EQ(chain.num_copies(), 0);
      }
      num_with_copies += chain.num_copies() > 0;
    }
  }
  // Else an update that is lost would not be seen.
  EXPECT_GE(num_learning, 10);
  // On a GPU nearly all of these filters are MPSNN's.
  EXPECT_GE(num_with_copies, test_device().type() == DeviceType::GPU ? 20 : 0);
}

}  // namespace
}  // namespace traingraph::nodes
