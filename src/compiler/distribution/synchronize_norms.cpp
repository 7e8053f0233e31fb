// SPDX-License-Identifier: MIT
#include "compiler/distribution/synchronize_norms.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/distribution/collectives.h"
#include "graph/op_def.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

bool trains(const Node& node, OpKind kind) {
  return node.op->kind == kind && std::get<BatchNormAttrs>(node.attrs).training;
}

[[noreturn]] void refuse(const Node& node, const char* what,
                         const char* expected) {
  throw UnsupportedError(ErrorInfo{.op = node.op->name,
                                   .node = node.name,
                                   .what = what,
                                   .expected = expected,
                                   .hint = "Compile without "
                                           "synchronize_batch_norm."});
}

void require_derived_gradients(const Program& declared) {
  for (const Node& node : declared.nodes()) {
    if (!trains(node, OpKind::BatchNormGradient)) continue;
    refuse(node,
           "this gradient was declared, and would not be that of all "
           "processes",
           "gradients that compile() derives");
  }
}

class Synchronizer {
 public:
  explicit Synchronizer(Program& program) : program_(program) {}

  void run() {
    const auto num_nodes = static_cast<NodeId>(program_.nodes().size());
    for (NodeId id = 0; id < num_nodes; ++id) {
      const Node node = program_.node(id);  // appending moves it
      if (trains(node, OpKind::BatchNorm)) {
        split(node);
      } else if (trains(node, OpKind::BatchNormGradient)) {
        split_gradient(node);
      } else {
        require_no_statistics(node);
        order_.push_back(id);
      }
    }
    program_.reorder(order_);
  }

 private:
  void split(const Node& norm) {
    const ValueId own =
        append(norm, OpKind::BatchNormMoments, NoAttrs{}, {norm.inputs[0]});
    const ValueId all = append(norm, OpKind::ReduceMoments, NoAttrs{}, {own});
    std::vector<ValueId> inputs = norm.inputs;
    inputs.push_back(all);
    append(norm, OpKind::BatchNormApply, norm.attrs, std::move(inputs));
    for (std::size_t i = 0; i < norm.outputs.size(); ++i) {
      take_over(norm.outputs[i], i);
    }
    moments_of_[norm.outputs[1]] = moments_of_[norm.outputs[2]] = all;
  }

  void split_gradient(const Node& norm) {
    enum { kGradient, kX, kGamma, kMean };
    const ValueId gradient = norm.inputs[kGradient], x = norm.inputs[kX];
    const ValueId moments = moments_of_.at(norm.inputs[kMean]);
    const ValueId own = append(norm, OpKind::BatchNormGradientSums, norm.attrs,
                               {gradient, x, moments});
    take_over(norm.outputs[1], 1);
    take_over(norm.outputs[2], 2);
    const ValueId all = append(norm, OpKind::AllReduce, NoAttrs{}, {own});
    append(norm, OpKind::BatchNormGradientApply, norm.attrs,
           {gradient, x, norm.inputs[kGamma], moments, all});
    take_over(norm.outputs[0], 0);
  }

  /// Appends a node in the place of `norm` and returns its first result.
  ValueId append(const Node& norm, OpKind kind, Attributes attrs,
                 std::vector<ValueId> inputs) {
    program_.position = {norm.phase, norm.layer, norm.name};
    order_.push_back(static_cast<NodeId>(program_.nodes().size()));
    return program_.append_one(kind, std::move(attrs), std::move(inputs));
  }

  /// The node that was appended last makes `value`, as its result `i`.
  void take_over(ValueId value, std::size_t i) {
    Node& node = program_.node(order_.back());
    program_.value(value).producer = order_.back();
    program_.value(std::exchange(node.outputs[i], value)).producer = -1;
  }

  void require_no_statistics(const Node& node) const {
    for (const ValueId input : node.inputs) {
      if (!moments_of_.contains(input)) continue;
      refuse(node,
             "a node reads statistics of a batch, whose gradients stay "
             "with one process",
             "statistics that only their normalization reads");
    }
  }

  Program& program_;
  std::vector<NodeId> order_;
  std::unordered_map<ValueId, ValueId> moments_of_;  // by mean and variance
};

}  // namespace

void synchronize_norms(const PassContext& context, Assembled& assembled) {
  if (!has_collectives(context)) return;
  if (!context.options.collectives.synchronize_batch_norm) return;
  require_derived_gradients(context.graph.program);
  Synchronizer(assembled.program).run();
  assembled.depends_on_labels.resize(assembled.program.values().size(), true);
}

}  // namespace traingraph
