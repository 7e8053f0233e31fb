// SPDX-License-Identifier: MIT
// The LSTM of the emulator: two steps computed by hand, and its gradients
// against central differences.
#include "ops_support.h"

namespace {

class RnnTest : public OpsTest {
 protected:
  NSArray<MPSGraphTensor*>* forward() {
    return [graph LSTMWithSourceTensor:source
                       recurrentWeight:weight
                           inputWeight:nil
                                  bias:nil
                             initState:state
                              initCell:cell
                                  mask:mask
                              peephole:peephole
                            descriptor:descriptor
                                  name:nil];
  }
  NSArray<MPSGraphTensor*>* backward(NSArray<MPSGraphTensor*>* results,
                                     MPSGraphTensor* gradient) {
    return [graph LSTMGradientsWithSourceTensor:source
                                recurrentWeight:weight
                                 sourceGradient:gradient
                                         zState:[results objectAtIndex:2]
                                  cellOutputFwd:[results objectAtIndex:1]
                                  stateGradient:state_gradient
                                   cellGradient:cell_gradient
                                    inputWeight:nil
                                           bias:nil
                                      initState:state
                                       initCell:cell
                                           mask:mask
                                       peephole:peephole
                                     descriptor:descriptor
                                           name:nil];
  }
  void train() {
    descriptor = [MPSGraphLSTMDescriptor descriptor];
    [descriptor setTraining:YES];
    [descriptor setProduceCell:YES];
  }

  MPSGraphLSTMDescriptor* descriptor = nil;
  MPSGraphTensor *source = nil, *weight = nil, *state = nil, *cell = nil,
                 *mask = nil, *peephole = nil, *state_gradient = nil,
                 *cell_gradient = nil;
};

TEST_F(RnnTest, TwoStepsOfOneUnit) {
  train();
  // Input weights 0.1, 0.2, 0.3, 0.4 times 0.5 and -1, and the biases.
  source = feed({2, 1, 4}, {0.1, 0.2, 0.1, 0.4, -0.05, -0.1, -0.35, -0.2});
  weight = feed({4, 1}, {-0.1, 0.5, 0.25, -0.3});
  peephole = feed({0.3, -0.2, 0.1, 0.4});
  state = feed({1, 1}, {0.2});
  cell = feed({1, 1}, {-0.1});
  state_gradient = feed({1, 1}, {0.3});
  cell_gradient = feed({1, 1}, {-0.2});
  NSArray<MPSGraphTensor*>* results = forward();
  NSArray<MPSGraphTensor*>* gradients =
      backward(results, feed({2, 1, 1}, {1, 0.5}));
  ASSERT_EQ([gradients count], 5u);
  constexpr double kPrinted = 1e-6;
  expect_near(run([results objectAtIndex:0]), {0.00767, -0.069998}, kPrinted);
  expect_near(run([results objectAtIndex:1]), {0.013352, -0.1565}, kPrinted);
  expect_near(run([results objectAtIndex:2]),
              {0.512497, 0.579324, 0.139092, 0.574443, 0.488312, 0.475311,
               -0.333488, 0.450919},
              kPrinted);
  expect_near(run([gradients objectAtIndex:1]),
              {0.004439, -0.003177, 0.066108, 0.000435}, kPrinted);
  expect_near(run([gradients objectAtIndex:2]),
              {-0.002437, 0.001597, -0.03192, -0.000746}, kPrinted);
  expect_near(run([gradients objectAtIndex:3]), {0.070776}, kPrinted);
  expect_near(run([gradients objectAtIndex:4]), {0.422224}, kPrinted);
}

TEST_F(RnnTest, GradientsOfEveryOption) {
  for (bool is_reverse : {false, true}) {
    for (bool is_forget_last : {false, true}) {
      train();
      [descriptor setReverse:is_reverse];
      [descriptor setForgetGateLast:is_forget_last];
      source = feed({3, 2, 12}, scattered(72, 1));
      weight = feed({12, 3}, scattered(36, 2));
      state = feed({2, 3}, scattered(6, 3));
      cell = feed({2, 3}, scattered(6, 4));
      mask = feed({2, 3}, scattered(6, 5));
      peephole = feed({12}, scattered(12, 6));
      NSArray<MPSGraphTensor*>* results = forward();
      MPSGraphTensor* gradient = feed({3, 2, 3}, scattered(18, 7));
      NSArray<MPSGraphTensor*>* gradients = backward(results, gradient);
      MPSGraphTensor* inputs[] = {source, weight, peephole, state, cell};
      for (NSUInteger i = 0; i < 5; ++i) {
        expect_gradient([gradients objectAtIndex:i], inputs[i],
                        [results objectAtIndex:0], gradient);
      }
    }
  }
}

TEST_F(RnnTest, RefusesWhatDoesNotFit) {
  train();
  source = feed({2, 1, 4}, Values(8));
  weight = feed({4, 1}, Values(4));
  EXPECT_EQ(refusal([&] { forward(); }), "");
  state = feed({2, 1}, Values(2));
  EXPECT_NE(refusal([&] { forward(); }), "");
  state = nil;
  [descriptor setBidirectional:YES];
  EXPECT_NE(refusal([&] { forward(); }), "");
}

}  // namespace
