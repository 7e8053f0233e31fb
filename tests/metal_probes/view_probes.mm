// SPDX-License-Identifier: MIT
// Operands that MPSGraph may read through what they were made of (transposed,
// reshaped), where some systems read them wrongly or end the process; and that
// writing them down, as the lowering does, helps.
#include <algorithm>
#include <limits>

#import "tests/metal_probes/convolution_lab.h"
#include "tests/metal_probes/half_lab.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

Numbers small_integers(std::int64_t count) {
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>(i * 5 % 11 - 4));
  }
  return numbers;
}

/// As GraphBuilder::written().
T written(const Lab& lab, T x) {
  T least =
      [lab.graph() constantWithScalar:-std::numeric_limits<double>::infinity()
                                shape:list({1})
                             dataType:[x dataType]];
  return [lab.graph() maximumWithNaNPropagationWithPrimaryTensor:x
                                                 secondaryTensor:least
                                                            name:@"written"];
}

std::string right_if(bool is_right) { return is_right ? "right" : "wrong"; }

/// (rows, inner) times (inner, columns).
Numbers product(const Numbers& x, const Numbers& y, std::int64_t inner,
                std::int64_t columns) {
  Numbers z;
  const auto rows = static_cast<std::int64_t>(x.size()) / inner;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < inner; ++k) {
        sum += x[i * inner + k] * y[k * columns + j];
      }
      z.push_back(sum);
    }
  }
  return z;
}

std::string between_reshapes(bool writes) {
  const Numbers x = small_integers(24), y = small_integers(20);
  Lab lab;
  T rows = [lab.graph() reshapeTensor:lab.input(x, {2, 1, 3, 1, 4})
                            withShape:list({6, 4})
                                 name:@"rows"];
  if (writes) rows = written(lab, rows);
  T z = [lab.graph() matrixMultiplicationWithPrimaryTensor:rows
                                           secondaryTensor:lab.input(y, {4, 5})
                                                      name:@"product"];
  T folded = [lab.graph() reshapeTensor:z
                              withShape:list({2, 1, 3, 1, 5})
                                   name:@"folded"];
  return right_if(are_near(lab.run(folded), product(x, y, 4, 5)));
}

std::string product_between_reshapes() { return between_reshapes(false); }
std::string product_of_written_reshape() { return between_reshapes(true); }

std::string by_turned_bfloat16(bool writes) {
  const Numbers x = small_integers(32), stored = small_integers(24);
  Numbers y;
  for (std::int64_t k = 0; k < 4; ++k) {
    for (std::int64_t j = 0; j < 6; ++j) y.push_back(stored[j * 4 + k]);
  }
  Lab lab;
  T weights = [lab.graph() transposeTensor:lab.input(stored, {6, 4}, kBFloat)
                                 dimension:0
                             withDimension:1
                                      name:@"turned"];
  if (writes) weights = written(lab, weights);
  T z = [lab.graph()
      matrixMultiplicationWithPrimaryTensor:lab.input(x, {2, 4, 4}, kBFloat)
                            secondaryTensor:weights
                                       name:@"product"];
  T wide = [lab.graph() castTensor:z toType:MPSDataTypeFloat32 name:@"wide"];
  return right_if(are_near(lab.run(wide), product(x, y, 4, 6)));
}

std::string product_of_turned_bfloat16() { return by_turned_bfloat16(false); }
std::string product_of_written_bfloat16() { return by_turned_bfloat16(true); }

/// Stored as (I, O, H, W), read as (O, I, H, W).
std::string by_turned_weights(bool writes) {
  const Convolution c{};
  const ConvolutionNumbers n = compute(c);
  const Extents shape = c.weights_shape();
  const std::int64_t size = shape[2] * shape[3];
  Numbers stored(n.weights.size());
  for (std::int64_t o = 0; o < shape[0]; ++o) {
    for (std::int64_t i = 0; i < shape[1]; ++i) {
      std::copy_n(n.weights.begin() + (o * shape[1] + i) * size, size,
                  stored.begin() + (i * shape[0] + o) * size);
    }
  }
  const auto descriptor = descriptor_of(c);
  Lab lab;
  T source = lab.input(n.source, c.source_shape());
  T incoming = lab.input(n.incoming, c.result_shape());
  T weights = [lab.graph()
      transposeTensor:lab.input(stored,
                                {shape[1], shape[0], shape[2], shape[3]})
            dimension:0
        withDimension:1
                 name:@"turned"];
  if (writes) weights = written(lab, weights);
  T result = [lab.graph() convolution2DWithSourceTensor:source
                                          weightsTensor:weights
                                             descriptor:descriptor.get()
                                                   name:@"result"];
  T of_source = [lab.graph()
      convolution2DDataGradientWithIncomingGradientTensor:incoming
                                            weightsTensor:weights
                                              outputShape:list(c.source_shape())
                             forwardConvolutionDescriptor:descriptor.get()
                                                     name:@"of_source"];
  const auto got = lab.run_all({result, of_source});
  return right_if(are_near(got[0], n.result) &&
                  are_near(got[1], n.source_gradient));
}

std::string convolution_by_turned_weights() { return by_turned_weights(false); }
std::string convolution_by_written_weights() { return by_turned_weights(true); }

std::string from_columns(std::int64_t columns) {
  const std::vector<std::int32_t> at = {4, 0, 4};
  Lab lab;
  Numbers x, expected;
  for (int row = 0; row < 5; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) x.push_back(float(row + 1));
  }
  for (std::int32_t row : at) {
    for (std::int64_t i = 0; i < columns; ++i) {
      expected.push_back(float(row + 1));
    }
  }
  T positions = [lab.graph() reshapeTensor:lab.int_input(at)
                                 withShape:list({3, 1})
                                      name:@"positions"];
  T many = [lab.graph() broadcastTensor:positions
                                toShape:list({3, columns})
                                   name:@"many"];
  T named = [lab.graph() gatherAlongAxis:0
                       withUpdatesTensor:lab.input(x, {5, columns})
                           indicesTensor:many
                                    name:@"named"];
  return right_if(are_near(lab.run(named), expected));
}

std::string gather_from_one_column() { return from_columns(1); }
std::string gather_from_two_columns() { return from_columns(2); }

/// Large sums in rapid succession, which were wrong now and then.
std::string sums_in_a_row() {
  const Numbers x = small_integers(16 * 2100 * 64);
  Lab lab;
  T sum = [lab.graph() reductionSumWithTensor:lab.input(x, {16, 2100, 64})
                                         axes:list({0, 1, 2})
                                         name:@"sum"];
  const float first = lab.run(sum).front();
  constexpr int kTimes = 300;
  for (int i = 1; i < kTimes; ++i) {
    if (lab.run(sum).front() != first) {
      return "differ at run " + std::to_string(i);
    }
  }
  return "the same";
}

/// What a limit guards against: where it is on, it could be `off` if the answer
/// is right; where it is off, the answer has to be.
Probe of_limit(bool is_on, const char* off, Probe probe) {
  probe.weight = is_on ? Weight::Chance : Weight::Reliance;
  probe.expected =
      is_on ? Beginnings{"wrong", "raised", "aborted"} : Beginnings{"right"};
  probe.emulated = {"right"};
  if (is_on) probe.remedy.value = off;
  probe.may_abort = true;
  return probe;
}

Probe relied_on(Probe probe) {
  probe.weight = Weight::Reliance;
  probe.expected = {"right"};
  probe.may_abort = true;
  return probe;
}

}  // namespace

std::vector<Probe> view_probes() {
  const GpuLimits& limits = limits_here();
  const char* by_system = "by limits_of(), for this system";
  const Remedy reshapes = {
      .constant = "writes_reshapes", .value = "true", .text = by_system};
  const Remedy bfloat16 = {
      .constant = "writes_turned_bfloat16", .value = "true", .text = by_system};
  const Remedy weights = {
      .constant = "writes_weights", .value = "true", .text = by_system};
  const Remedy columns = {
      .constant = "min_gather_columns", .value = "2", .text = by_system};
  const Remedy not_written = {
      .text = "GraphBuilder::written() has to write an operand otherwise"};
  std::vector<Probe> probes = {
      of_limit(limits.writes_reshapes, "false",
               {.name = "product_between_reshapes",
                .question = "a product between reshapes with axes of 1 is",
                .answer = product_between_reshapes,
                .remedy = reshapes}),
      relied_on({.name = "product_of_written_reshape",
                 .question = "the same, of a reshape that is written down, is",
                 .answer = product_of_written_reshape,
                 .remedy = not_written}),
      of_limit(limits.writes_weights, "false",
               {.name = "convolution_by_turned_weights",
                .question = "a convolution by transposed weights is",
                .answer = convolution_by_turned_weights,
                .remedy = weights}),
      relied_on({.name = "convolution_by_written_weights",
                 .question = "the same, by weights that are written down, is",
                 .answer = convolution_by_written_weights,
                 .remedy = not_written}),
      of_limit(limits.min_gather_columns > 1, "1",
               {.name = "gather_from_one_column",
                .question = "a gather from (5, 1) is",
                .answer = gather_from_one_column,
                .remedy = columns}),
      relied_on({.name = "gather_from_two_columns",
                 .question = "a gather from (5, 2) is",
                 .answer = gather_from_two_columns,
                 .remedy = {.text = "gather_indices.mm has to repeat columns "
                                    "more often"}}),
      {.name = "sums_in_a_row",
       .question = "300 equal sums of two million numbers are",
       .answer = sums_in_a_row,
       .weight = Weight::Reliance,
       .expected = {"the same"},
       .remedy = {.text = "reductions need a kernel of ours (pytorch#178497)"},
       .is_slow = true},
  };
  if (!limits.has_bfloat16) return probes;
  probes.push_back(
      of_limit(limits.writes_turned_bfloat16, "false",
               {.name = "product_of_turned_bfloat16",
                .question = "a product of a transposed operand of bfloat16 is",
                .answer = product_of_turned_bfloat16,
                .remedy = bfloat16}));
  probes.push_back(
      relied_on({.name = "product_of_written_bfloat16",
                 .question = "the same, of an operand that is written down, is",
                 .answer = product_of_written_bfloat16,
                 .remedy = not_written}));
  return probes;
}

}  // namespace traingraph::metal::probes
