// SPDX-License-Identifier: MIT
// Floats of 16 bits: in which type they are added up.
#include "metal/assumptions.h"
#import "tests/metal_probes/convolution_lab.h"
#include "tests/metal_probes/half_lab.h"

namespace traingraph::metal::probes {
namespace {

constexpr int kTerms = 128;

/// Sums to 67: numbers whose squares or partial sums 16 bits do not hold.
struct Terms {
  explicit Terms(MPSDataType type)
      : x(kTerms, 1), y(kTerms, 1), large(type == kHalf ? 256.F : 512.F) {
    // Far apart, so that no block of neighbours has both of them.
    for (int i = 0; i < 30; ++i) {
      x[i] = y[i] = y[kTerms - 1 - i] = large;
      x[kTerms - 1 - i] = -large;
    }
    x[60] = 0;
  }
  Numbers x, y;
  float large;
};

std::string explain_sum(const Numbers& sums) {
  for (const float sum : sums) {
    if (sum != 67) return "not in float32: " + text(sum) + " for 67";
  }
  return "in float32";
}

std::string product_sum(MPSDataType type) {
  constexpr int kRows = 64;
  const Terms terms(type);
  Numbers rows, columns;
  for (int i = 0; i < kRows; ++i) {
    rows.insert(rows.end(), terms.x.begin(), terms.x.end());
  }
  for (const float y : terms.y) columns.insert(columns.end(), kRows, y);
  Lab lab;
  T x = lab.input(rows, {kRows, kTerms}, type);
  T y = lab.input(columns, {kTerms, kRows}, type);
  return explain_sum(
      lab.run([lab.graph() matrixMultiplicationWithPrimaryTensor:x
                                                 secondaryTensor:y
                                                            name:@"product"]));
}

/// One window over all channels.
std::string convolution_sum(MPSDataType type) {
  constexpr int kPixels = 64, kOutputs = 16;
  const Terms terms(type);
  Numbers source, weights;
  for (const float x : terms.x) source.insert(source.end(), kPixels, x);
  for (int o = 0; o < kOutputs; ++o) {
    weights.insert(weights.end(), terms.y.begin(), terms.y.end());
  }
  const Convolution c{.channels = kTerms, .kernel = 1};
  Lab lab;
  return explain_sum(lab.run([lab.graph()
      convolution2DWithSourceTensor:lab.input(source, {1, kTerms, 8, 8}, type)
                      weightsTensor:lab.input(weights, {kOutputs, kTerms, 1, 1},
                                              type)
                         descriptor:descriptor_of(c).get()
                               name:@"result"]));
}

/// Windows of 3 x 3 may be computed by transforms of 16 bits.
std::string wide_convolution(MPSDataType type) {
  const Convolution c{
      .images = 2, .channels = 32, .outputs = 32, .height = 16, .width = 16};
  const ConvolutionNumbers n = compute(c);
  const auto descriptor = descriptor_of(c);
  Lab lab;
  T source = lab.input(n.source, c.source_shape(), type);
  T weights = lab.input(n.weights, c.weights_shape(), type);
  T incoming = lab.input(n.incoming, c.result_shape(), type);
  const auto got = lab.run_all({
      [lab.graph() convolution2DWithSourceTensor:source
                                   weightsTensor:weights
                                      descriptor:descriptor.get()
                                            name:@"result"],
      [lab.graph()
          convolution2DDataGradientWithIncomingGradientTensor:incoming
                                                weightsTensor:weights
                                                  outputShape:
                                                      list(c.source_shape())
                                 forwardConvolutionDescriptor:descriptor.get()
                                                         name:@"of_source"],
  });
  // Integers that either type holds up to 256, and bfloat16 in steps beyond.
  const float step = type == kHalf ? 0 : 4;
  std::string wrong;
  if (!are_near(got[0], n.result, step)) wrong += " result";
  if (!are_near(got[1], n.source_gradient, step)) wrong += " source gradient";
  return wrong.empty() ? "right" : "wrong:" + wrong;
}

/// 8 x 32 x 32 terms of 1.
std::string weights_gradient(MPSDataType type) {
  const Convolution c{.images = 8,
                      .channels = 4,
                      .outputs = 4,
                      .height = 32,
                      .width = 32,
                      .kernel = 1};
  const auto ones = [](const Extents& shape) {
    return Numbers(static_cast<std::size_t>(count_of(shape)), 1);
  };
  Lab lab;
  const Numbers got = lab.run([lab.graph()
      convolution2DWeightsGradientWithIncomingGradientTensor:
          lab.input(ones(c.result_shape()), c.result_shape(), type)
                                                sourceTensor:
                                                    lab.input(
                                                        ones(c.source_shape()),
                                                        c.source_shape(), type)
                                                 outputShape:
                                                     list(c.weights_shape())
                                forwardConvolutionDescriptor:descriptor_of(c)
                                                                 .get()
                                                        name:@"of_weights"]);
  const Numbers all(got.size(), 8192);
  return are_near(got, all) ? "in float32"
                            : "not in float32: " + text(got[0]) + " for 8192";
}

std::string reduction_sum(MPSDataType type) {
  Lab lab;
  const Numbers got = lab.run([lab.graph()
      reductionSumWithTensor:lab.input(Numbers(8192, 1), {2, 4096}, type)
                        axes:list({1})
                        name:@"sum"]);
  return are_near(got, {4096, 4096})
             ? "in float32"
             : "not in float32: " + text(got[0]) + " for 4096";
}

std::string softmax_sum(MPSDataType type) {
  Lab lab;
  const Numbers got = lab.run([lab.graph()
      softMaxWithTensor:lab.input(Numbers(4096, 3), {1, 4096}, type)
                   axis:1
                   name:@"softmax"]);
  const bool is_right = got[0] == 0x1p-12F && got[4095] == 0x1p-12F;
  return is_right ? "in float32"
                  : "not in float32: " + text(got[0]) + " for 2^-12";
}

constexpr Remedy kProducts = {.constant = "kHalfProductsSumInFloat32",
                              .value = "false"};
constexpr Remedy kConvolutions = {.constant = "kHalfConvolutionsSumInFloat32",
                                  .value = "false"};

}  // namespace

std::vector<Probe> half_sum_probes() {
  return {
      {.name = "half_product_sum",
       .question = "products of float16 are added up",
       .answer = of_half<product_sum>,
       .weight = Weight::Reliance,
       .expected = when(kHalfProductsSumInFloat32, {"in float32"}),
       .remedy = kProducts},
      {.name = "bfloat_product_sum",
       .question = "products of bfloat16 are added up",
       .answer = of_bfloat<product_sum>,
       .weight = Weight::Reliance,
       .expected = when(kHalfProductsSumInFloat32, or_none("in float32")),
       .remedy = kProducts,
       .may_abort = true},
      {.name = "half_convolution_sum",
       .question = "convolutions of float16 are added up",
       .answer = of_half<convolution_sum>,
       .weight = Weight::Reliance,
       .expected = when(kHalfConvolutionsSumInFloat32, {"in float32"}),
       .remedy = kConvolutions},
      {.name = "bfloat_convolution_sum",
       .question = "convolutions of bfloat16 are added up",
       .answer = of_bfloat<convolution_sum>,
       .weight = Weight::Reliance,
       .expected = when(kHalfConvolutionsSumInFloat32, or_none("in float32")),
       .remedy = kConvolutions,
       .may_abort = true},
      {.name = "half_convolution",
       .question =
           "convolutions of 3 x 3 and their source gradients of float16",
       .answer = of_half<wide_convolution>,
       .weight = Weight::Reliance,
       .expected = when(kHalfConvolutionsSumInFloat32, {"right"}),
       .remedy = kConvolutions},
      {.name = "bfloat_convolution",
       .question =
           "convolutions of 3 x 3 and their source gradients of bfloat16",
       .answer = of_bfloat<wide_convolution>,
       .weight = Weight::Reliance,
       .expected = when(kHalfConvolutionsSumInFloat32, or_none("right")),
       .remedy = kConvolutions,
       .may_abort = true},
      // What is computed in float32 whatever the answer.
      {.name = "half_weights_gradient",
       .question = "weights gradients of float16 convolutions are added up",
       .answer = of_half<weights_gradient>,
       .expected = {"in float32"},
       .may_abort = true},
      {.name = "half_reduction_sum",
       .question = "reductionSum of float16 adds up",
       .answer = of_half<reduction_sum>,
       .expected = {"in float32"}},
      {.name = "bfloat_reduction_sum",
       .question = "reductionSum of bfloat16 adds up",
       .answer = of_bfloat<reduction_sum>,
       .expected = {"in float32"},
       .may_abort = true},
      {.name = "half_softmax",
       .question = "softMax of float16 adds up",
       .answer = of_half<softmax_sum>,
       .expected = {"in float32"}},
  };
}

}  // namespace traingraph::metal::probes
