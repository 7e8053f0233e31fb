// SPDX-License-Identifier: MIT
// Image graphs (MPSNN): gradients of losses against the derivatives of their
// formulas.
#include <cmath>

#include "metal/assumptions.h"
#import "tests/metal_probes/image_lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

struct Loss {
  MPSCNNLossType type = MPSCNNLossTypeMeanSquaredError;
  MPSCNNReductionType reduction = MPSCNNReductionTypeSum;

  MPSCNNLossDescriptor* descriptor(std::size_t classes) const {
    MPSCNNLossDescriptor* made =
        [MPSCNNLossDescriptor cnnLossDescriptorWithType:type
                                          reductionType:reduction];
    [made setWeight:1];
    [made setLabelSmoothing:0];
    [made setNumberOfClasses:classes];
    [made setEpsilon:1e-7F];
    [made setDelta:1];
    return made;
  }
};

ImageShape pixel(const Numbers& channels) {
  return {1, static_cast<std::int64_t>(channels.size()), 1, 1};
}

/// Of a LossNode by its prediction, one pixel of as many channels.
Numbers gradient_of(const Loss& loss, const Numbers& y, const Numbers& t) {
  ImageLab lab;
  MPSCNNLossNode* node =
      [MPSCNNLossNode nodeWithSource:lab.input(y, pixel(y))
                      lossDescriptor:loss.descriptor(y.size())];
  lab.set_labels(node, t, pixel(t));
  return lab.run(node);
}

/// Of a ForwardLossNode, given the gradient of the loss.
Numbers forward_gradient_of(const Loss& loss, const Numbers& y,
                            const Numbers& t, float incoming) {
  ImageLab lab;
  NSArray<MPSNNImageNode*>* sources = [NSArray
      arrayWithObjects:lab.input(y, pixel(y)), lab.input(t, pixel(t)), nil];
  MPSNNForwardLossNode* node =
      [MPSNNForwardLossNode nodeWithSources:sources
                             lossDescriptor:loss.descriptor(y.size())];
  return lab.run([node gradientFilterWithSource:lab.row({incoming})]);
}

Numbers softmax(const Numbers& x) {
  float sum = 0;
  for (float value : x) sum += std::exp(value);
  Numbers y;
  for (float value : x) y.push_back(std::exp(value) / sum);
  return y;
}

std::string softmax_cross_entropy() {
  const Numbers y = {0.2F, -0.4F, 0.7F}, t = {0.5F, 1.5F, 0};
  const Numbers p = softmax(y);
  Numbers exact, of_one, plain;
  for (std::size_t i = 0; i < y.size(); ++i) {
    exact.push_back(p[i] * 2 - t[i]);
    of_one.push_back(p[i] - t[i]);
    plain.push_back(y[i] - t[i]);
  }
  return explain(gradient_of({.type = MPSCNNLossTypeSoftMaxCrossEntropy}, y, t),
                 {{"softmax(y) sum(t) - t", exact},
                  {"softmax(y) - t", of_one},
                  {"y - t", plain}});
}

std::string chained() {
  return explain(forward_gradient_of({}, {1, 2}, {0.5F, 3}, 3),
                 {{"multiplied by the one that it is given", {3, -6}},
                  {"not multiplied by the one that it is given", {1, -2}}});
}

std::string forward_mean() {
  return explain(
      forward_gradient_of({.reduction = MPSCNNReductionTypeMean}, {1, 2},
                          {0.5F, 3}, 3),
      {{"divided as the mean is", {1.5F, -3}}, {"not divided", {3, -6}}});
}

std::string loss_mean() {
  return explain(
      gradient_of({.reduction = MPSCNNReductionTypeMean}, {1, 2}, {0.5F, 3}),
      {{"not divided", {1, -2}}, {"divided", {0.5F, -1}}});
}

struct Case {
  const char* name;
  MPSCNNLossType type;
  Numbers y, t, derivative;
};

/// "exact", or those that are not and what they gave.
std::string compare(const std::vector<Case>& cases) {
  std::string others;
  for (const Case& one : cases) {
    const Numbers got = gradient_of({.type = one.type}, one.y, one.t);
    if (are_near(got, one.derivative)) continue;
    others += std::string(" ") + one.name + ' ' + text(got) + " instead of " +
              text(one.derivative);
  }
  return others.empty() ? "exact" : "another:" + others;
}

std::string exact_losses() {
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  return compare(
      {{"mean squared error",
        MPSCNNLossTypeMeanSquaredError,
        {1, 2},
        {0.5F, 3},
        {1, -2}},
       {"sigmoid cross entropy",
        MPSCNNLossTypeSigmoidCrossEntropy,
        {0.3F, -1},
        {1, 0},
        {sigmoid(0.3F) - 1, sigmoid(-1)}},
       {"categorical cross entropy",
        MPSCNNLossTypeCategoricalCrossEntropy,
        {0.25F, 0.75F},
        {1, 0},
        {-4, 0}},
       {"log loss", MPSCNNLossTypeLog, {0.25F, 0.75F}, {1, 0}, {-4, 4}},
       {"cosine distance",
        MPSCNNLossTypeCosineDistance,
        {0.6F, 0.8F},
        {0, 1},
        {0, -1}}});
}

std::string one(const char* name, MPSCNNLossType type, const Numbers& y,
                const Numbers& t, const Numbers& derivative) {
  return compare({{name, type, y, t, derivative}});
}

std::string absolute() {
  return one("absolute", MPSCNNLossTypeMeanAbsoluteError, {0.2F, -0.4F, 0.7F},
             {0.5F, -1, 0.3F}, {-1, 1, 1});
}
std::string huber() {
  return one("Huber", MPSCNNLossTypeHuber, {3, -3, 0.5F}, {0, 0, 0},
             {1, -1, 0.5F});
}
std::string hinge() {
  return one("hinge", MPSCNNLossTypeHinge, {0.5F, -0.5F, 2}, {1, 0, 1},
             {-1, 1, 0});
}
std::string divergence() {
  return one("divergence", MPSCNNLossTypeKullbackLeiblerDivergence,
             {-1, -2, -0.5F}, {0.2F, 0.3F, 0.5F}, {-0.2F, -0.3F, -0.5F});
}

Probe misprinted(const char* name, const char* question,
                 std::string (*answer)()) {
  return {.name = name,
          .question = question,
          .answer = answer,
          .weight = Weight::Chance,
          .expected = {"another"},
          .remedy = {.constant = "trusts_misprinted_filters",
                     .value = "true",
                     .text = "once all that it stands for are exact; "
                             "docs/nodes.md"},
          .emulated = {"exact"},
          .may_abort = true};
}

}  // namespace

std::vector<Probe> image_loss_probes() {
  return {
      {.name = "image_softmax_loss",
       .question = "the gradient of MPSNN's softmax cross entropy is",
       .answer = softmax_cross_entropy,
       .weight = Weight::Reliance,
       .expected = when(kImageSoftmaxLossIsExact, {"softmax(y) sum(t) - t"}),
       .remedy = {.constant = "kImageSoftmaxLossIsExact", .value = "false"}},
      {.name = "image_loss_chained",
       .question = "the gradient of MPSNN's ForwardLossNode is",
       .answer = chained,
       .weight = Weight::Reliance,
       .expected = when(kImageLossGradientIsChained,
                        {"multiplied by the one that it is given"}),
       .remedy = {.constant = "kImageLossGradientIsChained", .value = "false"}},
      {.name = "image_forward_mean",
       .question = "the gradient of MPSNN's ForwardLossNode of a mean is",
       .answer = forward_mean,
       .weight = Weight::Chance,
       .expected = {"not divided", "something else"},
       .remedy = {.text = "reason_of_forward() of metal/mpsnn/loss_support.cpp "
                          "need not refuse means"}},
      {.name = "image_loss_mean",
       .question = "the gradient of MPSNN's LossNode of a mean is",
       .answer = loss_mean,
       .weight = Weight::Reliance,
       .expected = {"not divided"},
       .remedy = {.text = "filter_nodes_loss.mm has to ask for a sum"}},
      {.name = "image_losses",
       .question = "gradients of MPSNN's losses that the headers print right "
                   "are",
       .answer = exact_losses,
       .weight = Weight::Reliance,
       .expected = {"exact"},
       .remedy = {.text = "reason_of_formula() of metal/mpsnn/loss_support.cpp "
                          "has to refuse those named"}},
      misprinted("image_absolute", "the gradient of MPSNN's absolute error is",
                 absolute),
      misprinted("image_huber", "the gradient of MPSNN's Huber loss is", huber),
      misprinted("image_hinge", "the gradient of MPSNN's hinge loss is", hinge),
      misprinted("image_divergence",
                 "the gradient of MPSNN's Kullback-Leibler divergence is",
                 divergence),
  };
}

}  // namespace traingraph::metal::probes
