// SPDX-License-Identifier: MIT
// The GRU and the single gate of the emulator: two steps computed by hand, and
// their gradients against central differences.
#include "ops_support.h"

namespace {

class GruTest : public OpsTest {
 protected:
  NSArray<MPSGraphTensor*>* gru() {
    return [graph GRUWithSourceTensor:source
                      recurrentWeight:weight
                          inputWeight:nil
                                 bias:nil
                            initState:state
                                 mask:mask
                        secondaryBias:bias
                           descriptor:descriptor
                                 name:nil];
  }
  NSArray<MPSGraphTensor*>* gru_gradients(NSArray<MPSGraphTensor*>* results,
                                          MPSGraphTensor* gradient) {
    return [graph GRUGradientsWithSourceTensor:source
                               recurrentWeight:weight
                                sourceGradient:gradient
                                        zState:[results objectAtIndex:1]
                                     outputFwd:[results objectAtIndex:0]
                                 stateGradient:state_gradient
                                   inputWeight:nil
                                          bias:nil
                                     initState:state
                                          mask:mask
                                 secondaryBias:bias
                                    descriptor:descriptor
                                          name:nil];
  }
  void train() {
    descriptor = [MPSGraphGRUDescriptor descriptor];
    [descriptor setTraining:YES];
  }

  MPSGraphGRUDescriptor* descriptor = nil;
  MPSGraphTensor *source = nil, *weight = nil, *state = nil, *mask = nil,
                 *bias = nil, *state_gradient = nil;
};

TEST_F(GruTest, TwoStepsOfOneUnit) {
  train();
  [descriptor setResetAfter:YES];
  // Input weights 0.1, 0.2, 0.3 times 0.5 and -1, and the biases.
  source = feed({2, 1, 3}, {0.1, 0.2, 0.1, -0.05, -0.1, -0.35});
  weight = feed({3, 1}, {-0.1, 0.5, 0.25});
  bias = feed({0.15});
  state = feed({1, 1}, {0.2});
  state_gradient = feed({1, 1}, {0.3});
  NSArray<MPSGraphTensor*>* results = gru();
  NSArray<MPSGraphTensor*>* gradients =
      gru_gradients(results, feed({2, 1, 1}, {1, 0.5}));
  ASSERT_EQ([gradients count], 4u);
  constexpr double kPrinted = 1e-6;
  expect_near(run([results objectAtIndex:0]), {0.205588, -0.027201}, kPrinted);
  expect_near(run([results objectAtIndex:1]),
              {0.519989, 0.574443, 0.211641, 0.482368, 0.500698, -0.24413},
              kPrinted);
  expect_near(run([gradients objectAtIndex:1]), {0.017634, 0.010467, 0.115703},
              kPrinted);
  expect_near(run([gradients objectAtIndex:2]), {0.857452}, kPrinted);
  expect_near(run([gradients objectAtIndex:3]), {0.573067}, kPrinted);
}

TEST_F(GruTest, GradientsOfEveryOption) {
  for (int options = 0; options < 16; ++options) {
    train();
    [descriptor setReverse:(options & 1) != 0];
    [descriptor setResetGateFirst:(options & 2) != 0];
    [descriptor setResetAfter:(options & 4) != 0];
    [descriptor setFlipZ:(options & 8) != 0];
    const bool has_bias = (options & 4) != 0;
    source = feed({3, 2, 9}, scattered(54, 1));
    weight = feed({9, 3}, scattered(27, 2));
    state = feed({2, 3}, scattered(6, 3));
    mask = feed({2, 3}, scattered(6, 5));
    bias = has_bias ? feed({3}, scattered(3, 6)) : nil;
    NSArray<MPSGraphTensor*>* results = gru();
    MPSGraphTensor* gradient = feed({3, 2, 3}, scattered(18, 7));
    NSArray<MPSGraphTensor*>* gradients = gru_gradients(results, gradient);
    MPSGraphTensor* inputs[] = {source, weight, state, bias};
    for (NSUInteger i = 0; i < (has_bias ? 4u : 3u); ++i) {
      expect_gradient([gradients objectAtIndex:i], inputs[i],
                      [results objectAtIndex:0], gradient);
    }
  }
}

TEST_F(GruTest, SingleGate) {
  for (bool is_reverse : {false, true}) {
    MPSGraphSingleGateRNNDescriptor* single =
        [MPSGraphSingleGateRNNDescriptor descriptor];
    [single setTraining:YES];
    [single setReverse:is_reverse];
    [single setActivation:MPSGraphRNNActivationTanh];
    source = feed({3, 2, 3}, scattered(18, 1));
    weight = feed({3, 3}, scattered(9, 2));
    state = feed({2, 3}, scattered(6, 3));
    mask = feed({2, 3}, scattered(6, 5));
    NSArray<MPSGraphTensor*>* results =
        [graph singleGateRNNWithSourceTensor:source
                             recurrentWeight:weight
                                 inputWeight:nil
                                        bias:nil
                                   initState:state
                                        mask:mask
                                  descriptor:single
                                        name:nil];
    MPSGraphTensor* gradient = feed({3, 2, 3}, scattered(18, 7));
    NSArray<MPSGraphTensor*>* gradients =
        [graph singleGateRNNGradientsWithSourceTensor:source
                                      recurrentWeight:weight
                                       sourceGradient:gradient
                                               zState:[results objectAtIndex:1]
                                        stateGradient:nil
                                          inputWeight:nil
                                                 bias:nil
                                            initState:state
                                                 mask:mask
                                           descriptor:single
                                                 name:nil];
    MPSGraphTensor* inputs[] = {source, weight, state};
    for (NSUInteger i = 0; i < 3; ++i) {
      expect_gradient([gradients objectAtIndex:i], inputs[i],
                      [results objectAtIndex:0], gradient);
    }
  }
}

TEST_F(GruTest, RefusesWhatDoesNotFit) {
  train();
  source = feed({2, 1, 3}, Values(6));
  weight = feed({3, 1}, Values(3));
  EXPECT_EQ(refusal([&] { gru(); }), "");
  state = feed({2, 1}, Values(2));
  EXPECT_NE(refusal([&] { gru(); }), "");
  state = nil;
  [descriptor setBidirectional:YES];
  EXPECT_NE(refusal([&] { gru(); }), "");
}

}  // namespace
