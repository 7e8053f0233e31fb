// SPDX-License-Identifier: MIT
// What the attributes of ops mean: one function per struct, for all ops that
// share it.
#include "ops/op_docs.h"

#include <variant>

#include "graph/attributes.h"
#include "ops/update.h"

namespace traingraph {
namespace {
namespace docs {

using Docs = std::vector<OpAttribute>;

Docs operator+(Docs all, const Docs& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Docs windows() {
  return {{"strides", "Steps of the window, (height, width)."},
          {"dilation_rates",
           "Distances of the samples that a window reads, (height, width)."},
          {"padding",
           "Samples that are added around the image: (top, bottom, left, "
           "right)."}};
}

Docs kernel() { return {{"kernel_size", "The window, (height, width)."}}; }

Docs groups() {
  return {{"groups",
           "Channels are cut into so many groups, each with weights of its "
           "own; that of the input channels is depthwise."}};
}

Docs counting() {
  return {{"count_includes_padding",
           "Are zeros of the padding samples that the mean counts?"}};
}

Docs shape(const char* doc) { return {{"shape", doc}}; }

Docs axis() { return {{"axis", "Which one; from the end when negative."}}; }

Docs random_numbers() {
  return {{"seed", "Where the random numbers start; 0: the platform's seed."},
          {"stream",
           "Tells the dropouts of a graph apart; compile() numbers them."}};
}

Docs statistics() {
  return {{"epsilon", "Added to the variance."},
          {"momentum",
           "The share that running statistics keep, 0 to 1; in training."},
          {"training", "Do the statistics move? Inference never moves them."}};
}

/// Of the activation that is "<name>activation" or "<gate>_gate_activation".
Docs activation(const std::string& what, const std::string& prefix,
                const std::string& parameters) {
  return {{prefix, "The activation function of " + what +
                       ", one of those of ``activation``."},
          {parameters + "a", "Its first parameter; None: that of its type."},
          {parameters + "b", "Its second parameter; None: that of its type."}};
}

Docs gate(const std::string& name) {
  return activation("the " + name + " gate", name + "_gate_activation",
                    name + "_gate_");
}

Docs reverse() { return {{"reverse", "From the last step to the first?"}}; }

Docs update() {
  return {{"gradient_rescale", "Multiplies the gradient, after clipping."},
          {"clips_by_value", "Are the gradient's elements limited?"},
          {"gradient_clip_min", "The least element that is left, if so."},
          {"gradient_clip_max", "The largest."},
          {"regularization_type",
           "What is added to the gradient: \"none\", \"l1\" (scale * "
           "sign(parameter)) or \"l2\" (scale * parameter)."},
          {"regularization_scale", "By how much."},
          {"lr_scale", "Multiplies the learning rate."}};
}

Docs of(const NoAttrs&) { return {}; }

Docs of(const ActivationAttrs&) {
  return {{"type", "The function; see above."},
          {"a",
           "Its first parameter, where the formula has one. None: 0 of relu, "
           "0.2 of hard_sigmoid, 0.5 of the shrinks, 1 of the others."},
          {"b",
           "Its second parameter, where the formula has one. None: 0 of "
           "linear, 0.5 of hard_sigmoid, 1 of the others."},
          {"c", "No function uses it."}};
}

Docs of(const ArithmeticAttrs&) {
  return {{"operation", "What is computed; see above."}};
}

Docs of(const CompareAttrs&) {
  return {{"operation", "Which comparison; see above."}};
}

Docs of(const CastAttrs&) {
  return {{"data_type", "That of the result, such as \"float16\"."}};
}

Docs of(const FillAttrs&) {
  return shape("Its sizes.") +
         Docs{{"value", "Each element."},
              {"data_type", "Floats, int32, int64 or boolean."}};
}

Docs of(const DropoutAttrs&) {
  return Docs{{"rate",
               "The probability with which an element is dropped; at least 0, "
               "below 1."}} +
         random_numbers();
}

Docs of(const MatMulAttrs&) {
  return {{"alpha", "Multiplies the product."},
          {"transposes_x", "Are rows and columns of x swapped?"},
          {"transposes_y", "Are rows and columns of y swapped?"}};
}

Docs of(const Convolution2dAttrs&) { return windows() + groups(); }

Docs of(const Convolution2dGradientAttrs&) {
  return windows() + groups() + shape("That of the result.");
}

Docs of(const Pool2dAttrs&) { return kernel() + windows(); }

Docs of(const AveragePool2dAttrs&) { return kernel() + windows() + counting(); }

Docs of(const AveragePool2dGradientAttrs&) {
  return kernel() + windows() + counting() + shape("That of the result.");
}

Docs of(const BatchNormAttrs&) { return statistics(); }

Docs of(const SampleNormAttrs&) {
  return Docs{{"axis",
               "The first that statistics are over, or that of the groups; "
               "from the end when negative."},
              {"groups", "Into how many the axis is cut; 0: none."}} +
         statistics();
}

Docs of(const SoftmaxAttrs&) {
  return Docs{
             {"operation", "\"softmax\", or \"log_softmax\": its logarithm."}} +
         axis();
}

Docs of(const CumulativeSumAttrs&) {
  return axis() +
         Docs{{"is_exclusive", "Without the element itself? Sums begin at 0."},
              {"reverse", "Of all behind it, instead of all before?"}};
}

Docs of(const ReduceAttrs&) {
  return {{"type", "Which reduction; see above."},
          {"axes",
           "Those that are reduced, from the end when negative; none: all. "
           "One for an index."}};
}

Docs of(const ShapeAttrs&) { return shape("The sizes of the result."); }

Docs of(const LstmAttrs&) {
  return reverse() +
         Docs{{"forget_gate_last",
               "Are the gates in the order input, cell, forget, output?"},
              {"output_peephole_reads_new_cell",
               "Does the output gate's peephole read the step's own cell, and "
               "not the last one?"}} +
         gate("input") + gate("forget") + gate("cell") + gate("output") +
         activation("the cell", "activation", "activation_");
}

Docs of(const GruAttrs&) {
  return reverse() +
         Docs{{"reset_gate_first",
               "Are the gates in the order reset, update, output, and not "
               "update, reset, output?"},
              {"reset_after",
               "Does the reset gate multiply the product, as above, and not "
               "what the product reads?"},
              {"flip_z",
               "Is z the share of the candidate o, and not of the state "
               "before?"}} +
         gate("update") + gate("reset") + gate("output");
}

Docs of(const SingleGateAttrs&) {
  return reverse() + activation("the layer", "activation", "activation_");
}

Docs of(const TransposeAttrs&) {
  return {{"axes",
           "All axes of x, in the order of the result; from the end when "
           "negative."}};
}

Docs of(const AxisAttrs&) { return axis(); }

Docs of(const SplitAttrs&) {
  return Docs{
             {"lengths", "The sizes of the parts, which add up to the axis."}} +
         axis();
}

Docs range() {
  return {{"start", "The first element of each axis."},
          {"end", "The one behind the last, of each axis."},
          {"stride", "The step on each axis; none: 1."}};
}

Docs of(const SliceAttrs&) { return range(); }

Docs of(const SliceGradientAttrs&) {
  return range() + shape("That of what was sliced.");
}

Docs of(const PadAttrs&) {
  return {{"type",
           "What is added: \"zero\", \"constant\", \"replicate\" (the element "
           "of the edge), \"reflect\" (mirrored, without the edge) or "
           "\"symmetric\" (with it)."},
          {"before", "How many in front, for each axis."},
          {"after", "How many behind, for each axis."},
          {"value", "The constant; 0 for the other types."}};
}

Docs of(const ScatterAttrs&) {
  return axis() +
         Docs{{"reduction_type",
               "\"none\": the last one of those that name an element stays; "
               "\"sum\": they are added to it."}};
}

Docs of(const EmbeddingAttrs&) {
  return {{"padding_index", "A row that gets no gradient; -1: none."},
          {"maximum_norm",
           "Rows that are looked up and have a larger norm are scaled down to "
           "it, in training where they are stored; 0: none are."},
          {"p_norm", "The order of that norm."},
          {"scales_gradient_by_frequency",
           "Is a row's gradient divided by how often it was looked up?"},
          {"training", "Are scaled rows stored? Inference stores none."}};
}

Docs of(const EmbeddingGradientAttrs&) {
  return Docs{{"padding_index", "A row that gets no gradient; -1: none."},
              {"scales_gradient_by_frequency",
               "Is a row's gradient divided by how often it was looked up?"}} +
         shape("That of the weights.");
}

Docs of(const LossAttrs&) {
  return {{"type", "Which loss; see above."},
          {"reduction", "\"mean\", \"sum\" or \"none\"."},
          {"weight", "Multiplies the loss."},
          {"label_smoothing",
           "The share of each label that all classes divide among them, 0 to "
           "1; of the three cross-entropies."},
          {"class_count",
           "The number of classes of the softmax and categorical "
           "cross-entropy; 1: the size of axis 1."},
          {"epsilon", "Added to what \"log\" takes logarithms of."},
          {"delta", "Where \"huber\" becomes linear; above 0."},
          {"ignore_index",
           "Labels of this index have no loss, where labels are indices."}};
}

Docs of(const YoloLossAttrs&) {
  return {{"should_rescore",
           "Is a box's overlap with the object what its confidence is to be, "
           "and not 1?"},
          {"scale_spatial_position_loss", "The weight of the boxes' centres."},
          {"scale_spatial_size_loss", "The weight of their sizes."},
          {"scale_no_object_confidence_loss",
           "The weight of the confidence where there is no object."},
          {"scale_object_confidence_loss",
           "The weight of the confidence where there is one."},
          {"scale_class_loss", "The weight of the classes."},
          {"minimum_iou_for_object_presence",
           "From this overlap (0 to 1) on a box is responsible for an object, "
           "beside the best one."},
          {"maximum_iou_for_object_absence",
           "Below this overlap a box is to find nothing."}};
}

Docs of(const CtcLossAttrs&) {
  return {{"blank", "The class that stands for no label."},
          {"zero_infinity", "Are infinite losses, and their gradients, 0?"},
          {"divides_by_label_length",
           "Is each loss divided by the number of its labels?"}};
}

Docs of(const AttentionAttrs&) {
  return Docs{{"head_count", "The number of heads."},
              {"scale", "Multiplies the scores; 0: 1 / sqrt(D)."},
              {"dropout",
               "The probability with which a weight is dropped in training."}} +
         random_numbers();
}

Docs of(const UpsampleAttrs&) {
  return {{"shape", "The new extents: (width) or (height, width)."},
          {"sample_mode",
           "\"nearest\", or \"linear\": between the two nearest of each axis."},
          {"aligns_corners",
           "Do the first and last samples stay where they are? For "
           "\"linear\"."}};
}

/// Optimizers: behind what all have come their hyperparameters.
template <class Attrs>
  requires requires(Attrs attrs) { attrs.gradient_rescale; }
Docs of(const Attrs& attrs) {
  Docs all = update();
  for_each_field_of(attrs, [&](const char* name, const auto&) {
    const Hyperparameter* own = find_hyperparameter(name);
    if (own) all.push_back({name, own->doc});
  });
  return all;
}

Docs of(const ClipScaleAttrs&) {
  return {
      {"maximum_norm", "The largest norm that is left as it is."},
      {"custom_norm", "Stands for the norm; 0: it is that of the squares."}};
}

Docs of(const LossScaleAttrs&) {
  return {{"interval", "Finite steps after which the factor doubles."},
          {"beta1", "Of the rate's bias correction; 0: there is none."},
          {"beta2", "Of the rate's bias correction; 0: there is none."}};
}

}  // namespace docs
}  // namespace

std::string list_case(std::string_view name, std::string_view doc) {
  constexpr std::size_t kColumns = 84;
  std::string line = "    - \"" + std::string(name) + "\": " + std::string(doc);
  std::string text;
  while (line.size() > kColumns) {
    const std::size_t end = line.rfind(' ', kColumns);
    text += line.substr(0, end) + '\n';
    line = std::string(6, ' ') + line.substr(end + 1);
  }
  return text + line;
}

std::vector<OpAttribute> document_attributes(const Attributes& attributes) {
  return std::visit([](const auto& attrs) { return docs::of(attrs); },
                    attributes);
}

}  // namespace traingraph
