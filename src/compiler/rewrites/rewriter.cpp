// SPDX-License-Identifier: MIT
#include "compiler/rewrites/rewriter.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "compiler/passes/remove_dead_nodes.h"

namespace traingraph {
namespace {

std::size_t hash_of(const Node& node) {
  auto hash = static_cast<std::size_t>(node.op->kind);
  for (ValueId input : node.inputs) {
    hash = hash * 1000003 + static_cast<std::size_t>(input + 1);
  }
  return hash;
}

}  // namespace

bool may_be_rewritten(const Node& node, const std::vector<bool>& kept) {
  const auto layer = static_cast<std::size_t>(node.layer);
  const bool is_kept = node.layer >= 0 && layer < kept.size() && kept[layer];
  return node.phase == Phase::Forward && node.filter < 0 && !is_kept;
}

Rewriter::Rewriter(Program& program, std::span<const RewriteRule> rules,
                   std::span<const ValueId> named,
                   const std::vector<bool>& kept)
    : program_(program),
      is_kept_(kept),
      is_named_(program.values().size()),
      num_reads_(program.values().size()),
      same_(program.values().size()),
      is_gone_(program.nodes().size()),
      num_original_(static_cast<NodeId>(program.nodes().size())) {
  std::iota(same_.begin(), same_.end(), 0);
  for (ValueId value : named) {
    if (value != kNoValue) is_named_[value] = true;
  }
  for (const Node& node : program.nodes()) {
    for (ValueId input : node.inputs) {
      if (input != kNoValue) ++num_reads_[input];
    }
  }
  for (const RewriteRule& rule : rules) {
    rules_of_[static_cast<std::size_t>(rule.root)].push_back(&rule);
  }
}

std::vector<Rewrite> Rewriter::run() {
  const auto position = program_.position;
  for (NodeId id = 0; id < num_original_; ++id) {
    for (ValueId& input : program_.node(id).inputs) {
      if (input != kNoValue) input = same_[input];
    }
    if (is_gone_[id]) continue;
    if (!is_visible(node(id))) {
      order_.push_back(id);
      continue;
    }
    removed_.clear();
    seen_.clear();
    program_.position = {Phase::Forward, node(id).layer, node(id).name};
    visit(id);
  }
  std::erase_if(order_, [&](NodeId id) { return is_gone_[id]; });
  program_.reorder(order_);
  program_.position = position;
  return std::move(rewrites_);
}

const Node* Rewriter::maker(ValueId value, OpKind op) const {
  const NodeId id = value == kNoValue ? -1 : program_.value(value).producer;
  if (id < 0) return nullptr;
  const Node& made = node(id);
  const bool is_it = made.op->kind == op && made.outputs[0] == value;
  if (!is_it || !is_visible(made)) return nullptr;
  seen_.push_back(id);
  return &made;
}

const Node* Rewriter::inner(ValueId value, OpKind op) const {
  const Node* made = maker(value, op);
  if (!made || num_reads_[value] != 1 || is_named_[value]) return nullptr;
  return has_other_readers(*made) ? nullptr : made;
}

bool Rewriter::has_other_readers(const Node& node) const {
  return std::ranges::any_of(std::span(node.outputs).subspan(1),
                             [&](ValueId v) { return is_read(v); });
}

bool Rewriter::is_read(ValueId value) const {
  return num_reads_[value] > 0 || is_named_[value];
}

NodeId Rewriter::append_node(OpKind op, Attributes attrs,
                             std::vector<ValueId> inputs) {
  const auto id = static_cast<NodeId>(program_.nodes().size());
  program_.append(op, std::move(attrs), std::move(inputs));
  const std::size_t num_values = program_.values().size();
  while (same_.size() < num_values) {
    same_.push_back(static_cast<ValueId>(same_.size()));
  }
  num_reads_.resize(num_values);
  is_named_.resize(num_values);
  is_gone_.resize(program_.nodes().size());
  for (ValueId input : node(id).inputs) {
    if (input != kNoValue) start_reading(input);
  }
  return id;
}

ValueId Rewriter::append(OpKind op, Attributes attrs,
                         std::vector<ValueId> inputs) {
  if (!is_gone_[root_]) remove(root_);
  return visit(append_node(op, std::move(attrs), std::move(inputs)));
}

ValueId Rewriter::reshape(ValueId value, const Shape& shape) {
  return append(OpKind::Reshape, ShapeAttrs{shape}, {value});
}

ValueId Rewriter::transpose(ValueId value, const Shape& axes) {
  return append(OpKind::Transpose, TransposeAttrs{axes}, {value});
}

ValueId Rewriter::nearly(NodeId root, const char* what, std::string reason) {
  rewrites_.push_back({.what = what,
                       .node = node(root).name,
                       .of = {},
                       .hint = std::move(reason)});
  return kNoValue;
}

/// Returns what computes the node's first result now.
ValueId Rewriter::visit(NodeId id) {
  const NodeId outer = std::exchange(root_, id);
  const ValueId by = apply_rules(id);
  root_ = outer;
  if (by != kNoValue) return by;
  order_.push_back(id);
  return node(id).outputs.empty() ? kNoValue : node(id).outputs[0];
}

ValueId Rewriter::apply_rules(NodeId id) {
  if (node(id).outputs.empty()) return kNoValue;
  const ValueId result = node(id).outputs[0];
  if (has_other_readers(node(id))) return kNoValue;
  for (const RewriteRule* rule :
       rules_of_[static_cast<std::size_t>(node(id).op->kind)]) {
    const ValueId by = rule->apply(*this, id);
    if (by == kNoValue || is_view_of(id, by)) continue;
    replace(id, by);
    record(id, rule->what);
    return same_[result];
  }
  const ValueId equal = find_equal(id);
  if (equal == kNoValue) return kNoValue;
  replace(id, equal);
  record(id, "common subexpression");
  return equal;
}

/// Looks for a node before that computes the same.
ValueId Rewriter::find_equal(NodeId id) {
  const Node& root = node(id);
  if (mutates_anything(root) || is_named_[root.outputs[0]]) return kNoValue;
  const std::size_t hash = hash_of(root);
  const auto [first, last] = computed_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Node& other = node(it->second);
    if (is_gone_[it->second] || other.op != root.op) continue;
    if (other.inputs == root.inputs && other.attrs == root.attrs) {
      return other.outputs[0];
    }
  }
  computed_.emplace(hash, id);
  return kNoValue;
}

/// From now on `by` is what the root's first result was.
void Rewriter::replace(NodeId root, ValueId by) {
  const ValueId result = node(root).outputs[0];
  if (is_named_[result]) {
    rename(by, root);
  } else {
    same_[result] = by;
    start_reading(by, std::exchange(num_reads_[result], 0));
  }
  if (!is_gone_[root]) remove(root);
}

/// Gives `value`, or what is equal to it, the id of the root's first result.
void Rewriter::rename(ValueId value, NodeId root) {
  const bool is_new = program_.value(value).producer >= num_original_;
  if (!is_new || is_read(value)) {
    const Shape shape = program_.shape(value);
    const NodeId view =
        append_node(OpKind::Reshape, ShapeAttrs{shape}, {value});
    order_.push_back(view);
    value = node(view).outputs[0];
  }
  const ValueId result = node(root).outputs[0];
  const NodeId maker = program_.value(value).producer;
  std::ranges::replace(program_.node(maker).outputs, value, result);
  program_.node(root).outputs[0] = value;
  program_.value(result).producer = maker;
  program_.value(value).producer = root;
  bring_back(maker);
}

/// A result that keeps its id is at best a view of what it is equal to.
bool Rewriter::is_view_of(NodeId root, ValueId value) const {
  const Node& view = node(root);
  return is_named_[view.outputs[0]] && view.op->kind == OpKind::Reshape &&
         view.inputs[0] == value;
}

void Rewriter::start_reading(ValueId value, int times) {
  if (times == 0) return;
  num_reads_[value] += times;
  const NodeId id = program_.value(value).producer;
  if (id >= 0) bring_back(id);
}

void Rewriter::bring_back(NodeId id) {
  if (!is_gone_[id]) return;
  is_gone_[id] = false;
  for (ValueId input : node(id).inputs) {
    if (input != kNoValue) start_reading(input);
  }
}

void Rewriter::stop_reading(ValueId value) {
  --num_reads_[value];
  const NodeId id = program_.value(value).producer;
  if (id < 0 || is_gone_[id] || is_needed(node(id))) return;
  // Beyond what was looked at nothing goes yet: most of it is read again.
  const bool was_seen = std::ranges::find(seen_, id) != seen_.end();
  if (was_seen) {
    remove(id);
  } else {
    unread_.push_back(id);
  }
}

void Rewriter::remove(NodeId id) {
  is_gone_[id] = true;
  if (id < num_original_) removed_.push_back(id);
  for (ValueId input : node(id).inputs) {
    if (input != kNoValue) stop_reading(input);
  }
}

/// Removes what nobody has read again.
void Rewriter::sweep() {
  seen_.clear();
  while (!unread_.empty()) {
    const NodeId id = unread_.back();
    unread_.pop_back();
    if (!is_gone_[id] && !is_needed(node(id))) remove(id);
  }
}

bool Rewriter::is_needed(const Node& node) const {
  return !is_visible(node) || mutates_anything(node) ||
         std::ranges::any_of(node.outputs,
                             [&](ValueId v) { return is_read(v); });
}

void Rewriter::record(NodeId root, const char* what) {
  if (root >= num_original_) return;
  sweep();
  std::vector<std::string> names;
  for (NodeId id : removed_) {
    if (is_gone_[id]) names.push_back(node(id).name);
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  rewrites_.push_back({.what = what,
                       .node = node(root).name,
                       .of = std::move(names),
                       .hint = {}});
}

Line line_of(const Rewriter& rewriter, ValueId value) {
  const Node* node = rewriter.inner(value, OpKind::Activation);
  if (!node) return {.of = value};
  const auto& attrs = attrs_of<ActivationAttrs>(*node);
  if (attrs.type != ActivationType::Linear) return {.of = value};
  return {.of = node->inputs[0], .a = attrs.a, .b = attrs.b};
}

std::optional<float> number_of(const Rewriter& rewriter, ValueId value) {
  const Node* node = rewriter.maker(value, OpKind::Fill);
  if (!node || !rewriter.is_float32(value)) return std::nullopt;
  return attrs_of<FillAttrs>(*node).value;
}

bool is_near(float value, double expected) {
  return std::abs(value - expected) <= 1e-4 * std::abs(expected);
}

}  // namespace traingraph
