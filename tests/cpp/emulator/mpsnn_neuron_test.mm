// SPDX-License-Identifier: MIT
// Neurons: every type, made by every constructor, with their gradients.
#include <cmath>

#import "mpsnn_filter_support.h"

namespace {

using Function = std::function<double(double)>;

class NeuronTest : public FilterTest {
 protected:
  void expect_neuron(MPSNNFilterNode* node, const Function& f) {
    SCOPED_TRACE(object_getClassName(node));
    expect_filter(node, [f](const Tensors& x) { return map(x[0], f); });
  }
  /// Its arguments: of no kink, since gradients are compared with differences.
  MPSNNImageNode* source(double low = -2, double high = 2) {
    return image(random_extent(), low, high);
  }
};

MPSNNNeuronDescriptor* described(MPSCNNNeuronType type, float a, float b,
                                 float c) {
  return [MPSNNNeuronDescriptor cnnNeuronDescriptorWithType:type a:a b:b c:c];
}

TEST_F(NeuronTest, WithDefaults) {
  expect_neuron([MPSCNNNeuronAbsoluteNode nodeWithSource:source()],
                [](double x) { return std::abs(x); });
  expect_neuron([MPSCNNNeuronLinearNode nodeWithSource:source()],
                [](double x) { return x; });
  expect_neuron([MPSCNNNeuronReLUNode nodeWithSource:source()],
                [](double x) { return std::max(x, 0.0); });
  // The negative side is linear: the default of a is 1.
  expect_neuron([MPSCNNNeuronReLUNNode nodeWithSource:source(-9, 9)],
                [](double x) { return std::min(x, 6.0); });
  expect_neuron([MPSCNNNeuronSigmoidNode nodeWithSource:source()],
                [](double x) { return 1 / (1 + std::exp(-x)); });
  expect_neuron(
      [MPSCNNNeuronHardSigmoidNode nodeWithSource:source(-4, 4)],
      [](double x) { return std::clamp(double(0.2f) * x + 0.5, 0.0, 1.0); });
  expect_neuron([MPSCNNNeuronTanHNode nodeWithSource:source()],
                [](double x) { return std::tanh(x); });
  expect_neuron([MPSCNNNeuronSoftPlusNode nodeWithSource:source()],
                [](double x) { return std::log(1 + std::exp(x)); });
  expect_neuron([MPSCNNNeuronSoftSignNode nodeWithSource:source()],
                [](double x) { return x / (1 + std::abs(x)); });
  expect_neuron([MPSCNNNeuronELUNode nodeWithSource:source()],
                [](double x) { return x >= 0 ? x : std::exp(x) - 1; });
  expect_neuron([MPSCNNNeuronGeLUNode nodeWithSource:source()], [](double x) {
    return x / 2 * (1 + std::erf(x / std::sqrt(2)));
  });
  expect_neuron([MPSCNNNeuronPowerNode nodeWithSource:source()],
                [](double x) { return x; });
  expect_neuron([MPSCNNNeuronExponentialNode nodeWithSource:source()],
                [](double x) { return std::exp(x); });
  expect_neuron([MPSCNNNeuronLogarithmNode nodeWithSource:source(0.5, 2)],
                [](double x) { return std::log(x); });
}

TEST_F(NeuronTest, WithParameters) {
  expect_neuron([MPSCNNNeuronLinearNode nodeWithSource:source() a:-2 b:0.5f],
                [](double x) { return -2 * x + 0.5; });
  expect_neuron([MPSCNNNeuronReLUNode nodeWithSource:source() a:0.25f],
                [](double x) { return x >= 0 ? x : x / 4; });
  expect_neuron([MPSCNNNeuronReLUNNode nodeWithSource:source() a:0.25f b:1],
                [](double x) { return std::min(x >= 0 ? x : x / 4, 1.0); });
  expect_neuron([MPSCNNNeuronHardSigmoidNode nodeWithSource:source()
                                                          a:0.5f
                                                          b:0.25f],
                [](double x) { return std::clamp(0.5 * x + 0.25, 0.0, 1.0); });
  expect_neuron([MPSCNNNeuronTanHNode nodeWithSource:source() a:2 b:0.5f],
                [](double x) { return 2 * std::tanh(x / 2); });
  expect_neuron([MPSCNNNeuronSoftPlusNode nodeWithSource:source() a:2 b:-3],
                [](double x) { return 2 * std::log(1 + std::exp(-3 * x)); });
  expect_neuron([MPSCNNNeuronELUNode nodeWithSource:source() a:0.5f],
                [](double x) { return x >= 0 ? x : (std::exp(x) - 1) / 2; });
  expect_neuron([MPSCNNNeuronPowerNode nodeWithSource:source() a:0.5f b:2 c:3],
                [](double x) { return std::pow(x / 2 + 2, 3); });
  expect_neuron([MPSCNNNeuronExponentialNode nodeWithSource:source()
                                                          a:0.5f
                                                          b:1
                                                          c:3],
                [](double x) { return std::pow(3, x / 2 + 1); });
  expect_neuron([MPSCNNNeuronLogarithmNode nodeWithSource:source()
                                                        a:0.5f
                                                        b:2
                                                        c:10],
                [](double x) { return std::log10(x / 2 + 2); });
}

TEST_F(NeuronTest, SlopesPerChannel) {
  const float slopes[] = {0.5f, -0.25f, 2};
  NSData* data = [NSData dataWithBytes:slopes length:sizeof slopes];
  const Formula formula = [&](const Tensors& s) {
    return tensor_of(s[0].extent, [&](auto c, auto y, auto x) {
      const double value = s[0].at(c, y, x);
      return value >= 0 ? value : slopes[c] * value;
    });
  };
  expect_filter([MPSCNNNeuronPReLUNode nodeWithSource:image({3, 4, 2})
                                                aData:data],
                formula);
  MPSNNNeuronDescriptor* descriptor =
      [MPSNNNeuronDescriptor cnnNeuronPReLUDescriptorWithData:data noCopy:NO];
  expect_filter([MPSCNNNeuronNode nodeWithSource:image({3, 1, 5})
                                      descriptor:descriptor],
                formula);
  EXPECT_NE(
      refusal_of([[MPSCNNNeuronPReLUNode nodeWithSource:image({4, 1, 1})
                                                  aData:data] resultImage]),
      "");
}

TEST_F(NeuronTest, DescriptorChoosesTheClass) {
  MPSCNNNeuronNode* node = [MPSCNNNeuronNode
      nodeWithSource:source()
          descriptor:described(MPSCNNNeuronTypeTanH, 2, 0.5f, 0)];
  EXPECT_TRUE([node isMemberOfClass:[MPSCNNNeuronTanHNode class]]);
  EXPECT_EQ([node a], 2);
  EXPECT_EQ([node b], 0.5f);
  EXPECT_EQ([node c], 0);
  expect_neuron(node, [](double x) { return 2 * std::tanh(x / 2); });
  expect_neuron([MPSCNNNeuronNode
                    nodeWithSource:source()
                        descriptor:described(MPSCNNNeuronTypeNone, 0, 0, 0)],
                [](double x) { return x; });
}

TEST_F(NeuronTest, GradientAtKinks) {
  // At zero ReLU has slope 1, at its bound ReLUN 0; the ends of the hard
  // sigmoid belong to its slope, and the absolute value has none at zero.
  struct Case {
    MPSNNFilterNode* node;
    std::vector<double> expected;
  };
  const auto at = [this](double a, double b) {
    return image_of({2, 1, 1}, {a, b});
  };
  const Case cases[] = {
      {[MPSCNNNeuronReLUNode nodeWithSource : at(0, -1) a : 0.5f], { 1, 0.5 }},
      {[MPSCNNNeuronReLUNNode nodeWithSource : at(6, 0)], { 0, 1 }},
      {[MPSCNNNeuronHardSigmoidNode nodeWithSource : at(-1, 1)
            a : 0.5f b : 0.5f],
       { 0.5, 0.5 }},
      {[MPSCNNNeuronAbsoluteNode nodeWithSource : at(0, -3)], { 0, -1 }},
  };
  for (const Case& one : cases) {
    MPSNNFilterNode* gradient =
        [one.node gradientFilterWithSource:image_of({2, 1, 1}, {1, 1})];
    EXPECT_EQ(run([gradient resultImage])[0].data, one.expected)
        << object_getClassName(one.node);
  }
}

TEST_F(NeuronTest, GradientCalls) {
  MPSNNFilterNode* node = [MPSCNNNeuronReLUNode nodeWithSource:source()];
  MPSNNImageNode* g = image({1, 1, 1});
  NSArray* one = [NSArray arrayWithObject:g];
  NSArray* two = [NSArray arrayWithObjects:g, g, nil];
  EXPECT_TRUE([[node gradientFilterWithSources:one]
      isKindOfClass:[MPSCNNNeuronGradientNode class]]);
  EXPECT_EQ([[node gradientFiltersWithSource:g] count], 1u);
  EXPECT_EQ([[node gradientFiltersWithSources:one] count], 1u);
  EXPECT_NE(raised(^{
              [node gradientFilterWithSources:two];
            }),
            "");
  MPSNNFilterNode* gradient = [node gradientFilterWithSource:g];
  EXPECT_NE(raised(^{
              [gradient gradientFilterWithSource:g];
            }),
            "");
  // It must be as large as the forward result.
  MPSNNFilterNode* wrong =
      [[MPSCNNNeuronReLUNode nodeWithSource:image({2, 3, 4})]
          gradientFilterWithSource:image({2, 3, 5})];
  EXPECT_NE(refusal_of([wrong resultImage]), "");
}

}  // namespace
