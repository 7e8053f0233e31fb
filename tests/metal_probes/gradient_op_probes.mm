// SPDX-License-Identifier: MIT
// What MPSGraph's gradient, loss and optimizer ops compute. The Metal device
// composes these itself; agreement would allow the shorter form.
#include <cmath>

#include "metal/assumptions.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

std::string sigmoid_gradient_source() {
  constexpr float kSource = 0.7F;
  Lab lab;
  T gradient =
      [lab.graph() sigmoidGradientWithIncomingGradient:lab.input({1})
                                          sourceTensor:lab.input({kSource})
                                                  name:@"gradient"];
  const float y = 1 / (1 + std::exp(-kSource));
  return explain(lab.run(gradient),
                 {{"the forward input", {y * (1 - y)}},
                  {"the forward output", {kSource * (1 - kSource)}}});
}

Numbers softmax(const Numbers& x) {
  float sum = 0;
  for (float value : x) sum += std::exp(value);
  Numbers y;
  for (float value : x) y.push_back(std::exp(value) / sum);
  return y;
}

/// Of the first output, where `y` is the output.
Numbers softmax_gradient(const Numbers& y) {
  Numbers gradient;
  for (std::size_t i = 0; i < y.size(); ++i) {
    gradient.push_back(y[i] * ((i == 0 ? 1.0F : 0.0F) - y[0]));
  }
  return gradient;
}

std::string softmax_gradient_source() {
  const Numbers source = {0.2F, 0.3F, 0.5F};
  Lab lab;
  T gradient = [lab.graph()
      softMaxGradientWithIncomingGradient:lab.input({1, 0, 0}, {1, 3})
                             sourceTensor:lab.input(source, {1, 3})
                                     axis:1
                                     name:@"gradient"];
  return explain(lab.run(gradient),
                 {{"the forward input", softmax_gradient(softmax(source))},
                  {"the forward output", softmax_gradient(source)}});
}

constexpr int kRows = 2, kClasses = 3;
const Extents kLossShape = {kRows, kClasses};
const Numbers kLabels = {1, 0, 0, 0, 1, 0};

std::string loss_mean_divisor() {
  Lab lab;
  T loss = [lab.graph()
      softMaxCrossEntropyWithSourceTensor:lab.input(Numbers(6, 0), kLossShape)
                             labelsTensor:lab.input(kLabels, kLossShape)
                                     axis:1
                            reductionType:MPSGraphLossReductionTypeMean
                                     name:@"loss"];
  const float sum = kRows * std::log(static_cast<float>(kClasses));
  return explain(lab.run(loss), {{"rows", {sum / kRows}},
                                 {"elements", {sum / (kRows * kClasses)}},
                                 {"classes", {sum / kClasses}},
                                 {"1", {sum}}});
}

std::string loss_gradient_divisor() {
  constexpr float kIncoming = 2;
  Lab lab;
  T gradient = [lab.graph()
      softMaxCrossEntropyGradientWithIncomingGradientTensor:lab.input(
                                                                {kIncoming})
                                               sourceTensor:lab.input(
                                                                Numbers(6, 0),
                                                                kLossShape)
                                               labelsTensor:lab.input(
                                                                kLabels,
                                                                kLossShape)
                                                       axis:1
                                              reductionType:
                                                  MPSGraphLossReductionTypeMean
                                                       name:@"gradient"];
  const auto divided_by = [](float divisor) {
    Numbers expected;
    for (float label : kLabels) {
      expected.push_back((1.0F / kClasses - label) / divisor);
    }
    return expected;
  };
  return explain(
      lab.run(gradient),
      {{"times the incoming gradient, by rows", divided_by(kRows / kIncoming)},
       {"times the incoming gradient, by elements",
        divided_by(kRows * kClasses / kIncoming)},
       {"times the incoming gradient, not divided", divided_by(1 / kIncoming)},
       {"without the incoming gradient, by rows", divided_by(kRows)},
       {"without the incoming gradient, by elements",
        divided_by(kRows * kClasses)}});
}

std::string loss_along_axis() {
  Lab lab;
  T loss = [lab.graph()
      softMaxCrossEntropyWithSourceTensor:lab.input(Numbers(6, 0), kLossShape)
                             labelsTensor:lab.input(kLabels, kLossShape)
                                     axis:1
                            reductionType:MPSGraphLossReductionTypeAxis
                                     name:@"loss"];
  return shape_text(loss) + ' ' + text(lab.run(loss));
}

struct AdamTerms {
  float rate = 0.1F, beta1 = 0.9F, beta2 = 0.99F, epsilon = 0.1F;
  float gradient = 0.5F;
};

/// A first step from value 1; `scalar` makes the scalars' tensors.
T adam(Lab& lab, T (*scalar)(Lab& lab, double value)) {
  const AdamTerms terms;
  NSArray<MPSGraphTensor*>* results =
      [lab.graph() adamWithLearningRateTensor:scalar(lab, terms.rate)
                                  beta1Tensor:scalar(lab, terms.beta1)
                                  beta2Tensor:scalar(lab, terms.beta2)
                                epsilonTensor:scalar(lab, terms.epsilon)
                             beta1PowerTensor:scalar(lab, terms.beta1)
                             beta2PowerTensor:scalar(lab, terms.beta2)
                                 valuesTensor:lab.input({1})
                               momentumTensor:lab.input({0})
                               velocityTensor:lab.input({0})
                        maximumVelocityTensor:nil
                               gradientTensor:lab.input({terms.gradient})
                                         name:@"adam"];
  return [results objectAtIndex:0];
}

std::string explain_adam(const Numbers& measured) {
  const AdamTerms terms;
  const float m = (1 - terms.beta1) * terms.gradient;
  const float v = (1 - terms.beta2) * terms.gradient * terms.gradient;
  const auto corrected = [&](float step) {
    return terms.rate * std::sqrt(1 - std::pow(terms.beta2, step)) /
           (1 - std::pow(terms.beta1, step));
  };
  const auto step_uncorrected = [&](float step) {
    return Numbers{1 - corrected(step) * m / (std::sqrt(v) + terms.epsilon)};
  };
  const float m_hat = m / (1 - terms.beta1), v_hat = v / (1 - terms.beta2);
  return explain(
      measured,
      {{"to the uncorrected root", step_uncorrected(1)},
       {"to the corrected root",
        {1 - terms.rate * m_hat / (std::sqrt(v_hat) + terms.epsilon)}},
       {"to the uncorrected root, powers one step ahead",
        step_uncorrected(2)}});
}

std::string adam_epsilon() {
  Lab lab;
  return explain_adam(lab.run(
      adam(lab, [](Lab& lab, double value) { return lab.constant(value); })));
}

std::string adam_rank_0() {
  Lab lab;
  const Numbers result = lab.run(adam(lab, [](Lab& lab, double value) {
    return [lab.graph() constantWithScalar:value dataType:MPSDataTypeFloat32];
  }));
  return "accepted, epsilon is added " + explain_adam(result);
}

std::string adam_fed_scalars() {
  Lab lab;
  const Numbers result = lab.run(adam(lab, [](Lab& lab, double value) {
    return lab.input({static_cast<float>(value)});
  }));
  return "accepted, epsilon is added " + explain_adam(result);
}

/// Three steps, values and both moments where they lie.
std::string adam_in_place() {
  constexpr int kCount = 100000, kSteps = 3;
  const AdamTerms terms;
  Lab lab;
  NSArray<MPSGraphTensor*>* updated = [lab.graph()
      adamWithLearningRateTensor:lab.constant(terms.rate)
                     beta1Tensor:lab.constant(terms.beta1)
                     beta2Tensor:lab.constant(terms.beta2)
                   epsilonTensor:lab.constant(terms.epsilon)
                beta1PowerTensor:lab.constant(0)
                beta2PowerTensor:lab.constant(0)
                    valuesTensor:lab.input(Numbers(kCount, 1))
                  momentumTensor:lab.input(Numbers(kCount, 0))
                  velocityTensor:lab.input(Numbers(kCount, 0))
           maximumVelocityTensor:nil
                  gradientTensor:lab.input(Numbers(kCount, terms.gradient))
                            name:@"adam"];
  const std::vector<T> targets = {[updated objectAtIndex:0],
                                  [updated objectAtIndex:1],
                                  [updated objectAtIndex:2]};
  const auto executable = lab.compile(targets);
  NSArray<MPSGraphTensorData*>* inputs = lab.inputs_of(executable.get());
  NSMutableArray<MPSGraphTensorData*>* results = [NSMutableArray array];
  for (T target in [executable.get() targetTensors]) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i] != target) continue;
      const NSUInteger place = [[executable.get() feedTensors]
          indexOfObjectIdenticalTo:lab.inputs()[i].get()];
      [results addObject:[inputs objectAtIndex:place]];
    }
  }
  for (int step = 0; step < kSteps; ++step) {
    MPSCommandBuffer* commands =
        [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
    [executable.get() encodeToCommandBuffer:commands
                                inputsArray:inputs
                               resultsArray:results
                        executionDescriptor:nil];
    commit_and_wait(commands);
  }
  float value = 1, m = 0, v = 0;
  for (int step = 0; step < kSteps; ++step) {
    m = terms.beta1 * m + (1 - terms.beta1) * terms.gradient;
    v = terms.beta2 * v + (1 - terms.beta2) * terms.gradient * terms.gradient;
    value -= terms.rate * m / (std::sqrt(v) + terms.epsilon);
  }
  const Numbers got = lab.contents_of_input(0);
  return are_near(got, Numbers(kCount, value))
             ? "right, as far as this can tell"
             : "wrong: " + text(got.front()) + " instead of " + text(value);
}

}  // namespace

std::vector<Probe> gradient_op_probes() {
  // Composed of plain ops by metal/ops: the answers allow shorter forms.
  return {
      {.name = "sigmoid_gradient",
       .question = "sourceTensor of sigmoidGradient is",
       .answer = sigmoid_gradient_source,
       .expected = {"the forward input"}},
      {.name = "softmax_gradient",
       .question = "sourceTensor of softMaxGradient is",
       .answer = softmax_gradient_source,
       .expected = {"the forward input"}},
      {.name = "loss_mean",
       .question = "softMaxCrossEntropy Mean divides by the number of",
       .answer = loss_mean_divisor,
       .expected = {"rows"}},
      {.name = "loss_gradient",
       .question = "softMaxCrossEntropyGradient Mean is divided",
       .answer = loss_gradient_divisor,
       .expected = {"times the incoming gradient, by rows"}},
      {.name = "loss_axis",
       .question = "softMaxCrossEntropy Axis of (2, 3) along axis 1",
       .answer = loss_along_axis,
       .expected = {"(2, 1) [1.09861, 1.09861]"}},
      {.name = "adam_epsilon",
       .question = "adam adds epsilon",
       .answer = adam_epsilon,
       .expected = {"to the uncorrected root"},
       .may_abort = true},
      {.name = "adam_rank_0",
       .question = "adam with scalars of constantWithScalar:dataType:",
       .answer = adam_rank_0,
       .expected = {"accepted"},
       .may_abort = true},
      {.name = "adam_fed_scalars",
       .question = "adam with fed scalars of shape (1)",
       .answer = adam_fed_scalars,
       .expected = {"accepted"},
       .may_abort = true},
      {.name = "adam_in_place",
       .question = "adam that reads and writes the same buffers gives results "
                   "that are",
       .answer = adam_in_place,
       .weight = Weight::Chance,
       .expected = kFeedAndTargetMayAlias
                       ? Beginnings{"right"}
                       : Beginnings{"wrong", "raised", "aborted"},
       .remedy = {.constant = "kFeedAndTargetMayAlias",
                  .value = "true",
                  .text = "where every supported system says so; saves the "
                          "copies of variables"},
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
