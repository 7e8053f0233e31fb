// SPDX-License-Identifier: MIT
// GRU and single-gate layers: gates, saved state, masks, gradients. Expected
// numbers are worked out by hand for two steps of one unit.
#include <cmath>

#include "metal/assumptions.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

struct GruStep {
  float z, r, o, h;
};

const Numbers kSource = {0.5F, -1};
const Numbers kInput = {0.1F, 0.2F, 0.3F};  // z, r, o
const Numbers kRecurrent = {-0.1F, 0.5F, 0.25F};
const Numbers kBias = {0.05F, 0.1F, -0.05F};
constexpr float kState = 0.2F, kSecondaryBias = 0.15F;

GruStep gru_step(float x, float h, bool flips, bool resets_after) {
  GruStep step{};
  step.z = sigmoid(kInput[0] * x + kRecurrent[0] * h + kBias[0]);
  step.r = sigmoid(kInput[1] * x + kRecurrent[1] * h + kBias[1]);
  const float candidate = resets_after
                              ? (h * kRecurrent[2] + kSecondaryBias) * step.r
                              : h * step.r * kRecurrent[2];
  step.o = std::tanh(kInput[2] * x + kBias[2] + candidate);
  const float kept = flips ? 1 - step.z : step.z;
  step.h = kept * h + (1 - kept) * step.o;
  return step;
}

Numbers gru_outputs(bool flips, bool resets_after = false) {
  const GruStep first = gru_step(kSource[0], kState, flips, resets_after);
  return {first.h, gru_step(kSource[1], first.h, flips, resets_after).h};
}

/// The source of both steps, times its weights, as the Metal device passes it.
Numbers gates() {
  Numbers all;
  for (float x : kSource) {
    for (int q = 0; q < 3; ++q) all.push_back(kInput[q] * x + kBias[q]);
  }
  return all;
}

/// (output, state of training) of the two steps above.
struct Gru {
  Lab lab;
  ObjcPtr<MPSGraphGRUDescriptor*> descriptor =
      retain([MPSGraphGRUDescriptor descriptor]);
  T source = lab.input(gates(), {2, 1, 3});
  T recurrent = lab.input(kRecurrent, {3, 1});
  T state = lab.input({kState}, {1, 1});
  T secondary = nil;

  NSArray<MPSGraphTensor*>* forward() {
    [descriptor.get() setTraining:YES];
    return [lab.graph() GRUWithSourceTensor:source
                            recurrentWeight:recurrent
                                inputWeight:nil
                                       bias:nil
                                  initState:state
                                       mask:nil
                              secondaryBias:secondary
                                 descriptor:descriptor.get()
                                       name:@"gru"];
  }
};

std::string gru_flip(BOOL flips) {
  Gru gru;
  [gru.descriptor.get() setFlipZ:flips];
  return explain(gru.lab.run([gru.forward() objectAtIndex:0]),
                 {{"z keeps the old state", gru_outputs(false)},
                  {"z takes the new one", gru_outputs(true)}});
}

std::string gru_flip_no() { return gru_flip(NO); }
std::string gru_flip_yes() { return gru_flip(YES); }

std::string gru_reset_after() {
  Gru gru;
  gru.secondary = gru.lab.input({kSecondaryBias});
  [gru.descriptor.get() setResetAfter:YES];
  return explain(
      gru.lab.run([gru.forward() objectAtIndex:0]),
      {{"(h R + secondary bias) r", gru_outputs(false, true)},
       {"the same, where z takes the new state", gru_outputs(true, true)}});
}

std::string gru_state() {
  Gru gru;
  NSArray<MPSGraphTensor*>* results = gru.forward();
  if ([results count] != 2) {
    return std::to_string([results count]) + " results";
  }
  const Numbers measured = gru.lab.run([results objectAtIndex:1]);
  const GruStep step = gru_step(kSource[0], kState, false, false);
  const auto logit = [](float y) { return std::log(y / (1 - y)); };
  return explain({measured.begin(), measured.begin() + 3},
                 {{"[z, r, o] after activation", {step.z, step.r, step.o}},
                  {"[r, z, o] after activation", {step.r, step.z, step.o}},
                  {"[z, r, o] before activation",
                   {logit(step.z), logit(step.r), std::atanh(step.o)}}});
}

/// Values of a known-good derivation for flipZ NO.
std::string gru_gradients() {
  Gru gru;
  NSArray<MPSGraphTensor*>* results = gru.forward();
  T incoming = gru.lab.input({1, 0.5F}, {2, 1, 1});
  T from_future = gru.lab.input({0.3F}, {1, 1});
  NSArray<MPSGraphTensor*>* gradients =
      [gru.lab.graph() GRUGradientsWithSourceTensor:gru.source
                                    recurrentWeight:gru.recurrent
                                     sourceGradient:incoming
                                             zState:[results objectAtIndex:1]
                                          outputFwd:[results objectAtIndex:0]
                                      stateGradient:from_future
                                        inputWeight:nil
                                               bias:nil
                                          initState:gru.state
                                               mask:nil
                                      secondaryBias:nil
                                         descriptor:gru.descriptor.get()
                                               name:@"gradients"];
  const std::vector<Explanation> known = {
      {"source",
       {0.025603F, 0.008224F, 0.672802F, 0.096597F, 0.003841F, 0.371491F}},
      {"recurrentWeight", {0.021102F, 0.00228F, 0.107763F}},
      {"initState", {0.839154F}}};
  std::string answer;
  for (MPSGraphTensor* tensor in gradients) {
    if (!answer.empty()) answer += ", ";
    answer += explain(gru.lab.run(tensor), known) + ' ' + shape_text(tensor);
  }
  return answer;
}

/// T = 2, N = 2, H = 3 with a mask of this shape.
std::string gru_mask(const Extents& shape) {
  std::size_t count = 1;
  for (std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  Lab lab;
  MPSGraphGRUDescriptor* descriptor = [MPSGraphGRUDescriptor descriptor];
  [descriptor setTraining:YES];
  NSArray<MPSGraphTensor*>* results = [lab.graph()
      GRUWithSourceTensor:lab.input(Numbers(2 * 2 * 9, 0.1F), {2, 2, 9})
          recurrentWeight:lab.input(Numbers(9 * 3, 0.2F), {9, 3})
              inputWeight:nil
                     bias:nil
                initState:lab.input(Numbers(2 * 3, 1), {2, 3})
                     mask:lab.input(Numbers(count, 0.5F), shape)
            secondaryBias:nil
               descriptor:descriptor
                     name:@"gru"];
  lab.run([results objectAtIndex:0]);
  return "accepted";
}

std::string gru_mask_nh() { return gru_mask({2, 3}); }
std::string gru_mask_h() { return gru_mask({3}); }
std::string gru_mask_1nh() { return gru_mask({1, 2, 3}); }
std::string gru_mask_tnh() { return gru_mask({2, 2, 3}); }

// --- single gate ---

/// act(x): no recurrence.
std::string hard_sigmoid() {
  MPSGraphSingleGateRNNDescriptor* descriptor =
      [MPSGraphSingleGateRNNDescriptor descriptor];
  [descriptor setActivation:MPSGraphRNNActivationHardSigmoid];
  [descriptor setTraining:YES];
  Lab lab;
  NSArray<MPSGraphTensor*>* results = [lab.graph()
      singleGateRNNWithSourceTensor:lab.input({-10, 0, 1, 10}, {4, 1, 1})
                    recurrentWeight:lab.input({0}, {1, 1})
                        inputWeight:nil
                               bias:nil
                          initState:nil
                               mask:nil
                         descriptor:descriptor
                               name:@"gate"];
  const Numbers y = lab.run([results objectAtIndex:0]);
  const bool is_known = are_near(y, {0, 0.5F, 0.7F, 1});
  return std::string(is_known ? "0.2 x + 0.5" : "another") + ": slope " +
         text(y[2] - y[1]) + ", offset " + text(y[1]) + ", between " +
         text(y[0]) + " and " + text(y[3]);
}

/// Forward and gradient of one direction or two; sources (T), one unit.
struct SingleGate {
  Lab lab;
  ObjcPtr<MPSGraphSingleGateRNNDescriptor*> descriptor =
      retain([MPSGraphSingleGateRNNDescriptor descriptor]);
  T source = nil, recurrent = nil;

  NSArray<MPSGraphTensor*>* forward() {
    [descriptor.get() setTraining:YES];
    return [lab.graph() singleGateRNNWithSourceTensor:source
                                      recurrentWeight:recurrent
                                          inputWeight:nil
                                                 bias:nil
                                            initState:nil
                                                 mask:nil
                                           descriptor:descriptor.get()
                                                 name:@"gate"];
  }
  /// Of the source.
  Numbers gradient(T incoming, T from_future) {
    NSArray<MPSGraphTensor*>* gradients = [lab.graph()
        singleGateRNNGradientsWithSourceTensor:source
                               recurrentWeight:recurrent
                                sourceGradient:incoming
                                        zState:[forward() objectAtIndex:1]
                                 stateGradient:from_future
                                   inputWeight:nil
                                          bias:nil
                                     initState:nil
                                          mask:nil
                                    descriptor:descriptor.get()
                                          name:@"gradients"];
    return lab.run([gradients objectAtIndex:0]);
  }
};

std::string single_gate_state() {
  SingleGate gate;
  [gate.descriptor.get() setActivation:MPSGraphRNNActivationTanh];
  gate.source = gate.lab.input({0.5F}, {1, 1, 1});
  gate.recurrent = gate.lab.input({0.3F}, {1, 1});
  const Numbers state = gate.lab.run([gate.forward() objectAtIndex:1]);
  return explain(state, {{"before activation", {0.5F}},
                         {"after activation", {std::tanh(0.5F)}}});
}

/// Two steps of one unit.
std::string single_gate_gradient() {
  constexpr float kWeight = 0.3F;
  const float h1 = std::tanh(0.5F), h2 = std::tanh(-1 + kWeight * h1);
  const float d2 = 0.5F * (1 - h2 * h2);
  const float d1 = (1 + kWeight * d2) * (1 - h1 * h1);
  SingleGate gate;
  [gate.descriptor.get() setActivation:MPSGraphRNNActivationTanh];
  gate.source = gate.lab.input({0.5F, -1}, {2, 1, 1});
  gate.recurrent = gate.lab.input({kWeight}, {1, 1});
  const Numbers outputs = gate.lab.run([gate.forward() objectAtIndex:0]);
  const Numbers gradients =
      gate.gradient(gate.lab.input({1, 0.5F}, {2, 1, 1}), nil);
  if (!are_near(outputs, {h1, h2})) return "other outputs: " + text(outputs);
  return explain(gradients, {{"as documented", {d1, d2}}});
}

std::string relu_gradient() {
  SingleGate gate;
  [gate.descriptor.get() setActivation:MPSGraphRNNActivationRelu];
  gate.source = gate.lab.input({0}, {1, 1, 1});
  gate.recurrent = gate.lab.input({0}, {1, 1});
  return text(gate.gradient(gate.lab.input({1}, {1, 1, 1}), nil).front());
}

/// Each direction halves what comes back, so that positions tell steps.
std::string bidirectional_state_gradient() {
  SingleGate gate;
  [gate.descriptor.get() setActivation:MPSGraphRNNActivationNone];
  [gate.descriptor.get() setBidirectional:YES];
  gate.source = gate.lab.input({1, 1, 1, 1, 1, 1}, {3, 1, 2});
  gate.recurrent = gate.lab.input({0.5F, 0.5F}, {2, 1, 1});
  T zeros = gate.lab.input(Numbers(6, 0), {3, 1, 2});
  T from_future = gate.lab.input({1, 10}, {1, 2});
  return explain(gate.gradient(zeros, from_future),
                 {{"[forward, reverse], reverse enters at the first step",
                   {0.25F, 10, 0.5F, 5, 1, 2.5F}},
                  {"[reverse, forward], reverse enters at the first step",
                   {2.5F, 1, 5, 0.5F, 10, 0.25F}},
                  {"[forward, reverse], both enter at the last step",
                   {0.25F, 0, 0.5F, 0, 1, 10}},
                  {"ignored", Numbers(6, 0)}});
}

}  // namespace

std::vector<Probe> gru_probes() {
  const auto probe = [](const char* name, const char* question,
                        std::string (*answer)(), Beginnings expected = {},
                        Remedy remedy = {}) {
    const bool has_remedy = remedy.constant[0] != 0;
    return Probe{.name = name,
                 .question = question,
                 .answer = answer,
                 .weight = has_remedy ? Weight::Reliance : Weight::Note,
                 .expected = std::move(expected),
                 .remedy = remedy,
                 .may_abort = true};
  };
  const Beginnings refused = {"raised", "aborted"};
  const Remedy other_flip = {.constant = "kGruFlipsAsTheOpSays",
                             .value = "false"};
  const Remedy no_gru = {.constant = "kMpsGruIsReliable", .value = "false"};
  return {
      probe("gru_flip_no", "GRU with flipZ NO", gru_flip_no,
            when(kGruFlipsAsTheOpSays, {"z keeps the old state"}), other_flip),
      probe("gru_flip_yes", "GRU with flipZ YES", gru_flip_yes,
            when(kGruFlipsAsTheOpSays, {"z takes the new one"}), other_flip),
      probe("gru_reset_after", "GRU with resetAfter uses", gru_reset_after,
            when(kMpsGruIsReliable, {"(h R + secondary bias) r"}), no_gru),
      probe("gru_state", "GRU's training state holds", gru_state,
            {"[z, r, o] after activation"}),
      probe(
          "gru_gradients", "GRU gradients, in order", gru_gradients,
          when(kMpsGruIsReliable,
               {"source (2, 1, 3), recurrentWeight (3, 1), initState (1, 1)"}),
          no_gru),
      probe("gru_mask_nh", "GRU with a mask of shape (N, H)", gru_mask_nh,
            {"accepted"}),
      probe("gru_mask_h", "GRU with a mask of shape (H)", gru_mask_h, refused),
      probe("gru_mask_1nh", "GRU with a mask of shape (1, N, H)", gru_mask_1nh,
            refused),
      probe("gru_mask_tnh", "GRU with a mask of shape (T, N, H)", gru_mask_tnh,
            refused),
      {.name = "hard_sigmoid",
       .question = "HardSigmoid of recurrent layers",
       .answer = hard_sigmoid,
       .weight = kRnnHardSigmoidIsKnown ? Weight::Reliance : Weight::Chance,
       .expected = {kRnnHardSigmoidIsKnown ? "0.2 x + 0.5" : "another"},
       .remedy = {.constant = "kRnnHardSigmoidIsKnown",
                  .value = kRnnHardSigmoidIsKnown ? "false" : "true"},
       .emulated = {"0.2 x + 0.5"},
       .may_abort = true},
      probe("single_gate_state", "single gate's training state is",
            single_gate_state, {"before activation"}),
      probe("single_gate_gradient", "single gate and its gradient are",
            single_gate_gradient,
            when(kMpsSingleGateIsReliable, {"as documented"}),
            {.constant = "kMpsSingleGateIsReliable", .value = "false"}),
      probe("rnn_relu", "recurrent Relu's derivative at 0", relu_gradient,
            {"0"}),
      probe("bidirectional_state_gradient", "stateGradient of two directions",
            bidirectional_state_gradient,
            when(kMpsRunsBothDirections,
                 {"[forward, reverse], reverse enters at the first step"}),
            {.constant = "kMpsRunsBothDirections", .value = "false"}),
  };
}

}  // namespace traingraph::metal::probes
