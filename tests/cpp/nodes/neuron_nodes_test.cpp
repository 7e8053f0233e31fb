// SPDX-License-Identifier: MIT
// Every neuron, and the other filters without windows, by their formulas.
#include "nodes/node_check.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

constexpr ImageSize kSize{3, 4, 5};

/// f of each element alone.
Formula each(std::function<double(double)> f) {
  return [f](const std::vector<Images>& sources) {
    Images y = sources[0];
    for (double& value : y.values) value = f(value);
    return y;
  };
}

template <class Node, class... Args>
MakeFilter make(Args... args) {
  return [=](const std::vector<ImageNode>& sources) -> FilterNode {
    return Node(sources[0], args...);
  };
}

double soft_plus(double x) { return std::log1p(std::exp(x)); }

TEST(NeuronNodes, AreTheirFormulas) {
  std::vector<NodeCase> cases{
      {"absolute", {kSize}, make<AbsoluteNode>(), each([](double x) {
         return std::abs(x);
       })},
      {"linear", {kSize}, make<LinearNode>(2.5f, -0.5f), each([](double x) {
         return 2.5 * x - 0.5;
       })},
      {"relu", {kSize}, make<ReLUNode>(0.0f), each([](double x) {
         return std::max(x, 0.0);
       })},
      {"leaky relu", {kSize}, make<ReLUNode>(0.25f), each([](double x) {
         return x >= 0 ? x : 0.25 * x;
       })},
      {"relu turned round", {kSize}, make<ReLUNode>(-0.5f), each([](double x) {
         return x >= 0 ? x : -0.5 * x;
       })},
      {"relun",
       {kSize},
       make<ReLUNNode>(0.5f, 0.4f),
       each([](double x) { return std::min(x >= 0 ? x : 0.5 * x, 0.4); }),
       -0.9,
       0.9},
      {"sigmoid",
       {kSize},
       make<SigmoidNode>(),
       each([](double x) { return 1 / (1 + std::exp(-x)); }),
       -6,
       6},
      {"hard sigmoid",
       {kSize},
       make<HardSigmoidNode>(0.2f, 0.5f),
       each([](double x) {
         return std::clamp(double{0.2f} * x + 0.5, 0.0, 1.0);
       }),
       -5,
       5},
      {"tanh",
       {kSize},
       make<TanHNode>(1.5f, 0.75f),
       each([](double x) { return 1.5 * std::tanh(0.75 * x); }),
       -3,
       3},
      {"soft plus",
       {kSize},
       make<SoftPlusNode>(2.0f, -1.5f),
       each([](double x) { return 2 * soft_plus(-1.5 * x); }),
       -3,
       3},
      {"soft sign", {kSize}, make<SoftSignNode>(), each([](double x) {
         return x / (1 + std::abs(x));
       })},
      {"elu", {kSize}, make<ELUNode>(0.5f), each([](double x) {
         return x >= 0 ? x : 0.5 * std::expm1(x);
       })},
      {"power", {kSize}, make<PowerNode>(0.5f, 2.0f, -1.5f), each([](double x) {
         return std::pow(0.5 * x + 2, -1.5);
       })},
      {"exponential",
       {kSize},
       make<ExponentialNode>(0.5f, 0.25f, 2.0f),
       each([](double x) { return std::pow(2, 0.5 * x + 0.25); })},
      {"exponential of e",
       {kSize},
       make<ExponentialNode>(0.5f, 0.25f, -1.0f),
       each([](double x) { return std::exp(0.5 * x + 0.25); })},
      {"logarithm",
       {kSize},
       make<LogarithmNode>(0.5f, 1.5f, 10.0f),
       each([](double x) { return std::log10(0.5 * x + 1.5); })},
      {"logarithm to e",
       {kSize},
       make<LogarithmNode>(0.5f, 1.5f, -1.0f),
       each([](double x) { return std::log(0.5 * x + 1.5); })},
      {"gelu",
       {kSize},
       make<GeLUNode>(),
       each([](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }),
       -3,
       3},
      {"none",
       {kSize},
       [](const auto& s) -> FilterNode {
         return NeuronNode(s[0], {.type = NeuronType::None});
       },
       each([](double x) { return x; })},
  };
  // Nothing is left of the last one when it is compiled.
  cases.back().is_mpsnns = false;
  for (const NodeCase& node : cases) check_node(node, 11);
}

TEST(NeuronNodes, PReluHasASlopePerChannel) {
  const std::vector<float> slopes{0.5f, -0.25f, 2.0f};
  check_node({"prelu",
              {kSize},
              make<PReLUNode>(slopes),
              [&](const std::vector<Images>& sources) {
                Images y = sources[0];
                for_each_element(kSize, [&](auto n, auto c, auto i, auto j) {
                  double& value = y.at(n, c, i, j);
                  if (value < 0) value *= slopes[static_cast<std::size_t>(c)];
                });
                return y;
              }},
             12);
}

/// The slope at 0, where the activation ops have another.
TEST(NeuronNodes, CornersHaveTheSlopeFromTheRight) {
  const auto slope_at = [](const FilterNode& node, float x) {
    const ImageNode g("g", node.result_image().size());
    const GradientFilterNode gradient = node.gradient_filter(g);
    gradient.result_image().set_handle("dx");
    Graph graph(test_device(), {gradient.result_image()});
    const Floats at{x}, one{1};
    const Execution run = graph.execute({{"x", view(at)}, {"g", view(one)}});
    return floats_of(run.result().output("dx")).front();
  };
  if (test_device().type() == DeviceType::Null) return;
  const ImageNode x("x", {1, 1, 1});
  EXPECT_EQ(slope_at(ReLUNode(x, 0.25f), 0), 1);
  EXPECT_EQ(slope_at(ReLUNode(x, 0.25f), -0.0f), 1);
  EXPECT_EQ(slope_at(ReLUNode(x, 0.25f), -1), 0.25f);
  EXPECT_EQ(slope_at(ReLUNNode(x, 0.25f, 6), 0), 1);
  EXPECT_EQ(slope_at(ReLUNNode(x, 0.25f, 6), 6), 0);
  EXPECT_EQ(slope_at(ReLUNNode(x, 0.25f, -1), 0), 0);
  EXPECT_EQ(slope_at(PReLUNode(x, {0.25f}), 0), 1);
  EXPECT_EQ(slope_at(ELUNode(x, 0.25f), 0), 1);
  EXPECT_EQ(slope_at(AbsoluteNode(x), 0), 0);
  EXPECT_EQ(slope_at(HardSigmoidNode(x, 0.5f, 0.5f), -1), 0.5f);
  EXPECT_EQ(slope_at(HardSigmoidNode(x, 0.5f, 0.5f), 1), 0.5f);
  EXPECT_EQ(slope_at(HardSigmoidNode(x, 0.5f, 0.5f), 1.25f), 0);
}

TEST(NeuronNodes, RefuseParametersThatTheFunctionDoesNotTake) {
  const ImageNode x("x", kSize);
  const auto refuses = [&](NeuronDescriptor descriptor) {
    const ErrorInfo error =
        error_of<InvalidArgument>([&] { NeuronNode(x, descriptor); });
    EXPECT_EQ(error.op, "NeuronNode");
  };
  refuses({.type = NeuronType::Sigmoid, .a = 1});
  refuses({.type = NeuronType::ReLU, .b = 1});
  refuses({.type = NeuronType::Linear, .a = NAN});
  refuses({.type = NeuronType::Logarithm, .a = 1, .c = 1});
  refuses({.type = NeuronType::Exponential, .a = 1, .c = -2});
  refuses({.type = NeuronType::PReLU, .prelu_data = {1, 2}});
  refuses({.type = NeuronType::ReLU, .prelu_data = {1, 2, 3}});
  refuses({.type = static_cast<NeuronType>(99)});
}

// Softmax, arithmetic.

Images softmax(const Images& x, bool is_log) {
  Images y(x.size);
  for_each_element(x.size, [&](auto n, auto c, auto i, auto j) {
    double sum = 0;
    for (std::int64_t k = 0; k < x.size.feature_channels; ++k) {
      sum += std::exp(x.at(n, k, i, j));
    }
    const double log = x.at(n, c, i, j) - std::log(sum);
    y.at(n, c, i, j) = is_log ? log : std::exp(log);
  });
  return y;
}

TEST(SoftMaxNodes, AreOverChannels) {
  check_node({"softmax",
              {kSize},
              make<SoftMaxNode>(),
              [](const auto& s) { return softmax(s[0], false); },
              -3,
              3},
             13);
  check_node({"log softmax",
              {kSize},
              make<LogSoftMaxNode>(),
              [](const auto& s) { return softmax(s[0], true); },
              -3,
              3},
             14);
}

template <class Node>
MakeFilter make_binary(ArithmeticOptions options) {
  return [=](const std::vector<ImageNode>& s) -> FilterNode {
    return Node(s[0], s[1], options);
  };
}

/// Reads element 0 of axes whose stride is 0.
double strided(const Images& x, const std::array<std::int64_t, 3>& strides,
               std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j) {
  return x.at(n, c * strides[0], i * strides[1], j * strides[2]);
}

Formula arithmetic(const ArithmeticOptions& o, ImageSize size,
                   std::function<double(double, double)> f) {
  return [=](const std::vector<Images>& s) {
    Images z(size);
    for_each_element(size, [&](auto n, auto c, auto i, auto j) {
      const double x =
          o.primary_scale * strided(s[0], o.primary_strides, n, c, i, j);
      const double y =
          o.secondary_scale * strided(s[1], o.secondary_strides, n, c, i, j);
      z.at(n, c, i, j) = std::clamp<double>(f(x, y) + o.bias, o.minimum_value,
                                            o.maximum_value);
    });
    return z;
  };
}

void check_arithmetic(const ArithmeticOptions& options, bool is_mpsnns = true) {
  const std::vector<ImageSize> sizes{kSize, kSize};
  std::vector<NodeCase> cases{
      {"add", sizes, make_binary<AdditionNode>(options),
       arithmetic(options, kSize, std::plus<>())},
      {"subtract", sizes, make_binary<SubtractionNode>(options),
       arithmetic(options, kSize, std::minus<>())},
      {"multiply", sizes, make_binary<MultiplicationNode>(options),
       arithmetic(options, kSize, std::multiplies<>())}};
  unsigned seed = 15;
  for (NodeCase& node : cases) {
    node.is_mpsnns = is_mpsnns;
    check_node(node, seed++);
  }
}

TEST(ArithmeticNodes, ScaleAddBiasAndClamp) {
  const ArithmeticOptions options{.primary_scale = 1.5f,
                                  .secondary_scale = -0.5f,
                                  .bias = 0.25f,
                                  .minimum_value = -0.75f,
                                  .maximum_value = 1};
  check_arithmetic(options, /*is_mpsnns=*/false);
  check_arithmetic({.primary_scale = 1.5f, .secondary_scale = -0.5f});
}

TEST(ArithmeticNodes, AStrideOfZeroReadsOneElementAndSumsItsGradient) {
  const ArithmeticOptions both{.primary_strides = {1, 1, 0},
                               .secondary_strides = {0, 0, 1}};
  NodeCase node{"both",
                {{3, 4, 2}, {1, 1, 5}},
                make_binary<MultiplicationNode>(both),
                arithmetic(both, {3, 4, 5}, std::multiplies<>())};
  node.is_mpsnns = false;
  check_node(node, 18);
  const ArithmeticOptions second{.secondary_strides = {0, 0, 1}};
  check_node({"second",
              {{3, 4, 5}, {1, 1, 5}},
              make_binary<MultiplicationNode>(second),
              arithmetic(second, {3, 4, 5}, std::multiplies<>())},
             18);
}

TEST(ArithmeticNodes, ReadOneImageTwice) {
  const ImageNode x("x", {1, 1, 2}), g("g", {1, 1, 2});
  const SubtractionNode node(x, x, {.primary_scale = 3});
  const auto gradients = node.gradient_filters(g);
  ASSERT_EQ(gradients.size(), 2u);
  gradients[0].result_image().set_handle("left");
  gradients[1].result_image().set_handle("right");
  Graph graph(test_device(),
              {gradients[0].result_image(), gradients[1].result_image()});
  const Floats values{5, 7};
  const ExecutionResult result =
      graph.execute({{"x", view(values)}, {"g", view(values)}}).result();
  if (test_device().type() == DeviceType::Null) return;
  EXPECT_EQ(floats_of(result.output("left")), (Floats{15, 21}));
  EXPECT_EQ(floats_of(result.output("right")), (Floats{-5, -7}));
}

TEST(ArithmeticNodes, DivideWithoutAGradient) {
  const ImageNode x("x", kSize), y("y", kSize);
  const DivisionNode node(x, y);
  const ErrorInfo error = error_of<UnsupportedError>(
      [&] { node.gradient_filters(ImageNode("g", kSize)); });
  EXPECT_EQ(error.node, "DivisionNode");
  EXPECT_FALSE(node.result_state());
}

TEST(DropoutNode, TheGradientIsDroppedAsTheImageWas) {
  const ImageSize size{2, 8, 8};
  const ImageNode x("x", size), g("g", size);
  for (const std::int64_t stride : {1, 0}) {
    const DropoutNode node(
        x, {.keep_probability = 0.75f, .mask_strides = {stride, 1, 1}});
    const GradientFilterNode gradient = node.gradient_filter(g);
    Graph graph(test_device(), {node.result_image(), gradient.result_image()});
    const Floats ones(128, 1.0f);
    const ExecutionResult first =
        graph.execute({{"x", view(ones)}, {"g", view(ones)}}).result();
    if (test_device().type() == DeviceType::Null) return;
    const Floats y = floats_of(first.output("dropout"));
    EXPECT_EQ(y, floats_of(first.output("dropout_gradient")));
    int kept = 0;
    for (const float value : y) {
      EXPECT_TRUE(value == 0 || std::abs(value - 1 / 0.75f) < 1e-6f) << value;
      kept += value != 0;
    }
    EXPECT_GT(kept, 64);
    EXPECT_LT(kept, 122);
    if (stride == 0) {
      EXPECT_EQ(Floats(y.begin(), y.begin() + 64),
                Floats(y.begin() + 64, y.end()));
    }
    const Execution second =
        graph.execute({{"x", view(ones)}, {"g", view(ones)}});
    EXPECT_NE(y, floats_of(second.result().output("dropout")));
  }
}

}  // namespace
}  // namespace traingraph::nodes
