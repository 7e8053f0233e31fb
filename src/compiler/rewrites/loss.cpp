// SPDX-License-Identifier: MIT
// Losses of probabilities that are those of logits.
#include <utility>
#include <vector>

#include "compiler/rewrites/rules.h"

namespace traingraph::rewrites {

ValueId softmax_cross_entropy(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  auto attrs = attrs_of<LossAttrs>(node);
  if (attrs.type != LossType::CategoricalCrossEntropy) return kNoValue;
  const Node* softmax = rewriter.maker(node.inputs[0], OpKind::Softmax);
  if (!softmax) return kNoValue;
  const auto& probabilities = attrs_of<SoftmaxAttrs>(*softmax);
  const bool is_over_classes =
      probabilities.operation == SoftmaxOperation::Softmax &&
      probabilities.axis == 1;
  if (!is_over_classes) return kNoValue;
  attrs.type = LossType::SoftmaxCrossEntropy;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = softmax->inputs[0];
  return rewriter.append(OpKind::Loss, attrs, std::move(inputs));
}

}  // namespace traingraph::rewrites
