// SPDX-License-Identifier: MIT
// Image graphs (MPSNN): copies at their border, and where padding goes.
#import "tests/metal_probes/image_parameters.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

/// Bytes of images there and back. Floats repeat after a prime, so that a piece
/// that comes twice or from elsewhere shows.
std::string copies_of(std::size_t bytes) {
  const std::int64_t side = bytes > 64 * kMega ? 4096 : 64, channels = 3;
  const std::int64_t size = channels * side * side;
  const auto count = static_cast<std::int64_t>(bytes / 4) / size + 1;
  Numbers values(static_cast<std::size_t>(count * size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 1000003);
  }
  ImageLab lab;
  const auto images = lab.images(values, {count, channels, side, side});
  const Numbers got = numbers_of(images.get());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (got[i] != values[i]) return "wrong from byte " + std::to_string(4 * i);
  }
  return "right";
}

std::string copies_of_1_mb() { return copies_of(kMega); }
std::string copies_of_2_gb() { return copies_of(2049 * kMega); }

// --- padding ---

/// Windows of 1 x 3 over (1, 2, 4) tell by weights (1, 10, 100) where they lie.
std::string padding_of(MPSNNPaddingMethod alignment) {
  ProbeParameters parameters({{"weights", {1, 10, 100}}, {"biases", {0}}});
  ImageLab lab;
  MPSCNNConvolutionNode* node =
      convolution(lab.row({1, 2, 4}), parameters, row_kernel(3));
  [node setPaddingPolicy:[MPSNNDefaultPadding
                             paddingWithMethod:alignment |
                                               MPSNNPaddingMethodSizeSame]];
  return explain(lab.run(node), {{"at the top left", {100, 210, 421}},
                                 {"on both sides", {210, 421, 42}},
                                 {"at the bottom right", {421, 42, 4}}});
}

std::string align_top_left() {
  return padding_of(MPSNNPaddingMethodAlignTopLeft);
}
std::string align_bottom_right() {
  return padding_of(MPSNNPaddingMethodAlignBottomRight);
}
std::string align_centered() {
  return padding_of(MPSNNPaddingMethodAlignCentered);
}

/// One window of two among five samples: three are not read.
std::string odd_remainder() {
  ProbeParameters parameters({{"weights", {1, 10}}, {"biases", {0}}});
  ImageLab lab;
  MPSCNNConvolutionNode* node =
      convolution(lab.row({1, 2, 3, 4, 5}), parameters, row_kernel(2, 4));
  [node setPaddingPolicy:
            [MPSNNDefaultPadding
                paddingWithMethod:MPSNNPaddingMethodAlignCentered |
                                  MPSNNPaddingMethodAddRemainderToTopLeft |
                                  MPSNNPaddingMethodSizeValidOnly]];
  return explain(lab.run(node), {{"one before the window", {32}},
                                 {"two before the window", {43}},
                                 {"none before the window", {21}}});
}

/// Weights that the host changed.
std::string reloaded() {
  ProbeParameters parameters({{"weights", {2}}, {"biases", {0}}});
  ImageLab lab;
  MPSCNNConvolutionNode* node =
      convolution(lab.row({1, 2}), parameters, row_kernel(1));
  const Numbers before = lab.run(node);
  parameters.values("weights") = {5};
  const Numbers between = lab.run_again().front();
  lab.reload();
  const Numbers after = lab.run_again().front();
  if (!are_near(before, {2, 4})) return "wrong at first: " + text(before);
  if (!are_near(after, {5, 10})) return "no: " + text(after);
  return are_near(between, before) ? "yes" : "yes, and before that as well";
}

/// Two results, of which one is read by the other.
std::string exported_result() {
  ImageLab lab;
  MPSCNNNeuronReLUNode* first =
      [MPSCNNNeuronReLUNode nodeWithSource:lab.row({-1, 2}) a:0];
  MPSCNNNeuronAbsoluteNode* second =
      [MPSCNNNeuronAbsoluteNode nodeWithSource:[first resultImage]];
  MPSCNNNeuronAbsoluteNode* third =
      [MPSCNNNeuronAbsoluteNode nodeWithSource:[first resultImage]];
  std::string wrong;
  for (const Numbers& got : lab.run({second, third}, {first})) {
    if (!are_near(got, {0, 2})) wrong += ' ' + text(got);
  }
  return wrong.empty() ? "right" : "wrong:" + wrong;
}

}  // namespace

std::vector<Probe> image_probes() {
  const Remedy turn_round = {
      .text = "alignment_bits() of metal/mpsnn/filter_nodes.mm has to name the "
              "other side"};
  return {
      {.name = "image_copies",
       .question = "copies of 1 MB between matrices and images are",
       .answer = copies_of_1_mb,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = {.constant = "uses_image_graphs", .value = "false"}},
      {.name = "image_copies_2_gb",
       .question = "copies of more than 2 GB between matrices and images are",
       .answer = copies_of_2_gb,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = {.text = "image_copies.mm has to copy a part of the batch at "
                          "a time"},
       .may_abort = true,
       .bytes = std::size_t{12} << 30,
       .is_slow = true},
      {.name = "image_align_top_left",
       .question = "AlignTopLeft of MPSNN has padding",
       .answer = align_top_left,
       .weight = Weight::Reliance,
       .expected = {"at the top left"},
       .remedy = turn_round},
      {.name = "image_align_bottom_right",
       .question = "AlignBottomRight of MPSNN has padding",
       .answer = align_bottom_right,
       .weight = Weight::Reliance,
       .expected = {"at the bottom right"},
       .remedy = turn_round},
      {.name = "image_align_centered",
       .question = "AlignCentered of MPSNN has padding",
       .answer = align_centered,
       .weight = Weight::Reliance,
       .expected = {"on both sides"},
       .remedy = turn_round},
      {.name = "image_odd_remainder",
       .question = "of three samples that no centered window of MPSNN reads, "
                   "with the remainder at the top left, are",
       .answer = odd_remainder,
       .weight = Weight::Chance,
       .expected = {"one before the window", "none", "something else"},
       .remedy = {.text = "reason_of_window() of metal/mpsnn/support.cpp need "
                          "not refuse it"}},
      {.name = "image_reload",
       .question = "reloadFromDataSources takes new weights",
       .answer = reloaded,
       .weight = Weight::Reliance,
       .expected = {"yes"},
       .remedy = {.text = "image_graph_code.mm has to make the graph anew"}},
      {.name = "image_exported",
       .question = "several results of an image graph, and one exported, are",
       .answer = exported_result,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = {.constant = "uses_image_graphs", .value = "false"}},
  };
}

}  // namespace traingraph::metal::probes
