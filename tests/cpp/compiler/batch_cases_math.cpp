// SPDX-License-Identifier: MIT
#include "compiler/batch_cases.h"

namespace traingraph::testing {
namespace {

Convolution2dGradientAttrs conv_shape(Shape shape) { return {.shape = shape}; }

}  // namespace

std::vector<Row> math_rows() {
  using enum OpKind;
  const ArithmeticAttrs sum{ArithmeticOperation::Add};
  return {
      {"activation",
       [](Case& c) { c.add(Activation, ActivationAttrs{}, {c.in({c.n, 3})}); },
       on(0)},
      {"activation_gradient",
       [](Case& c) {
         c.add(ActivationGradient, ActivationAttrs{},
               {c.in({3, c.n}, 1), c.in({3, c.n}, 1)});
       },
       on(1)},
      {"unary",
       [](Case& c) {
         c.add(Unary, ArithmeticAttrs{ArithmeticOperation::Sqrt},
               {c.in({c.n, 3})});
       },
       on(0)},
      {"binary_broadcasts",
       [=](Case& c) { c.add(Binary, sum, {c.in({c.n, 3}), c.fixed({3})}); },
       on(0)},
      {"binary_with_one_value",
       [=](Case& c) {
         const ValueId ones = c.add(Fill, FillAttrs{.shape = {c.n, 3}}, {});
         c.add(Binary, sum, {ones, c.in({c.n, 1})});
       },
       on(0)},
      refuses(
          "binary_with_one_value_that_is_summed",
          [=](Case& c) {
            const ValueId ones = c.add(Fill, FillAttrs{.shape = {c.n, 3}}, {});
            c.add(Reduce, ReduceAttrs{}, {ones});
            c.add(Binary, sum, {ones, c.in({c.n, 1})});
          },
          "does not vary with the batch"),
      {"binary_moves_to_the_right",
       [=](Case& c) { c.add(Binary, sum, {c.in({c.n}), c.fixed({3, 1})}); },
       on(1)},
      {"binary_of_sequences",
       [=](Case& c) {
         const ValueId rows =
             c.add(Reshape, ShapeAttrs{{5 * c.n, 2}}, {c.in({c.n, 5, 2})});
         c.add(Binary, sum, {c.in({5 * c.n, 1}), rows});
       },
       on(0, 5, 5)},
      refuses(
          "binary_with_a_fixed_size",
          [=](Case& c) {
            c.add(Binary, sum, {c.in({c.n, 3}), c.fixed({c.n, 3})});
          },
          "does not vary with the batch, but has 6 entries on axis 0"),
      refuses(
          "binary_of_two_axes",
          [=](Case& c) {
            c.add(Binary, sum, {c.in({c.n, 1}), c.in({1, c.n}, 1)});
          },
          "two axes would follow the batch"),
      refuses(
          "binary_of_two_orders",
          [=](Case& c) {
            const ValueId by_sample =
                c.add(Reshape, ShapeAttrs{{5 * c.n}}, {c.in({c.n, 5})});
            const ValueId by_time =
                c.add(Reshape, ShapeAttrs{{5 * c.n}}, {c.in({5, c.n}, 1)});
            c.add(Binary, sum, {by_sample, by_time});
          },
          "lie in another order"),
      {"compare",
       [](Case& c) {
         c.add(Compare, CompareAttrs{}, {c.fixed({1}), c.in({c.n, 3})});
       },
       on(0)},
      {"logical_not",
       [](Case& c) { c.add(LogicalNot, NoAttrs{}, {c.flags({c.n})}); }, on(0)},
      {"select",
       [](Case& c) {
         c.add(Select, NoAttrs{},
               {c.flags({c.n, 1}), c.in({c.n, 3}), c.fixed({1})});
       },
       on(0)},
      {"cast",
       [](Case& c) {
         c.add(Cast, CastAttrs{DataType::Int32}, {c.in({2, c.n}, 1)});
       },
       on(1)},
      {"fill", [](Case& c) { c.add(Fill, FillAttrs{.shape = {6, 2}}, {}); },
       kNone},
      {"dropout",
       [](Case& c) {
         c.add(Dropout, DropoutAttrs{},
               {c.in({c.n, 4}), c.fixed({4}, DataType::Int32)});
       },
       on(0)},
      {"lstm_steps",
       [](Case& c) {
         c.add(LstmSteps, LstmAttrs{},
               {c.in({3, c.n, 8}, 1), c.variable({8, 2}), c.in({c.n, 2}),
                kNoValue, c.variable({8}), kNoValue,
                c.in({c.n}, 0, DataType::Int32)});
       },
       on(1)},
      refuses(
          "lstm_steps_over_samples",
          [](Case& c) {
            c.add(LstmSteps, LstmAttrs{},
                  {c.in({c.n, 3, 8}), c.variable({8, 2})});
          },
          "no samples on axis 0"),
      refuses(
          "lstm_steps_with_a_fixed_state",
          [](Case& c) {
            c.add(
                LstmSteps, LstmAttrs{},
                {c.in({3, c.n, 8}, 1), c.variable({8, 2}), c.fixed({c.n, 2})});
          },
          "does not vary with the batch"),
      {"lstm_steps_gradient",
       [](Case& c) {
         c.add(LstmStepsGradient, LstmAttrs{},
               {c.in({3, c.n, 8}, 1), c.in({3, c.n, 2}, 1),
                c.in({3, c.n, 2}, 1), c.variable({8, 2}), c.in({c.n, 2}),
                kNoValue, kNoValue, kNoValue, kNoValue, c.in({3, c.n, 2}, 1)});
       },
       on(1)},
      {"gru_steps",
       [](Case& c) {
         c.add(GruSteps, GruAttrs{.reset_after = true},
               {c.in({3, c.n, 6}, 1), c.variable({6, 2}), c.in({c.n, 2}),
                kNoValue, c.variable({2}), c.in({c.n}, 0, DataType::Int32)});
       },
       on(1)},
      refuses(
          "gru_steps_over_samples",
          [](Case& c) {
            c.add(GruSteps, GruAttrs{},
                  {c.in({c.n, 3, 6}), c.variable({6, 2})});
          },
          "no samples on axis 0"),
      {"gru_steps_gradient",
       [](Case& c) {
         c.add(GruStepsGradient, GruAttrs{},
               {c.in({3, c.n, 6}, 1), c.in({3, c.n, 2}, 1), c.variable({6, 2}),
                c.in({c.n, 2}), kNoValue, kNoValue, kNoValue,
                c.in({3, c.n, 2}, 1)});
       },
       on(1)},
      {"single_gate_steps",
       [](Case& c) {
         c.add(SingleGateSteps, SingleGateAttrs{},
               {c.in({3, c.n, 2}, 1), c.variable({2, 2}), c.in({c.n, 2}),
                kNoValue, c.in({c.n}, 0, DataType::Int32)});
       },
       on(1)},
      {"single_gate_steps_gradient",
       [](Case& c) {
         c.add(SingleGateStepsGradient, SingleGateAttrs{},
               {c.in({3, c.n, 2}, 1), c.variable({2, 2}), c.in({c.n, 2}),
                kNoValue, kNoValue, c.in({3, c.n, 2}, 1)});
       },
       on(1)},
      {"matmul_rows",
       [](Case& c) {
         c.add(MatMul, MatMulAttrs{}, {c.in({c.n, 3}), c.variable({3, 6})});
       },
       on(0)},
      {"matmul_columns",
       [](Case& c) {
         c.add(MatMul, MatMulAttrs{.transposes_y = true},
               {c.fixed({2, 3}), c.in({c.n, 3})});
       },
       on(1)},
      {"matmul_leading",
       [](Case& c) {
         c.add(MatMul, MatMulAttrs{}, {c.in({c.n, 2, 3}), c.in({c.n, 3, 4})});
       },
       on(0)},
      {"matmul_shared_matrix",
       [](Case& c) {
         c.add(MatMul, MatMulAttrs{},
               {c.in({c.n, 2, 3}), c.variable({3, 4}), c.variable({4})});
       },
       on(0)},
      {"matmul_sums_over_the_batch",
       [](Case& c) {
         c.add(MatMul, MatMulAttrs{.transposes_x = true},
               {c.in({c.n, 3}), c.in({c.n, 4})});
       },
       kNone},
      refuses(
          "matmul_of_all_pairs",
          [](Case& c) {
            c.add(MatMul, MatMulAttrs{.transposes_y = true},
                  {c.in({c.n, 3}), c.in({c.n, 3})});
          },
          "two axes would follow the batch"),
      refuses(
          "matmul_with_a_fixed_inner_size",
          [](Case& c) {
            c.add(MatMul, MatMulAttrs{},
                  {c.in({3, c.n}, 1), c.variable({c.n, 4})});
          },
          "input \"y\" (6, 4) does not vary"),
      {"convolution_2d",
       [](Case& c) {
         c.add(
             Convolution2d, Convolution2dAttrs{},
             {c.in({c.n, 6, 5, 5}), c.variable({4, 6, 3, 3}), c.variable({4})});
       },
       on(0)},
      refuses(
          "convolution_2d_on_channels",
          [](Case& c) {
            c.add(Convolution2d, Convolution2dAttrs{.groups = c.n},
                  {c.in({2, c.n, 5, 5}, 1), c.variable({c.n, 1, 3, 3})});
          },
          "no samples on axis"),
      {"convolution_2d_input_gradient",
       [](Case& c) {
         c.add(Convolution2dInputGradient, conv_shape({c.n, 2, 5, 5}),
               {c.in({c.n, 4, 3, 3}), c.variable({4, 2, 3, 3})});
       },
       on(0)},
      {"convolution_2d_weights_gradient",
       [](Case& c) {
         c.add(Convolution2dWeightsGradient, conv_shape({4, 2, 3, 3}),
               {c.in({c.n, 4, 3, 3}), c.in({c.n, 2, 5, 5})});
       },
       kNone},
      {"max_pool_2d",
       [](Case& c) { c.add(MaxPool2d, Pool2dAttrs{}, {c.in({c.n, 2, 4, 4})}); },
       on(0)},
      {"max_pool_2d_gradient",
       [](Case& c) {
         const ValueId x = c.in({2, c.n, 4, 4}, 1);
         const auto y = c.program.append(MaxPool2d, Pool2dAttrs{}, {x});
         c.add(MaxPool2dGradient, Pool2dAttrs{}, {y[0], x, y[1]});
       },
       on(1)},
      {"average_pool_2d",
       [](Case& c) {
         c.add(AveragePool2d, AveragePool2dAttrs{}, {c.in({2, c.n, 4, 4}, 1)});
       },
       on(1)},
      {"average_pool_2d_gradient",
       [](Case& c) {
         c.add(AveragePool2dGradient,
               AveragePool2dGradientAttrs{.shape = {c.n, 2, 4, 4}},
               {c.in({c.n, 2, 4, 4})});
       },
       on(0)},
      refuses(
          "average_pool_2d_on_height",
          [](Case& c) {
            c.add(AveragePool2d, AveragePool2dAttrs{},
                  {c.in({2, 3, c.n, 4}, 2)});
          },
          "no samples on axis 2"),
      {"upsample",
       [](Case& c) {
         c.add(Upsample, UpsampleAttrs{{8, 6}}, {c.in({c.n, 2, 4, 4})});
       },
       on(0)},
      {"upsample_gradient",
       [](Case& c) {
         c.add(UpsampleGradient, UpsampleAttrs{{3}}, {c.in({2, c.n, 6}, 1)});
       },
       on(1)},
      refuses(
          "upsample_on_width",
          [](Case& c) {
            c.add(Upsample, UpsampleAttrs{{8}}, {c.in({2, 3, c.n}, 2)});
          },
          "no samples on axis 2"),
      {"batch_norm",
       [](Case& c) {
         c.add(BatchNorm, BatchNormAttrs{},
               {c.in({c.n, 6, 2}), kNoValue, c.variable({6}), c.variable({6}),
                c.variable({6})});
       },
       on(0)},
      refuses(
          "batch_norm_on_channels",
          [](Case& c) {
            c.add(BatchNorm, BatchNormAttrs{},
                  {c.in({2, c.n}, 1), kNoValue, kNoValue, c.variable({c.n}),
                   c.variable({c.n})});
          },
          "does not vary with the batch"),
      {"batch_norm_gradient",
       [](Case& c) {
         c.add(BatchNormGradient, BatchNormAttrs{},
               {c.in({c.n, 3}), c.in({c.n, 3}), kNoValue, c.fixed({3}),
                c.fixed({3})});
       },
       on(0)},
      {"batch_norm_moments",
       [](Case& c) { c.add(BatchNormMoments, NoAttrs{}, {c.in({c.n, 6, 2})}); },
       kNone},
      {"batch_norm_apply",
       [](Case& c) {
         c.add(BatchNormApply, BatchNormAttrs{},
               {c.in({c.n, 3}), kNoValue, kNoValue, c.variable({3}),
                c.variable({3}), c.fixed({4, 3})});
       },
       on(0)},
      {"batch_norm_gradient_sums",
       [](Case& c) {
         c.add(BatchNormGradientSums, BatchNormAttrs{},
               {c.in({c.n, 3}), c.in({c.n, 3}), c.fixed({4, 3})});
       },
       kNone},
      {"batch_norm_gradient_apply",
       [](Case& c) {
         c.add(BatchNormGradientApply, BatchNormAttrs{},
               {c.in({c.n, 3}), c.in({c.n, 3}), kNoValue, c.fixed({4, 3}),
                c.fixed({2, 3})});
       },
       on(0)},
      {"sample_norm",
       [](Case& c) {
         c.add(SampleNorm, SampleNormAttrs{.groups = 3},
               {c.in({c.n, 6, 2}), c.variable({6}), kNoValue, c.variable({3}),
                c.variable({3})});
       },
       on(0)},
      {"sample_norm_of_sequences",
       [](Case& c) {
         c.add(SampleNorm, SampleNormAttrs{.axis = 2},
               {c.in({4, c.n, 3}, 1), c.variable({3}), c.variable({3})});
       },
       on(1)},
      refuses(
          "sample_norm_of_the_batch",
          [](Case& c) {
            c.add(SampleNorm, SampleNormAttrs{}, {c.in({2, c.n}, 1)});
          },
          "no samples on axis 1"),
      {"sample_norm_gradient",
       [](Case& c) {
         const ValueId x = c.in({c.n, 3});
         const auto y = c.program.append(SampleNorm, SampleNormAttrs{}, {x});
         c.add(SampleNormGradient, SampleNormAttrs{},
               {c.in({c.n, 3}), x, kNoValue, y[1], y[2]});
       },
       on(0)},
      {"softmax",
       [](Case& c) { c.add(Softmax, SoftmaxAttrs{}, {c.in({c.n, 3})}); },
       on(0)},
      {"softmax_gradient",
       [](Case& c) {
         c.add(SoftmaxGradient, SoftmaxAttrs{},
               {c.in({c.n, 3}), c.in({c.n, 3})});
       },
       on(0)},
  };
}

}  // namespace traingraph::testing
