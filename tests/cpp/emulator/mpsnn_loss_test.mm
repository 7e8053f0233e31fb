// SPDX-License-Identifier: MIT
// Losses: all types, reductions, weights and label smoothing, as one node that
// is its own gradient and as a pair.
#import "mpsnn_loss_formulas.h"

@interface WeightCallback : TestCallback <MPSNNLossCallback> {
 @public
  float _weight;
}
@end

@implementation WeightCallback
- (float)scalarWeightForSourceImage:(MPSImage*)source
                   destinationImage:(MPSImage*)destination {
  EXPECT_GE([source width], [destination width]);
  return _weight;
}
@end

namespace {

class LossTest : public FilterTest {
 protected:
  /// Every type, with labels and predictions that it may have.
  std::vector<LossSetting> settings() {
    std::vector<LossSetting> all;
    for (std::uint32_t type = 0; type < MPSCNNLossTypeCount; ++type) {
      all.push_back({.type = MPSCNNLossType(type)});
    }
    all.push_back({.type = MPSCNNLossTypeSoftMaxCrossEntropy,
                   .smoothing = 0.25,
                   .classes = 4});
    all.push_back(
        {.type = MPSCNNLossTypeSigmoidCrossEntropy, .smoothing = 0.5});
    all.push_back({.type = MPSCNNLossTypeHuber, .delta = 0.5});
    all.push_back({.type = MPSCNNLossTypeLog, .epsilon = 0.0625});
    for (LossSetting& s : all) s.weight = pick(1, 3);
    return all;
  }
  MPSNNImageNode* predictions(const LossSetting& s, const Extent& e) {
    const bool is_probability =
        s.type == MPSCNNLossTypeCategoricalCrossEntropy ||
        s.type == MPSCNNLossTypeLog;
    return is_probability ? image(e, 0.1, 0.9) : image(e);
  }
  MPSNNImageNode* labels(const Extent& e) { return image(e, 0.1, 0.9); }

  static MPSCNNLossDataDescriptor* data_of(const Tensor& t, bool is_hwc) {
    const Extent e = t.extent;
    NSMutableData* data =
        [NSMutableData dataWithLength:e.count() * sizeof(float)];
    auto* floats = static_cast<float*>([data mutableBytes]);
    tensor_of(e, [&](auto c, auto y, auto x) {
      const auto at = is_hwc ? (y * e.width + x) * e.channels + c
                             : (c * e.height + y) * e.width + x;
      floats[at] = float(t.at(c, y, x));
      return 0;
    });
    return [MPSCNNLossDataDescriptor
        cnnLossDataDescriptorWithData:data
                               layout:
                                   is_hwc
                                       ? MPSDataLayoutHeightxWidthxFeatureChannels
                                       : MPSDataLayoutFeatureChannelsxHeightxWidth
                                 size:MTLSizeMake(e.width, e.height,
                                                  e.channels)];
  }
  /// A batch for the node: one object for each image.
  NSArray<MPSCNNLossLabels*>* batch(const Extent& loss, MPSNNImageNode* labels,
                                    MPSNNImageNode* weights, bool is_hwc) {
    NSMutableArray* all = [NSMutableArray array];
    for (int i = 0; i < kImages; ++i) {
      [all addObject:[[[MPSCNNLossLabels alloc]
                            initWithDevice:device_
                             lossImageSize:MTLSizeMake(loss.width, loss.height,
                                                       loss.channels)
                          labelsDescriptor:data_of(values(labels)[i], is_hwc)
                         weightsDescriptor:weights ? data_of(values(weights)[i],
                                                             is_hwc)
                                                   : nil] autorelease]];
    }
    return all;
  }
  static std::vector<double> loss_of(MPSCNNLossLabels* labels) {
    MPSImage* image = [labels lossImage];
    std::vector<float> floats([image width] * [image height] *
                              [image featureChannels]);
    [image readBytes:floats.data()
          dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth
          imageIndex:0];
    return {floats.begin(), floats.end()};
  }

  void expect_loss_node(const LossSetting& s, bool has_weights) {
    const Extent e = random_extent(4, 3);
    MPSNNImageNode* y = predictions(s, e);
    MPSNNImageNode* t = labels(e);
    MPSNNImageNode* w = has_weights ? image(e, 0.5, 2) : nil;
    const Formula formula = reduced(s);
    const auto sources = [&](int i) {
      Tensors all{values(y)[i], values(t)[i]};
      if (w) all.push_back(values(w)[i]);
      return all;
    };
    MPSCNNLossNode* node = [MPSCNNLossNode nodeWithSource:y
                                           lossDescriptor:descriptor(s)];
    NSArray* given = batch(formula(sources(0)).extent, t, w, pick(0, 1));
    const Tensors got = run([NSArray arrayWithObject:[node resultImage]],
                            [NSArray arrayWithObject:given])[0];
    for (int i = 0; i < kImages; ++i) {
      Tensor loss = formula(sources(i));
      const Tensor expected = loss;
      loss.data = loss_of([given objectAtIndex:i]);
      expect_close(loss, expected, kTolerance);
      expect_close(got[i], derivative(s, sources(i)), kTolerance);
    }
  }
  static Tensor derivative(const LossSetting& s, Tensors sources) {
    constexpr double kStep = 1e-5;
    Tensor result(sources[0].extent);
    for (std::size_t i = 0; i < result.data.size(); ++i) {
      double& y = sources[0].data[i];
      const double start = y;
      y = start + kStep;
      const double above = total(losses(s, sources));
      y = start - kStep;
      result.data[i] = (above - total(losses(s, sources))) / (2 * kStep);
      y = start;
    }
    return result;
  }
};

TEST_F(LossTest, NodeOfEveryType) {
  for (LossSetting s : settings()) {
    SCOPED_TRACE("type " + std::to_string(s.type));
    for (int reduction = 0; reduction < 4; ++reduction) {
      if (s.type == MPSCNNLossTypeCosineDistance && reduction != 1) continue;
      SCOPED_TRACE("reduction " + std::to_string(reduction));
      s.reduction = MPSCNNReductionType(reduction);
      expect_loss_node(s, /*has_weights=*/false);
      expect_loss_node(s, /*has_weights=*/true);
    }
  }
}

TEST_F(LossTest, PairOfEveryType) {
  for (LossSetting s : settings()) {
    for (int reduction = 0; reduction < 4; ++reduction) {
      if (s.type == MPSCNNLossTypeCosineDistance && reduction != 1) continue;
      SCOPED_TRACE("type " + std::to_string(s.type) + " reduction " +
                   std::to_string(reduction));
      s.reduction = MPSCNNReductionType(reduction);
      const Extent e = random_extent(4, 3);
      MPSNNImageNode* w = reduction % 2 ? image(e, 0.5, 2) : nil;
      MPSNNForwardLossNode* node = [[[MPSNNForwardLossNode alloc]
          initWithSource:predictions(s, e)
                  labels:labels(e)
                 weights:w
          lossDescriptor:descriptor(s)] autorelease];
      expect_forward(node, reduced(s));
      MPSNNImageNode* g = incoming_of(node, reduced(s));
      NSArray* gradients = [node gradientFiltersWithSource:g];
      ASSERT_EQ([gradients count], 2u);
      EXPECT_FALSE([[gradients objectAtIndex:0] isLabelsGradientFilter]);
      EXPECT_TRUE([[gradients objectAtIndex:1] isLabelsGradientFilter]);
      expect_gradients([node sourceImages], g, gradients, summed(s));
    }
  }
}

TEST_F(LossTest, ZeroWeightsDoNotCount) {
  const Extent e{1, 1, 4};
  const LossSetting s{.type = MPSCNNLossTypeMeanSquaredError,
                      .reduction = MPSCNNReductionTypeSumByNonZeroWeights};
  MPSNNForwardLossNode* node =
      [MPSNNForwardLossNode nodeWithSource:image(e)
                                    labels:image(e)
                                   weights:image_of(e, {0, 1, 0, 0.5})
                            lossDescriptor:descriptor(s)];
  expect_forward(node, reduced(s));
}

TEST_F(LossTest, ReducesAcrossTheBatch) {
  const Extent e{2, 2, 3};
  for (auto reduction : {MPSCNNReductionTypeSum, MPSCNNReductionTypeMean}) {
    const LossSetting s{.type = MPSCNNLossTypeMeanSquaredError,
                        .reduction = reduction};
    MPSCNNLossDescriptor* d = descriptor(s);
    [d setReduceAcrossBatch:YES];
    MPSNNForwardLossNode* node = [MPSNNForwardLossNode nodeWithSource:image(e)
                                                               labels:image(e)
                                                       lossDescriptor:d];
    double expected = 0;
    for (int i = 0; i < kImages; ++i) {
      const NSArray* sources = [node sourceImages];
      expected += total(losses(s, {values([sources objectAtIndex:0])[i],
                                   values([sources objectAtIndex:1])[i]}));
    }
    if (reduction == MPSCNNReductionTypeMean) {
      expected /= double(kImages * e.count());
    }
    const Tensors got = run([node resultImage]);
    EXPECT_NEAR(got[0].data[0], expected, kTolerance * expected);
    EXPECT_EQ(got[1].data[0], 0);
  }
}

TEST_F(LossTest, CallbackGivesTheWeight) {
  const Extent e{1, 2, 2};
  LossSetting s{.type = MPSCNNLossTypeMeanSquaredError};
  MPSNNForwardLossNode* node =
      [MPSNNForwardLossNode nodeWithSource:image(e)
                                    labels:image(e)
                            lossDescriptor:descriptor(s)];
  WeightCallback* callback = [[WeightCallback new] autorelease];
  callback->_weight = 3;
  [node setPropertyCallBack:callback];
  s.weight = 3;
  expect_forward(node, reduced(s));
  MPSNNImageNode* g = incoming_of(node, reduced(s));
  MPSNNLossGradientNode* gradient = [node gradientFilterWithSource:g];
  EXPECT_EQ([gradient propertyCallBack], callback);
  // It learns the weight from the state when it has none of its own.
  [gradient setPropertyCallBack:nil];
  expect_gradients([node sourceImages], g, [NSArray arrayWithObject:gradient],
                   summed(s));
}

TEST_F(LossTest, TrainingGraphOfThePair) {
  const Extent e{2, 2, 2};
  const LossSetting s{.type = MPSCNNLossTypeMeanSquaredError};
  MPSNNForwardLossNode* loss =
      [MPSNNForwardLossNode nodeWithSource:image(e)
                                    labels:image(e)
                            lossDescriptor:descriptor(s)];
  MPSNNInitialGradientNode* ones =
      [MPSNNInitialGradientNode nodeWithSource:[loss resultImage]];
  NSArray* leaves = [ones trainingGraphWithSourceGradient:nil nodeHandler:nil];
  ASSERT_EQ([leaves count], 2u);
  MPSNNImageNode* unit = image_of({1, 1, 1}, {1});
  expect_gradients([loss sourceImages], unit, leaves, summed(s));
}

TEST_F(LossTest, LabelsAndTheirImages) {
  MPSNNImageNode* node = image({2, 1, 3});
  const Tensor& t = values(node)[0];
  MPSCNNLossLabels* labels =
      [[[MPSCNNLossLabels alloc] initWithDevice:device_
                               labelsDescriptor:data_of(t, true)] autorelease];
  EXPECT_EQ([[labels lossImage] width], 1u);
  EXPECT_EQ([[labels lossImage] featureChannels], 1u);
  EXPECT_EQ([[labels labelsImage] featureChannels], 2u);
  MPSCNNLossLabels* shared =
      [[[MPSCNNLossLabels alloc] initWithDevice:device_
                                  lossImageSize:MTLSizeMake(1, 1, 1)
                                    labelsImage:[labels labelsImage]
                                   weightsImage:nil] autorelease];
  EXPECT_EQ([shared labelsImage], [labels labelsImage]);
  EXPECT_EQ(
      [MPSCNNLossDataDescriptor
          cnnLossDataDescriptorWithData:[NSData data]
                                 layout:
                                     MPSDataLayoutFeatureChannelsxHeightxWidth
                                   size:MTLSizeMake(1, 1, 1)],
      nil);
}

TEST_F(LossTest, Refuses) {
  const Extent e{2, 2, 2};
  MPSNNImageNode* y = image(e);
  MPSCNNLossDescriptor* mean =
      descriptor({.type = MPSCNNLossTypeCosineDistance,
                  .reduction = MPSCNNReductionTypeMean});
  MPSCNNLossDescriptor* sum =
      descriptor({.type = MPSCNNLossTypeMeanSquaredError});
  MPSNNFilterNode* loss = [MPSCNNLossNode nodeWithSource:y lossDescriptor:sum];
  MPSNNFilterNode* ones = [MPSNNInitialGradientNode nodeWithSource:y];
  MPSNNFilterNode* pair = [MPSNNForwardLossNode nodeWithSource:y
                                                        labels:y
                                                lossDescriptor:sum];
  MPSNNFilterNode* gradient = [pair gradientFilterWithSource:y];
  void (^calls[])() = {^{
      [MPSCNNLossNode nodeWithSource:y lossDescriptor:mean];
}
,
    ^{
      [loss gradientFilterWithSources:[NSArray arrayWithObject:y]];
    },
    ^{
      [ones gradientFilterWithSource:y];
    },
    ^{
      [gradient gradientFilterWithSource:y];
    },
    ^{
      [MPSNNForwardLossNode nodeWithSources:[NSArray arrayWithObject:y]
                             lossDescriptor:sum];
    },
};  // namespace
for (auto& call : calls) EXPECT_NE(raised(call), "");
EXPECT_NE(refusal_of([[MPSNNForwardLossNode nodeWithSource:y
                                                    labels:image({2, 2, 3})
                                            lossDescriptor:sum] resultImage]),
          "");
// The loss image must be one number, since the loss is a sum.
NSArray* wrong = [NSArray arrayWithObject:batch(e, image(e), nil, true)];
EXPECT_NE(raised(^{
            run([NSArray arrayWithObject:[loss resultImage]], wrong);
          }),
          "");
}

}  // namespace
