// SPDX-License-Identifier: MIT
#include "compiler/append_updates.h"

#include <algorithm>

#include "graph/tensor_state.h"

namespace traingraph {
namespace {

class UpdateAssembler {
 public:
  UpdateAssembler(const Declaration& declaration, Assembled& a)
      : declaration_(declaration),
        optimizer_(*declaration.optimizer),
        program_(a.program),
        a_(a) {}

  void run() {
    if (a_.trained.empty()) return;
    program_.position = {Phase::Update, -1, "optimizer"};
    rates_ = program_.add_value(Role::Input, declaration_.rates.descriptor(),
                                declaration_.rates.label(),
                                declaration_.rates.state());
    a_.value_of[declaration_.rates.tensor_id()] = rates_;
    const auto clipping = optimizer_.descriptor().gradient_clipping_type;
    ValueId scale = kNoValue;
    if (clipping == GradientClippingType::ByGlobalNorm) scale = global_scale();
    for (const Trained& trained : a_.trained) {
      if (clipping == GradientClippingType::ByNorm) {
        scale = append_scale({squared_norm(trained.gradient)}, 0);
      }
      append_update(trained, scale);
    }
  }

 private:
  ValueId squared_norm(ValueId gradient) {
    return program_.append_one(OpKind::SquaredNorm, NoAttrs{}, {gradient});
  }

  ValueId append_scale(std::vector<ValueId> norms, float custom_norm) {
    norms.insert(norms.begin(), rates_);
    const float maximum = optimizer_.descriptor().maximum_clipping_norm;
    return program_.append_one(OpKind::ClipScale,
                               ClipScaleAttrs{maximum, custom_norm},
                               std::move(norms));
  }

  ValueId global_scale() {
    std::vector<ValueId> norms;
    for (const Trained& trained : a_.trained) {
      norms.push_back(squared_norm(trained.gradient));
    }
    return append_scale(std::move(norms),
                        optimizer_.descriptor().custom_global_norm);
  }

  void append_update(const Trained& trained, ValueId scale) {
    const OpDef& op = op_def(optimizer_.op());
    const auto names = optimizer_.slots();
    const auto& slots = declaration_.slots.at(trained.tensor.tensor_id());
    std::vector<ValueId> inputs{trained.value, trained.gradient};
    for (std::size_t i = 2; i < op.inputs.size(); ++i) {
      const std::string_view input = op.inputs[i].name;
      if (input == "rates") inputs.push_back(rates_);
      if (input == "scale") inputs.push_back(scale);
      if (!op.inputs[i].is_mutated) continue;
      const auto slot = std::ranges::find(names, input);
      if (slot == names.end()) {
        inputs.push_back(kNoValue);
        continue;
      }
      const Tensor& tensor = slots[slot - names.begin()];
      inputs.push_back(program_.add_value(Role::Variable, tensor.descriptor(),
                                          tensor.label(), tensor.state()));
    }
    program_.position.name = trained.tensor.label();
    program_.position.layer = layer_of(trained.value);
    program_.append(op.kind, optimizer_.attributes(), std::move(inputs));
  }

  /// Layer of the first forward node that reads the parameter.
  int layer_of(ValueId parameter) const {
    for (const Node& node : program_.nodes()) {
      if (std::ranges::find(node.inputs, parameter) != node.inputs.end()) {
        return node.layer;
      }
    }
    return -1;
  }

  const Declaration& declaration_;
  const Optimizer& optimizer_;
  Program& program_;
  Assembled& a_;
  ValueId rates_ = kNoValue;
};

}  // namespace

void append_updates(const Declaration& declaration, Assembled& assembled) {
  UpdateAssembler(declaration, assembled).run();
}

}  // namespace traingraph
