// SPDX-License-Identifier: MIT
#include "compiler/batch_cases.h"

namespace traingraph::testing {

std::vector<Row> layout_and_loss_rows() {
  using enum OpKind;
  const LossAttrs each{.reduction = ReductionType::None};
  const LossAttrs classes{.type = LossType::SoftmaxCrossEntropy,
                          .reduction = ReductionType::None};
  return {
      {"reduce_other_axes",
       [](Case& c) {
         c.add(Reduce, ReduceAttrs{.axes = {0, 2}}, {c.in({2, c.n, 3}, 1)});
       },
       on(1)},
      {"reduce_the_batch",
       [](Case& c) {
         c.add(Reduce, ReduceAttrs{.axes = {0}}, {c.in({c.n, 3})});
       },
       kNone},
      {"reduce_all",
       [](Case& c) { c.add(Reduce, ReduceAttrs{}, {c.in({c.n, 3})}); }, kNone},
      {"broadcast_to",
       [](Case& c) {
         c.add(BroadcastTo, ShapeAttrs{{2, c.n, 3}}, {c.in({c.n, 1})});
       },
       on(1)},
      {"squared_norm",
       [](Case& c) { c.add(SquaredNorm, NoAttrs{}, {c.in({c.n, 3})}); }, kNone},
      {"stop_gradient",
       [](Case& c) { c.add(StopGradient, NoAttrs{}, {c.in({c.n, 3})}); },
       on(0)},
      {"cumulative_sum",
       [](Case& c) {
         c.add(CumulativeSum, CumulativeSumAttrs{}, {c.in({c.n, 3})});
       },
       on(0)},
      refuses(
          "cumulative_sum_of_samples",
          [](Case& c) {
            c.add(CumulativeSum, CumulativeSumAttrs{0}, {c.in({c.n, 3})});
          },
          "no samples on axis 0"),
      {"reshape_merges",
       [](Case& c) {
         c.add(Reshape, ShapeAttrs{{c.n * 5, 2}}, {c.in({c.n, 5, 2})});
       },
       on(0, 5, 5)},
      {"reshape_merges_by_time",
       [](Case& c) {
         c.add(Reshape, ShapeAttrs{{-1, 2}}, {c.in({5, c.n, 2}, 1)});
       },
       on(0, 5, 1)},
      {"reshape_splits_again",
       [](Case& c) {
         const ValueId rows =
             c.add(Reshape, ShapeAttrs{{-1, 2}}, {c.in({5, c.n, 2}, 1)});
         c.add(Reshape, ShapeAttrs{{5, c.n, 2}}, {rows});
       },
       on(1)},
      {"reshape_of_equal_sizes",  // heads as many as samples
       [](Case& c) {
         const ValueId x =
             c.add(Reshape, ShapeAttrs{{c.n, 3, 6, 2}}, {c.in({c.n, 3, 12})});
         const ValueId by_head =
             c.add(Transpose, TransposeAttrs{{2, 0, 1, 3}}, {x});
         c.add(Reshape, ShapeAttrs{{6 * c.n, 3, 2}}, {by_head});
       },
       on(0, 6, 1)},
      refuses(
          "reshape_into_pairs",
          [](Case& c) {
            c.add(Reshape, ShapeAttrs{{c.n / 2, 6}}, {c.in({c.n, 3})});
          },
          "splits the batch on axis 0"),
      refuses(
          "reshape_of_an_unknown_order",
          [](Case& c) {
            c.add(Reshape, ShapeAttrs{{c.n, 5, 2}}, {c.in({5 * c.n, 2})});
          },
          "splits an axis of several entries per sample"),
      {"reshape_keeps_an_unknown_order",
       [](Case& c) {
         c.add(Reshape, ShapeAttrs{{5 * c.n, 2, 2}}, {c.in({5 * c.n, 4})});
       },
       on(0, 5, 0)},
      {"transpose",
       [](Case& c) {
         c.add(Transpose, TransposeAttrs{{1, 2, 0}}, {c.in({c.n, 6, 3})});
       },
       on(2)},
      {"concatenate_features",
       [](Case& c) {
         c.add(Concatenate, AxisAttrs{1}, {c.in({c.n, 3}), c.in({c.n, 2})});
       },
       on(0)},
      {"concatenate_batches",
       [](Case& c) {
         const ValueId x = c.in({c.n, 3});
         c.add(Concatenate, AxisAttrs{0}, {x, c.in({c.n, 3}), x});
       },
       on(0, 3)},
      {"concatenate_a_repeated_token",
       [](Case& c) {
         const ValueId token = c.add(BroadcastTo, ShapeAttrs{{c.n, 1, 3}},
                                     {c.variable({1, 1, 3})});
         c.add(Concatenate, AxisAttrs{1}, {token, c.in({c.n, 5, 3})});
       },
       on(0)},
      refuses(
          "concatenate_tokens_that_vary",
          [](Case& c) {
            const ValueId token = c.add(BroadcastTo, ShapeAttrs{{c.n, 1, 3}},
                                        {c.variable({c.n, 1, 1})});
            c.add(Concatenate, AxisAttrs{1}, {token, c.in({c.n, 5, 3})});
          },
          "does not vary with the batch"),
      refuses(
          "concatenate_a_fixed_size",
          [](Case& c) {
            c.add(Concatenate, AxisAttrs{0}, {c.in({c.n, 3}), c.fixed({2, 3})});
          },
          "a fixed size among batches on axis 0"),
      {"split_features",
       [](Case& c) {
         c.add(Split, SplitAttrs{.lengths = {1, 5}, .axis = 1},
               {c.in({c.n, 6})});
       },
       on(0)},
      {"split_batches",
       [](Case& c) {
         const ValueId x = c.in({c.n, 3});
         const ValueId y = c.add(Concatenate, AxisAttrs{0}, {x, x, x});
         c.add(Split, SplitAttrs{.lengths = {2 * c.n, c.n}, .axis = 0}, {y});
       },
       on(0, 2)},
      refuses(
          "split_a_batch",
          [](Case& c) {
            c.add(Split, SplitAttrs{.lengths = {2, c.n - 2}, .axis = 0},
                  {c.in({c.n, 3})});
          },
          "a part of 2 entries on axis 0 is no whole batch"),
      {"slice_features",
       [](Case& c) {
         c.add(Slice, SliceAttrs{{0, 1}, {c.n, 6}, {1, 2}}, {c.in({c.n, 6})});
       },
       on(0)},
      {"slice_of_batches",
       [](Case& c) {
         const ValueId x = c.in({c.n, 3});
         const ValueId y = c.add(Concatenate, AxisAttrs{0}, {x, x, x});
         c.add(Slice, SliceAttrs{{c.n, 0}, {3 * c.n, 3}, {}}, {y});
       },
       on(0, 2)},
      refuses(
          "slice_of_a_batch",
          [](Case& c) {
            c.add(Slice, SliceAttrs{{1, 0}, {c.n, 3}, {}}, {c.in({c.n, 3})});
          },
          "entries 1 to 6 of 6 on axis 0 are no whole batch"),
      {"slice_gradient",
       [](Case& c) {
         c.add(SliceGradient,
               SliceGradientAttrs{{c.n, 0}, {2 * c.n, 3}, {}, {3 * c.n, 4}},
               {c.in({c.n, 3})});
       },
       on(0, 3)},
      {"pad",
       [](Case& c) {
         c.add(Pad, PadAttrs{.before = {0, 1}, .after = {0, 2}},
               {c.in({c.n, 3})});
       },
       on(0)},
      refuses(
          "pad_the_batch",
          [](Case& c) {
            c.add(Pad, PadAttrs{.before = {1, 0}, .after = {0, 0}},
                  {c.in({c.n, 3})});
          },
          "padding on axis 0"),
      {"pad_gradient",
       [](Case& c) {
         c.add(PadGradient, PadAttrs{.before = {0, 1}, .after = {0, 1}},
               {c.in({c.n, 6})});
       },
       on(0)},
      {"loss",
       [](Case& c) {
         c.add(Loss, LossAttrs{}, {c.in({c.n, 3}), c.in({c.n, 3})});
       },
       kNone},
      {"loss_of_each_element",
       [=](Case& c) {
         c.add(Loss, each, {c.in({2, c.n}, 1), c.in({2, c.n}, 1), c.in({c.n})});
       },
       on(1)},
      {"loss_over_classes",
       [=](Case& c) {
         c.add(Loss, classes,
               {c.in({c.n, 3, 5}), c.in({c.n, 3, 5}), c.in({c.n, 1, 1})});
       },
       on(0)},
      {"loss_per_sample",
       [=](Case& c) {
         c.add(Loss, classes,
               {c.in({c.n, 3, 5}), c.in({c.n, 3, 5}), c.in({c.n, 1})});
       },
       on(0)},
      {"loss_by_time",
       [=](Case& c) {
         c.add(Loss, classes,
               {c.in({2, 3, c.n}, 2), c.in({2, 3, c.n}, 2), c.in({c.n})});
       },
       on(1)},
      {"loss_by_names",
       [=](Case& c) {
         c.add(Loss, classes,
               {c.in({c.n, 3, 5}), c.in({c.n, 1, 5}, 0, DataType::Int32),
                kNoValue, c.fixed({3})});
       },
       on(0)},
      {"loss_of_labels_without_ones",
       [=](Case& c) { c.add(Loss, each, {c.in({c.n, 3, 1}), c.in({c.n, 3})}); },
       on(0)},
      {"loss_of_labels_that_broadcast",
       [=](Case& c) { c.add(Loss, each, {c.in({c.n, 3, 5}), c.fixed({5})}); },
       on(0)},
      {"yolo_loss",
       [](Case& c) {
         c.add(YoloLoss, YoloLossAttrs{},
               {c.in({c.n, 6, 2, 2}), c.in({c.n, 6, 2, 2}), c.fixed({1, 2})});
       },
       on(0)},
      {"yolo_loss_gradient",
       [](Case& c) {
         c.add(YoloLossGradient, YoloLossAttrs{},
               {c.in({c.n}), c.in({c.n, 6, 2, 2}), c.in({c.n, 6, 2, 2}),
                c.fixed({1, 2})});
       },
       on(0)},
      {"ctc_loss",
       [](Case& c) {
         c.add(CtcLoss, CtcLossAttrs{},
               {c.in({c.n, 5, 3}), c.in({c.n, 2}, 0, DataType::Int32),
                c.in({c.n}, 0, DataType::Int32)});
       },
       on(0)},
      {"ctc_loss_gradient",
       [](Case& c) {
         c.add(CtcLossGradient, CtcLossAttrs{},
               {c.in({c.n}), c.in({c.n, 5, 3}),
                c.in({c.n, 2}, 0, DataType::Int32)});
       },
       on(0)},
      refuses(
          "loss_with_fixed_weights",
          [=](Case& c) {
            c.add(Loss, classes,
                  {c.in({c.n, 3}), c.in({c.n, 3}), c.fixed({c.n})});
          },
          "does not vary with the batch, but has 6 entries"),
      refuses(
          "loss_with_the_batch_as_classes",
          [=](Case& c) {
            c.add(Loss, classes, {c.in({2, c.n}, 1), c.in({2, c.n}, 1)});
          },
          "no samples on axis 1"),
      {"loss_gradient",
       [=](Case& c) {
         c.add(LossGradient, classes,
               {c.in({c.n, 5}), c.in({c.n, 3, 5}), c.in({c.n, 3, 5})});
       },
       on(0)},
      {"sgd_update",
       [](Case& c) {
         c.program.append(
             SgdUpdate, SgdUpdateAttrs{},
             {c.variable({6, 3}), c.fixed({6, 3}), kNoValue, c.fixed({4})});
       },
       kNone},
      refuses(
          "adam_update",
          [](Case& c) {
            c.program.append(AdamUpdate, AdamUpdateAttrs{},
                             {c.variable({c.n}), c.in({c.n}), c.variable({c.n}),
                              c.variable({c.n}), kNoValue, c.fixed({4})});
          },
          "must not vary with the batch"),
      {"rmsprop_update",
       [](Case& c) {
         c.program.append(RmspropUpdate, RmspropUpdateAttrs{},
                          {c.variable({6}), c.fixed({6}), c.variable({6}),
                           kNoValue, kNoValue, c.fixed({4})});
       },
       kNone},
      {"clip_scale",
       [](Case& c) {
         c.add(ClipScale, ClipScaleAttrs{}, {c.fixed({4}), c.fixed({1})});
       },
       kNone},
      {"update_loss_scale",
       [](Case& c) {
         c.program.append(UpdateLossScale, LossScaleAttrs{},
                          {c.variable({4}), c.fixed({4}), c.fixed({1})});
       },
       kNone},
      {"accumulate_gradient",
       [](Case& c) {
         c.program.append(AccumulateGradient, NoAttrs{},
                          {c.variable({6}), c.fixed({6}), c.fixed({2})});
       },
       kNone},
  };
}

}  // namespace traingraph::testing
