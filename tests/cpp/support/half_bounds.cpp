// SPDX-License-Identifier: MIT
#include "support/half_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/op_def.h"
#include "ops/rnn_gates.h"
#include "ops/rnn_ops.h"
#include "support/half_rounding.h"
#include "support/operand_rounding.h"

namespace traingraph::testing {
namespace {

/// Is a product rounded to its type before the last time?
bool rounds_early(const Node& node) {
  const auto has = [&](std::size_t input) {
    return input < node.inputs.size() && node.inputs[input] != kNoValue;
  };
  if (const auto* matmul = std::get_if<MatMulAttrs>(&node.attrs)) {
    return matmul->alpha != 1 || has(2);
  }
  return node.op->kind == OpKind::Convolution2d && has(2);
}

/// u c: c is the op of absolute values.
RefTensor slack_of_product(const Node& node, DataType type, RefTensors inputs) {
  if (!rounds_early(node)) return {};
  Attributes attrs = node.attrs;
  if (auto* matmul = std::get_if<MatMulAttrs>(&attrs)) {
    matmul->alpha = std::abs(matmul->alpha);
  }
  for (RefTensor& input : inputs) {
    for (double& x : input.data) x = std::abs(x);
  }
  RefTensor slack = evaluate(node.op->kind, attrs, inputs).at(0);
  for (double& c : slack.data) c *= unit_roundoff(type);
  return slack;
}

/// What the node may be off by if it makes the hidden states again, which is
/// what an LSTM's gradient may do.
void add_other_states(const Node& node, const HalfBounds& bounds,
                      const RefTensors& other, RefTensors& slack) {
  if (node.op->kind != OpKind::LstmStepsGradient) return;
  for (std::size_t r = 0; r < slack.size(); ++r) {
    for (std::size_t i = 0; i < slack[r].data.size(); ++i) {
      slack[r].data[i] +=
          std::abs(other[r].data[i] - bounds.expected[r].data[i]);
    }
  }
}

/// Does an activation of the node have no derivative somewhere? To first order
/// nothing is known there.
bool has_kink(const Node& node) {
  using enum ActivationType;
  const auto is_kinked = [](const ActivationAttrs& f) {
    return f.type == ReLU || f.type == HardSigmoid;
  };
  return std::ranges::any_of(gate_activations(node.attrs), is_kinked);
}

/// The node's reference, and the same without stored states, where an LSTM's
/// gradient may do without.
class Steps {
 public:
  Steps(const Node& node, const RefTensors& inputs)
      : node_(node), inputs_(inputs), stateless_(inputs) {
    constexpr int kHidden = 2;
    if (node.op->kind == OpKind::LstmStepsGradient) stateless_.at(kHidden) = {};
  }
  RefTensors run() const { return evaluate_copy(inputs_); }
  RefTensors run_without_states() const { return evaluate_copy(stateless_); }

 private:
  RefTensors evaluate_copy(RefTensors inputs) const {
    return evaluate(node_, inputs);
  }

  const Node& node_;
  RefTensors inputs_, stateless_;
};

std::optional<HalfBounds> bounds_of_steps(const Node& node,
                                          const RefTensors& inputs,
                                          DataType type, double error) {
  // The sums of changes would take minutes.
  constexpr std::int64_t kMaxOperands = 1000;
  const Steps steps(node, inputs);
  const RoundedRun rounded =
      run_rounded(type, error, [&] { return steps.run(); });
  const RoundedRun other =
      run_rounded(type, error, [&] { return steps.run_without_states(); });
  HalfBounds bounds{rounded.results, rounded.results};
  for (RefTensor& slack : bounds.slack) std::ranges::fill(slack.data, 0.0);
  if (rounded.is_certain && other.is_certain) {
    add_other_states(node, bounds, other.results, bounds.slack);
    return bounds;
  }
  if (rounded.num_operands > kMaxOperands || has_kink(node)) return {};
  bounds.expected = steps.run();
  bounds.slack =
      changes_by_operands(unit_roundoff(type), [&] { return steps.run(); });
  add_other_states(node, bounds, steps.run_without_states(), bounds.slack);
  return bounds;
}

/// ReLU's gradient is given its result, of which half the elements may be at
/// the kink; the slope there is that below.
void mend_kinks(const Node& node, const RefTensors& inputs,
                RefTensors& results) {
  if (node.op->kind != OpKind::ActivationGradient) return;
  const auto& attrs = std::get<ActivationAttrs>(node.attrs);
  if (attrs.type != ActivationType::ReLU) return;
  for (std::size_t i = 0; i < results[0].data.size(); ++i) {
    const double gradient = inputs[0].data[i];
    if (inputs[1].data[i] == 0) results[0].data[i] = attrs.a * gradient;
  }
}

/// The references of these evaluate the forward op twice for every element that
/// they differentiate by.
bool takes_long(const Node& node, const RefTensors& inputs) {
  constexpr std::size_t kMaxElements = 100;
  switch (node.op->kind) {
    case OpKind::BatchNormGradient:
    case OpKind::SampleNormGradient:
    case OpKind::LossGradient:
    case OpKind::YoloLossGradient:
    case OpKind::CtcLossGradient:
    case OpKind::AttentionGradient:
      return std::ranges::any_of(inputs, [](const RefTensor& input) {
        return input.data.size() > kMaxElements;
      });
    default:
      return false;
  }
}

}  // namespace

std::optional<HalfBounds> half_bounds(const Program& program, const Node& node,
                                      RefTensors& inputs, double error,
                                      bool rounds_steps) {
  if (takes_long(node, inputs)) return {};
  if (rnn::find_op(node.op->kind)) {
    const DataType type = program.desc(node.inputs[0]).data_type;
    return bounds_of_steps(node, inputs,
                           rounds_steps ? type : DataType::Float32, error);
  }
  const RefTensors given = inputs;
  HalfBounds bounds{.expected = evaluate(node, inputs)};
  mend_kinks(node, given, bounds.expected);
  bounds.slack.resize(bounds.expected.size());
  if (!bounds.slack.empty()) {
    const DataType type = program.desc(node.outputs[0]).data_type;
    bounds.slack[0] = slack_of_product(node, type, given);
  }
  return bounds;
}

bool is_rounded(double stored, double e, double s, DataType type) {
  if (std::isnan(e)) return std::isnan(stored);
  if (!std::isfinite(e)) s = 0;
  return round_to(type, e - s) <= stored && stored <= round_to(type, e + s);
}

}  // namespace traingraph::testing
