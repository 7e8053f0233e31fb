// SPDX-License-Identifier: MIT
#include "compiler/append_updates.h"

#include <algorithm>

#include "compiler/parameter_rules.h"
#include "graph/op_def.h"

namespace traingraph {
namespace {

class UpdateAssembler {
 public:
  UpdateAssembler(const MergedGraph& graph, Assembled& a)
      : graph_(graph),
        rule_(*graph.update),
        program_(a.program),
        a_(a),
        layer_of_(layers_of(a.program)),
        place_of_(graph.tensors.size(), 0),
        norms_(a.trained.size(), kNoValue) {
    for (std::size_t i = 0; i < graph.trainable.size(); ++i) {
      place_of_[graph.trainable[i]] = i;
    }
  }

  void run() {
    if (a_.trained.empty()) return;
    program_.position = {Phase::Update, -1, "optimizer"};
    hyperparameters_ = add_value(Role::Input, graph_.hyperparameters);
    ValueId scale = kNoValue;
    if (rule_.clipping == GradientClippingType::ByGlobalNorm) {
      scale = global_scale();
    }
    if (graph_.loss_scale != kNoTensor) update_loss_scale();
    for (std::size_t i = 0; i < a_.trained.size(); ++i) {
      if (!is_updated(a_.trained[i])) continue;
      if (rule_.clipping == GradientClippingType::ByNorm) {
        scale = append_scale({norm(i)}, {as_row(a_.trained[i].gradient)}, 0);
      }
      append_update(a_.trained[i], unless_skipped(scale));
    }
  }

 private:
  /// Layer of the first forward node that reads a value, by value.
  static std::vector<int> layers_of(const Program& program) {
    std::vector<int> layers(program.values().size(), -1);
    std::vector<bool> is_known(layers.size(), false);
    for (const Node& node : program.nodes()) {
      for (ValueId v : node.inputs) {
        if (v == kNoValue || is_known[v]) continue;
        is_known[v] = true;
        layers[v] = node.layer;
      }
    }
    return layers;
  }

  ValueId add_value(Role role, TensorIndex tensor) {
    const TensorInfo& info = graph_.tensors[tensor];
    ValueId& value = a_.value_of[tensor];
    value = program_.add_value(role, info.desc, info.name, tensor);
    return value;
  }

  ValueId squared_norm(ValueId gradient) {
    return program_.append_one(OpKind::SquaredNorm, NoAttrs{}, {gradient});
  }

  /// Where this is false another process updates the parameter.
  bool is_updated(const Trained& trained) const {
    return !graph_.shards ||
           !graph_.shards->own(place_of_[trained.tensor]).empty();
  }

  ValueId as_row(ValueId gradient) {
    const std::int64_t all = program_.shape(gradient).num_elements();
    return program_.append_one(OpKind::Reshape, ShapeAttrs{{1, all}},
                               {gradient});
  }

  /// Flattens a gradient into a row.
  ValueId slice(ValueId gradient, std::int64_t begin, std::int64_t size) {
    const std::int64_t all = program_.shape(gradient).num_elements();
    const ValueId row = program_.append_one(OpKind::Reshape,
                                            ShapeAttrs{Shape{all}}, {gradient});
    const SliceAttrs range{
        .start = {begin}, .end = {begin + size}, .stride = {1}};
    return program_.append_one(OpKind::Slice, range, {row});
  }

  /// Reads all gradients: what they decide holds for all updates.
  void update_loss_scale() {
    LossScaleAttrs attrs;
    if (const auto* adam = std::get_if<AdamUpdateAttrs>(&rule_.attributes)) {
      attrs.beta1 = adam->beta1;
      attrs.beta2 = adam->beta2;
    }
    std::vector<ValueId> inputs = norms();
    const ValueId known = a_.find(graph_.loss_scale);
    const ValueId state = known == kNoValue
                              ? add_value(Role::Variable, graph_.loss_scale)
                              : known;
    inputs.insert(inputs.begin(), {state, hyperparameters_});
    const auto results =
        program_.append(OpKind::UpdateLossScale, attrs, std::move(inputs));
    finite_scale_ = results[0];
    hyperparameters_ = results[1];
  }

  /// The scale of an update; below 0 when gradients are not finite.
  ValueId unless_skipped(ValueId scale) {
    if (finite_scale_ == kNoValue) return scale;
    if (scale == kNoValue) return finite_scale_;
    if (applies_ == kNoValue) {
      const ValueId zero =
          program_.append_one(OpKind::Fill, FillAttrs{{1}, 0.0f}, {});
      applies_ = program_.append_one(OpKind::Compare,
                                     CompareAttrs{ComparisonOperation::Greater},
                                     {finite_scale_, zero});
    }
    return program_.append_one(OpKind::Select, NoAttrs{},
                               {applies_, scale, finite_scale_});
  }

  /// Appends the squared norm of the gradient of trained[i], once.
  ValueId norm(std::size_t i) {
    if (norms_[i] == kNoValue) norms_[i] = squared_norm(a_.trained[i].gradient);
    return norms_[i];
  }

  const std::vector<ValueId>& norms() {
    for (std::size_t i = 0; i < norms_.size(); ++i) norm(i);
    return norms_;
  }

  /// Appends a scale from squared norms and their gradients: where float32
  /// cannot hold a square, the norm is taken of what it can hold.
  ValueId append_scale(const std::vector<ValueId>& squares,
                       const std::vector<ValueId>& gradients,
                       float custom_norm) {
    std::vector<ValueId> inputs{hyperparameters_};
    inputs.insert(inputs.end(), squares.begin(), squares.end());
    inputs.insert(inputs.end(), gradients.begin(), gradients.end());
    const float maximum = rule_.maximum_clipping_norm;
    return program_.append_one(OpKind::ClipScale,
                               ClipScaleAttrs{maximum, custom_norm},
                               std::move(inputs));
  }

  /// The norm is of what this graph updates: linked ones clip what they do.
  ValueId global_scale() {
    std::vector<ValueId> squares = norms();
    if (graph_.updated != kNoTensor) {
      const ValueId updated = add_value(Role::Input, graph_.updated);
      const ValueId zero =
          program_.append_one(OpKind::Fill, FillAttrs{{1}, 0.0f}, {});
      for (std::size_t i = 0; i < squares.size(); ++i) {
        const auto place =
            static_cast<std::int64_t>(place_of_[a_.trained[i].tensor]);
        const SliceAttrs own{
            .start = {place}, .end = {place + 1}, .stride = {1}};
        const ValueId is_own = program_.append_one(
            OpKind::Compare, CompareAttrs{ComparisonOperation::Greater},
            {program_.append_one(OpKind::Slice, own, {updated}), zero});
        squares[i] = program_.append_one(OpKind::Select, NoAttrs{},
                                         {is_own, squares[i], zero});
      }
    }
    std::vector<ValueId> gradients;
    for (const Trained& trained : a_.trained) {
      gradients.push_back(as_row(trained.gradient));
    }
    return append_scale(squares, gradients, rule_.custom_global_norm);
  }

  void append_update(const Trained& trained, ValueId scale) {
    const OpDef& op = op_def(rule_.op);
    const std::size_t place = place_of_[trained.tensor];
    const auto& slots = graph_.slots[place];
    program_.position.name = graph_.tensors[trained.tensor].name;
    program_.position.layer = layer_of_[trained.value];
    std::vector<ValueId> inputs{trained.value, trained.gradient};
    if (const auto* part = graph_.find_part(place)) {
      const std::int64_t size =
          graph_.tensors[part->tensor].desc.shape.num_elements();
      inputs = {add_value(Role::Variable, part->tensor),
                slice(trained.gradient, part->begin, size)};
    }
    for (std::size_t i = 2; i < op.inputs.size(); ++i) {
      const std::string_view input = op.inputs[i].name;
      if (input == "hyperparameters") inputs.push_back(hyperparameters_);
      if (input == "scale") inputs.push_back(scale);
      if (!op.inputs[i].is_mutated) continue;
      const auto slot = std::ranges::find(rule_.slots, input);
      inputs.push_back(
          slot == rule_.slots.end()
              ? kNoValue
              : add_value(Role::Variable, slots[slot - rule_.slots.begin()]));
    }
    program_.append(op.kind, with_rule(rule_.attributes, graph_.rule(place)),
                    std::move(inputs));
  }

  const MergedGraph& graph_;
  const UpdateRule& rule_;
  Program& program_;
  Assembled& a_;
  const std::vector<int> layer_of_;
  std::vector<std::size_t> place_of_;  // among what is trained, by tensor
  ValueId hyperparameters_ = kNoValue;
  std::vector<ValueId> norms_;  // of gradients, where they are needed
  ValueId applies_ = kNoValue;
  ValueId finite_scale_ = kNoValue;  // below 0: the step is skipped
};

}  // namespace

void append_updates(const MergedGraph& graph, Assembled& assembled) {
  UpdateAssembler(graph, assembled).run();
}

}  // namespace traingraph
