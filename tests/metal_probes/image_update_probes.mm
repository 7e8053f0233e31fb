// SPDX-License-Identifier: MIT
// Image graphs (MPSNN): what data sources are asked and given when parameters
// are trained on the device.
#include <algorithm>

#include "metal/assumptions.h"
#import "tests/metal_probes/image_parameters.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

/// The gradient node of a node that is trained on the GPU.
MPSNNGradientFilterNode* trained(MPSNNFilterNode* node, MPSNNImageNode* g) {
  [(id<MPSNNTrainableNode>)node
      setTrainingStyle:MPSNNTrainingStyleUpdateDeviceGPU];
  MPSNNGradientFilterNode* gradient = [node gradientFilterWithSource:g];
  [(id<MPSNNTrainableNode>)gradient
      setTrainingStyle:MPSNNTrainingStyleUpdateDeviceGPU];
  return gradient;
}

MPSNNDefaultPadding* valid_only() {
  return
      [MPSNNDefaultPadding paddingWithMethod:MPSNNPaddingMethodSizeValidOnly];
}

// --- convolution: (2, 2, 1, 3) under windows of 1 x 2 to (2, 3, 1, 2) ---

constexpr int kImages = 2, kInputs = 2, kOutputs = 3, kTaps = 2, kWidth = 3;

struct TrainedConvolution {
  ImageLab lab;
  Numbers source, weights, incoming;
  ProbeParameters parameters{{}};
  MPSNNGradientFilterNode* gradient = nil;

  TrainedConvolution() {
    for (int i = 0; i < kImages * kInputs * kWidth; ++i) {
      source.push_back(static_cast<float>(i % 5 - 2));
    }
    for (int i = 0; i < kOutputs * kTaps * kInputs; ++i) {
      weights.push_back(static_cast<float>(i % 7 - 3));
    }
    for (int i = 0; i < kImages * kOutputs * (kWidth - 1); ++i) {
      incoming.push_back(static_cast<float>(i % 3 + 1));
    }
    parameters.values("weights") = weights;
    parameters.values("biases") = Numbers(kOutputs, 0);
    nodes::ConvolutionDescriptor d = row_kernel(kTaps);
    d.input_feature_channels = kInputs;
    d.output_feature_channels = kOutputs;
    MPSCNNConvolutionNode* node = convolution(
        lab.input(source, {kImages, kInputs, 1, kWidth}), parameters, d);
    [node setPaddingPolicy:valid_only()];
    gradient =
        trained(node, lab.input(incoming, {kImages, kOutputs, 1, kWidth - 1}));
  }

  /// Of weight (o, u, c).
  float expected(int o, int u, int c) const {
    float sum = 0;
    for (int n = 0; n < kImages; ++n) {
      for (int j = 0; j + 1 < kWidth; ++j) {
        sum += incoming[(n * kOutputs + o) * (kWidth - 1) + j] *
               source[(n * kInputs + c) * kWidth + j + u];
      }
    }
    return sum;
  }
};

std::string convolution_update() {
  TrainedConvolution c;
  c.lab.run(c.gradient);
  const auto num_calls = c.parameters.got("weights").size();
  if (num_calls == 1) return "once";
  return std::to_string(num_calls) + " times";
}

/// Four channels to a slice may be stored for two.
std::string convolution_gradients() {
  TrainedConvolution c;
  c.lab.run(c.gradient);
  if (!c.parameters.was_asked("weights")) return "nothing is handed over";
  Numbers ohwi, oihw(kOutputs * kInputs * kTaps), padded, biases;
  for (int o = 0; o < kOutputs; ++o) {
    float bias = 0;
    for (int n = 0; n < kImages; ++n) {
      for (int j = 0; j + 1 < kWidth; ++j) {
        bias += c.incoming[(n * kOutputs + o) * (kWidth - 1) + j];
      }
    }
    biases.push_back(bias);
    for (int u = 0; u < kTaps; ++u) {
      for (int i = 0; i < 4; ++i) {
        const float value = i < kInputs ? c.expected(o, u, i) : 0;
        padded.push_back(value);
        if (i >= kInputs) continue;
        ohwi.push_back(value);
        oihw[(o * kInputs + i) * kTaps + u] = value;
      }
    }
  }
  Numbers weights = c.parameters.got("weights").front();
  const std::size_t length = weights.size();
  weights.resize(std::min(length, padded.size()));
  const auto begins = [&](const Numbers& with) {
    return weights.size() >= with.size() &&
           are_near({weights.begin(), weights.begin() + with.size()}, with);
  };
  Numbers got_biases = c.parameters.got("biases").front();
  got_biases.resize(std::min(got_biases.size(), biases.size()));
  std::string answer = "other weights: " + text(weights);
  if (begins(ohwi)) {
    answer = "dense float32 (out, height, width, in)";
  } else if (begins(oihw)) {
    answer = "dense float32 (out, in, height, width)";
  } else if (begins(padded)) {
    answer = "float32 (out, height, width, in), four channels to a slice";
  }
  if (!are_near(got_biases, biases)) {
    answer = "other biases, and " + answer;
  }
  return answer;
}

std::string read_counts() {
  TrainedConvolution c;
  c.lab.run(c.gradient);
  return c.parameters.weights_state.empty() ? "nothing is handed over"
                                            : c.parameters.weights_state;
}

/// One weight of 2 becomes 9, which an MPSGraph computes meanwhile.
std::string graph_inside() {
  Lab graph;
  const auto executable =
      graph.compile({[graph.graph() squareWithTensor:graph.input({3})
                                                name:@"square"]});
  ImageLab lab;
  ImageLab* to_run = &lab;
  const Lab* to_encode = &graph;
  MPSGraphExecutable* shared = executable.get();
  ProbeParameters parameters({{"weights", {2}}, {"biases", {0}}});
  parameters.new_weights = [=](id<MTLCommandBuffer> given,
                               MPSCNNConvolutionGradientState*) {
    return to_encode->encode(shared, to_run->commands_for(given)).front();
  };
  MPSCNNConvolutionNode* node =
      convolution(lab.row({1, 2}), parameters, row_kernel(1));
  MPSNNGradientFilterNode* gradient = trained(node, lab.row({1, 1}));
  const Numbers before = lab.run(gradient);
  const Numbers after = lab.run_again().front();
  if (!parameters.was_asked("weights")) return "nothing is handed over";
  if (!are_near(before, {2, 2})) return "no: first " + text(before);
  return are_near(after, {9, 9}) ? "yes" : "no: then " + text(after);
}

// --- normalizations ---

const Numbers kSamples = {1, 2, 3, 6, -1, 0, 4, 1};  // (2, 2, 1, 2)
const ImageShape kShape = {2, 2, 1, 2};

struct TrainedNormalization {
  ImageLab lab;
  ProbeParameters parameters{{{"gamma", {1, 1}},
                              {"beta", {0, 0}},
                              {"mean", {0, 0}},
                              {"variance", {1, 1}}}};

  TGNormalizationData* data(StatisticsOf kind) {
    return [TGNormalizationData
        dataWithFilter:{.kind = kind,
                        .channels = 2,
                        .groups = kind == StatisticsOf::Group ? 2 : 1,
                        .epsilon = 1e-5F,
                        .momentum = 0.9F,
                        .uses_batch_statistics = kind == StatisticsOf::Batch}
            parameters:&parameters];
  }
  void run(MPSNNFilterNode* node) {
    lab.run(trained(node, lab.input({1, 0, 2, 1, 0, 3, 1, 1}, kShape)));
  }
  MPSNNImageNode* source() { return lab.input(kSamples, kShape); }
  void run_batch() {
    MPSCNNBatchNormalizationNode* node =
        [MPSCNNBatchNormalizationNode nodeWithSource:source()
                                          dataSource:data(StatisticsOf::Batch)];
    [node setFlags:MPSCNNBatchNormalizationFlagsCalculateStatisticsAlways];
    run(node);
  }
};

std::string batch_updates() {
  TrainedNormalization norm;
  norm.run_batch();
  const bool has_gamma = norm.parameters.was_asked("gamma");
  const bool has_mean = norm.parameters.was_asked("mean");
  if (has_gamma && has_mean) return "both";
  if (!has_gamma && !has_mean) return "neither";
  return has_gamma ? "gamma and beta only" : "mean and variance only";
}

std::string batch_state() {
  TrainedNormalization norm;
  norm.run_batch();
  if (!norm.parameters.was_asked("mean")) return "nothing is handed over";
  // Channel 0: 1, 2, -1, 0; channel 1: 3, 6, 4, 1.
  const auto first_two = [](Numbers all) {
    all.resize(std::min<std::size_t>(all.size(), 2));
    return all;
  };
  Numbers got = first_two(norm.parameters.got("mean").front());
  for (float value : first_two(norm.parameters.got("variance").front())) {
    got.push_back(value);
  }
  return explain(
      got,
      {{"means and biased variances", {0.5F, 3.5F, 1.25F, 3.25F}},
       {"means and unbiased variances", {0.5F, 3.5F, 5 / 3.0F, 13 / 3.0F}}});
}

/// d beta is the sum of the incoming gradient.
std::string batch_gradients() {
  TrainedNormalization norm;
  norm.run_batch();
  if (!norm.parameters.was_asked("beta")) return "nothing is handed over";
  Numbers got = norm.parameters.got("beta").front();
  got.resize(std::min<std::size_t>(got.size(), 2));
  return explain(got, {{"dense float32", {4, 5}}});
}

std::string parts_of(StatisticsOf kind) {
  TrainedNormalization norm;
  MPSNNFilterNode* node =
      kind == StatisticsOf::Instance
          ? (MPSNNFilterNode*)[MPSCNNInstanceNormalizationNode
                nodeWithSource:norm.source()
                    dataSource:norm.data(kind)]
          : (MPSNNFilterNode*)[MPSCNNGroupNormalizationNode
                nodeWithSource:norm.source()
                    dataSource:norm.data(kind)];
  norm.run(node);
  const auto parts = norm.parameters.got("beta");
  if (parts.empty()) return "nothing is handed over";
  Numbers sum = {0, 0};
  for (const Numbers& part : parts) {
    if (part.size() < 2) return "a part is missing";
    sum[0] += part[0];
    sum[1] += part[1];
  }
  if (!are_near(sum, {4, 5})) return "another sum: " + text(sum);
  return parts.size() == 1 ? "one for all images" : "one for each image";
}

std::string instance_parts() { return parts_of(StatisticsOf::Instance); }
std::string group_parts() { return parts_of(StatisticsOf::Group); }

}  // namespace

std::vector<Probe> image_update_probes() {
  const Remedy refuse_batches = {
      .text =
          "reason_of(NormalizationFilter) of metal/mpsnn/support.cpp has to "
          "refuse trained ones"};
  const Remedy convert = {
      .text = "bound_parameters.mm has to read gradients of that layout"};
  const Beginnings parts = {"one for each image", "one for all images"};
  return {
      {.name = "image_update",
       .question = "MPSNN asks a convolution's data source for updates",
       .answer = convolution_update,
       .weight = Weight::Reliance,
       .expected = {"once"},
       .remedy = {.text =
                      "reason_of(ConvolutionFilter) of "
                      "metal/mpsnn/support.cpp has to refuse trained ones"}},
      {.name = "image_gradients",
       .question = "gradients of a convolution's weights that MPSNN hands over "
                   "are",
       .answer = convolution_gradients,
       .weight = Weight::Reliance,
       .expected = {"dense float32 (out, height, width, in)"},
       .remedy = convert},
      {.name = "image_read_counts",
       .question = "states that MPSNN hands over are",
       .answer = read_counts,
       .weight = Weight::Reliance,
       .expected = {"temporary, with 1", "not temporary"},
       .remedy = {.text = "count_read() of metal/mpsnn/read_counts.h"}},
      {.name = "image_graph_inside",
       .question =
           "an MPSGraph executable is encoded within an MPSNNGraph, and "
           "its result are the weights of the next run",
       .answer = graph_inside,
       .weight = Weight::Reliance,
       .expected = when(kGraphsRunInsideImageGraphs, {"yes"}),
       .remedy = {.constant = "kGraphsRunInsideImageGraphs", .value = "false"},
       .may_abort = true},
      {.name = "image_batch_updates",
       .question = "MPSNN asks a batch normalization's data source to update, "
                   "with CalculateStatisticsAlways on the GPU",
       .answer = batch_updates,
       .weight = Weight::Reliance,
       .expected = {"both"},
       .remedy = refuse_batches},
      {.name = "image_batch_state",
       .question = "statistics of a batch that MPSNN hands over are",
       .answer = batch_state,
       .weight = Weight::Reliance,
       .expected = {"means and biased variances"},
       .remedy = {.text = "move_statistics() of bound_parameters.mm must not "
                          "scale variances"}},
      {.name = "image_batch_gradients",
       .question = "gradients of a batch normalization that MPSNN hands over "
                   "are",
       .answer = batch_gradients,
       .weight = Weight::Reliance,
       .expected = {"dense float32"},
       .remedy = convert},
      {.name = "image_instance_parts",
       .question = "gradients of an instance normalization come",
       .answer = instance_parts,
       .weight = Weight::Reliance,
       .expected = parts,
       .remedy = convert},
      {.name = "image_group_parts",
       .question = "gradients of a group normalization come",
       .answer = group_parts,
       .weight = Weight::Reliance,
       .expected = parts,
       .remedy = convert},
  };
}

}  // namespace traingraph::metal::probes
