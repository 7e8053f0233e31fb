// SPDX-License-Identifier: MIT
#include "lowering/gate.h"

#include <algorithm>
#include <utility>

#include "graph/op_def.h"

namespace traingraph {
namespace {

constexpr NodeId kNone = -1;

bool is_product(const Node& node) {
  const auto* attrs = std::get_if<ArithmeticAttrs>(&node.attrs);
  return node.op->kind == OpKind::Binary && attrs &&
         attrs->operation == ArithmeticOperation::Multiply;
}

/// The operand of a product beside `value`.
ValueId other_of(const Node& product, ValueId value) {
  return product.inputs[product.inputs[0] == value ? 1 : 0];
}

class GateSearch {
 public:
  using Accepts = std::function<bool(const ActivationAttrs&)>;

  GateSearch(FusionSearch& search, const Accepts& accepts)
      : search_(search), program_(search.program()), accepts_(accepts) {}

  void run() {
    const auto num_nodes = static_cast<NodeId>(program_.nodes().size());
    for (NodeId id = 0; id < num_nodes; ++id) {
      if (halves(id)) find(id);
    }
  }

 private:
  /// Half of the split: what is multiplied is the half or a function of it.
  struct Half {
    ValueId value = kNoValue, factor = kNoValue;
    NodeId function = kNone;
    // Of the gradient: of the factor, of the function.
    NodeId of_factor = kNone, of_function = kNone;
    ValueId gradient = kNoValue;
  };

  const Node& node(NodeId id) const { return program_.node(id); }
  ValueId result(NodeId id) const { return node(id).outputs[0]; }

  bool halves(NodeId id) const {
    const auto* attrs = std::get_if<SplitAttrs>(&node(id).attrs);
    return node(id).op->kind == OpKind::Split && attrs &&
           attrs->lengths.rank() == 2 && attrs->lengths[0] == attrs->lengths[1];
  }

  NodeId only_reader(ValueId value) const {
    const auto& readers = search_.readers(value);
    return readers.size() == 1 && !search_.is_kept(value) ? readers[0] : kNone;
  }
  /// The reader of `value` in another phase than `phase`, or in it; there is
  /// one of each at most, or none is found.
  NodeId reader_in(ValueId value, Phase phase, bool is_same) const {
    NodeId found = kNone;
    for (const NodeId id : search_.readers(value)) {
      if ((node(id).phase == phase) != is_same) continue;
      if (found != kNone) return kNone;
      found = id;
    }
    return found;
  }

  void find(NodeId split) {
    std::array<Half, 2> halves;
    const Phase phase = node(split).phase;
    NodeId product = kNone;
    for (std::size_t i = 0; i < 2; ++i) {
      Half& half = halves[i];
      half.value = half.factor = node(split).outputs[i];
      NodeId reader = reader_in(half.value, phase, /*is_same=*/true);
      if (reader == kNone) return;
      if (node(reader).op->kind == OpKind::Activation) {
        if (!accepts_(std::get<ActivationAttrs>(node(reader).attrs))) return;
        half.function = reader;
        half.factor = result(reader);
        reader = reader_in(half.factor, phase, /*is_same=*/true);
      }
      if (reader == kNone || !is_product(node(reader))) return;
      if (i > 0 && reader != product) return;
      product = reader;
    }
    const bool is_one =
        other_of(node(product), halves[0].factor) == halves[1].factor &&
        (halves[0].function != kNone || halves[1].function != kNone);
    if (!is_one || is_any_kept(halves)) return;
    std::vector<NodeId> nodes{split};
    for (const Half& half : halves) {
      if (half.function != kNone) nodes.push_back(half.function);
    }
    nodes.push_back(product);
    if (!are_free(nodes)) return;
    const bool is_alone = has_no_gradient(halves, phase);
    std::vector<NodeId> gradient;
    if (!is_alone) gradient = find_gradient(halves, phase);
    if (!is_alone && gradient.empty()) return;
    search_.join_all(std::move(nodes));
    if (!is_alone) search_.join_all(std::move(gradient));
  }

  bool is_any_kept(const std::array<Half, 2>& halves) const {
    return std::ranges::any_of(halves, [&](const Half& half) {
      return search_.is_kept(half.value) || search_.is_kept(half.factor);
    });
  }
  bool are_free(const std::vector<NodeId>& nodes) const {
    return std::ranges::all_of(nodes,
                               [&](NodeId id) { return search_.is_free(id); });
  }
  bool has_no_gradient(const std::array<Half, 2>& halves, Phase phase) const {
    return std::ranges::all_of(halves, [&](const Half& half) {
      const auto is_forward = [&](NodeId id) {
        return node(id).phase == phase;
      };
      return std::ranges::all_of(search_.readers(half.value), is_forward) &&
             std::ranges::all_of(search_.readers(half.factor), is_forward);
    });
  }

  /// The nodes that compute the gradient of x; empty: others are among them.
  std::vector<NodeId> find_gradient(std::array<Half, 2>& halves,
                                    Phase phase) const {
    std::vector<NodeId> nodes;
    std::array<ValueId, 2> incoming{};
    for (std::size_t i = 0; i < 2; ++i) {
      // What a factor is multiplied by is the gradient of the other one.
      const NodeId id =
          find_product(halves[1 - i], halves[i], phase, incoming[i]);
      if (id == kNone) return {};
      halves[i].of_factor = id;
      nodes.push_back(id);
      halves[i].gradient = result(id);
      if (halves[i].function == kNone) continue;
      const NodeId of = only_reader(result(id));
      const bool is_of_function =
          of != kNone && node(of).op->kind == OpKind::ActivationGradient &&
          node(of).attrs == node(halves[i].function).attrs &&
          node(of).inputs[0] == result(id) &&
          node(of).inputs[1] == halves[i].value;
      if (!is_of_function) return {};
      halves[i].of_function = of;
      nodes.push_back(of);
      halves[i].gradient = result(of);
    }
    const NodeId whole = only_reader(halves[0].gradient);
    if (incoming[0] != incoming[1] || whole == kNone || !has_all(halves) ||
        only_reader(halves[1].gradient) != whole ||
        !is_gradient_of_split(whole, halves)) {
      return {};
    }
    nodes.push_back(whole);
    const bool is_one_phase = std::ranges::all_of(
        nodes, [&](NodeId id) { return node(id).phase == node(whole).phase; });
    return is_one_phase && are_free(nodes) ? nodes : std::vector<NodeId>();
  }

  /// The product of the factor of `half` and a gradient, which is that of the
  /// factor of `of`.
  NodeId find_product(const Half& half, const Half& of, Phase phase,
                      ValueId& incoming) const {
    for (const NodeId id : search_.readers(half.factor)) {
      if (node(id).phase == phase || !is_product(node(id))) continue;
      const ValueId other = other_of(node(id), half.factor);
      if (other == half.factor || other == of.factor ||
          program_.shape(other) != program_.shape(half.factor)) {
        return kNone;
      }
      incoming = other;
      return id;
    }
    return kNone;
  }

  /// Are all readers of the halves, of either phase, among the nodes found?
  bool has_all(const std::array<Half, 2>& halves) const {
    for (std::size_t i = 0; i < 2; ++i) {
      const Half &half = halves[i], &other = halves[1 - i];
      const bool is_plain = half.function == kNone;
      // The factor: the product and its gradient. The half: the function and
      // its gradient, unless it is the factor.
      if (search_.readers(half.factor).size() != 2) return false;
      if (!is_plain && search_.readers(half.value).size() != 2) return false;
      if (other.of_factor == half.of_factor) return false;
    }
    return true;
  }

  bool is_gradient_of_split(NodeId whole,
                            const std::array<Half, 2>& halves) const {
    const Node& found = node(whole);
    const auto* attrs = std::get_if<AxisAttrs>(&found.attrs);
    const NodeId split = program_.value(halves[0].value).producer;
    return found.op->kind == OpKind::Concatenate && attrs &&
           attrs->axis == std::get<SplitAttrs>(node(split).attrs).axis &&
           found.inputs.size() == 2 && found.inputs[0] == halves[0].gradient &&
           found.inputs[1] == halves[1].gradient;
  }

  FusionSearch& search_;
  const Program& program_;
  const Accepts& accepts_;
};

}  // namespace

void join_gates(FusionSearch& search,
                const std::function<bool(const ActivationAttrs&)>& accepts) {
  GateSearch(search, accepts).run();
}

bool is_gate(OpKind leader, const UnitBuilder& unit) {
  const OpKind own = unit.node().op->kind;
  return own != leader &&
         (own == OpKind::Split || leader == OpKind::Concatenate);
}

Gate::Gate(const UnitBuilder& head) : split(head), last(head) {
  std::vector<UnitBuilder> nodes{head};
  while (auto next = nodes.back().fusion().join_next()) nodes.push_back(*next);
  last = nodes.back();
  const bool is_forward = head.node().op->kind == OpKind::Split;
  std::vector<UnitBuilder> products;
  for (UnitBuilder& each : nodes) {
    const OpKind kind = each.node().op->kind;
    if (kind == OpKind::Binary) products.push_back(each);
    if (kind == OpKind::ActivationGradient) split = each.fusion().made_by(1);
  }
  const auto& halves = split.node().outputs;
  for (const UnitBuilder& each : nodes) {
    const auto* attrs = std::get_if<ActivationAttrs>(&each.node().attrs);
    if (attrs == nullptr) continue;
    const ValueId half = each.node().inputs[is_forward ? 0 : 1];
    functions[half == halves[0] ? 0 : 1] = *attrs;
  }
  if (is_forward) return;
  // Both products read what arrives.
  const auto& inputs = products[1].node().inputs;
  const ValueId first = products[0].node().inputs[0];
  gradient = products[0];
  gradient_input = std::ranges::find(inputs, first) == inputs.end() ? 1 : 0;
}

}  // namespace traingraph
