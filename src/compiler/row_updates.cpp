// SPDX-License-Identifier: MIT
#include "compiler/row_updates.h"

#include <algorithm>
#include <limits>

#include "graph/op_def.h"

namespace traingraph {
namespace {

constexpr std::size_t kParameter = 0, kGradient = 1;  // of an update
constexpr std::size_t kTokens = 0, kIndices = 1;      // of the gradient

bool has_input(const Node& node, std::size_t input) {
  return input < node.inputs.size() && node.inputs[input] != kNoValue;
}

/// Is an update with gradient 0 none?
bool keeps_rows_of_zeros(const Node& update) {
  enum { kMomentum = 2 };
  const auto* const attrs = std::get_if<SgdUpdateAttrs>(&update.attrs);
  if (!attrs) return false;
  const bool may_clip_zero =
      attrs->clips_by_value &&
      !(attrs->gradient_clip_min <= 0 && attrs->gradient_clip_max >= 0);
  // A negative factor would make -0 of 0, and 0 of a parameter of -0.
  return !has_input(update, kMomentum) && !may_clip_zero &&
         attrs->momentum_scale == 0 && attrs->gradient_rescale >= 0 &&
         attrs->regularization_type == RegularizationType::None;
}

/// The last input of all updates is the factor of clipping by norm.
bool is_scaled(const Node& update) {
  return has_input(update, update.op->inputs.size() - 1);
}

/// Updates of gradients that embeddings alone make.
std::vector<RowUpdate> candidates(const Program& program) {
  std::vector<RowUpdate> found;
  const auto& nodes = program.nodes();
  for (NodeId id = 0; id < static_cast<NodeId>(nodes.size()); ++id) {
    if (!is_update(nodes[id]) || is_scaled(nodes[id])) continue;
    const NodeId producer = program.value(nodes[id].inputs[kGradient]).producer;
    if (producer < 0) continue;
    if (nodes[producer].op->kind != OpKind::EmbeddingGradient) continue;
    found.push_back({producer, id});
  }
  return found;
}

/// Who reads what, in one pass.
class Readers {
 public:
  Readers(const Program& program, std::span<const ValueId> kept)
      : program_(program),
        count_(program.values().size(), 0),
        lookup_of_(program.values().size(), -1) {
    const auto& nodes = program.nodes();
    for (NodeId id = 0; id < static_cast<NodeId>(nodes.size()); ++id) {
      for (const ValueId input : nodes[id].inputs) {
        if (input != kNoValue) ++count_[input];
      }
      if (nodes[id].op->kind != OpKind::Embedding) continue;
      lookup_of_[nodes[id].inputs[kParameter]] = id;
    }
    for (const ValueId value : kept) {
      if (value != kNoValue) ++count_[value];
    }
  }

  bool is_only_reader_of(const Node& node, std::size_t input) const {
    return count_[node.inputs[input]] == 1;
  }

  /// The node through which alone a step reads the parameter, in the same rows
  /// as `gradient`; -1: there is none.
  NodeId lookup(const Node& gradient, const Node& update) const {
    const ValueId parameter = update.inputs[kParameter];
    const NodeId id = lookup_of_[parameter];
    if (id < 0 || count_[parameter] != 2) return -1;
    const Node& node = program_.node(id);
    const bool is_same = node.inputs[kIndices] == gradient.inputs[kIndices];
    const bool only_reads = node.phase == Phase::Forward && !mutates(node, 0);
    if (!is_same || !only_reads) return -1;
    for (std::size_t i = 2; i < update.inputs.size(); ++i) {
      const bool is_slot =
          has_input(update, i) && mutates(update, static_cast<int>(i));
      if (is_slot && !is_only_reader_of(update, i)) return -1;
    }
    return id;
  }

 private:
  const Program& program_;
  std::vector<int> count_;         // by value
  std::vector<NodeId> lookup_of_;  // by value: the last one
};

/// A row that is looked up goes through memory twice: to catch up and to be
/// updated. Rows are float32, as the gradients of tokens are.
bool pays(const Program& program, const Node& gradient, const Node& update) {
  const Shape& shape = program.desc(update.inputs[kParameter]).shape;
  const std::int64_t num_tokens =
      program.desc(gradient.inputs[kIndices]).shape.num_elements();
  const std::int64_t num_rows = shape.num_elements() / shape.back();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto is_float32 = [&](ValueId value) {
    return program.desc(value).data_type == DataType::Float32;
  };
  return is_float32(gradient.inputs[kTokens]) &&
         is_float32(update.inputs[kParameter]) && num_rows <= kMost &&
         num_tokens <= num_rows / 2;
}

}  // namespace

bool is_update(const Node& node) {
  const OpKind kind = node.op->kind;
  return kind == OpKind::SgdUpdate || kind == OpKind::AdamUpdate ||
         kind == OpKind::RmspropUpdate;
}

std::vector<RowUpdate> find_row_updates(const Program& program,
                                        std::span<const ValueId> kept) {
  std::vector<RowUpdate> found = candidates(program);
  if (found.empty()) return found;
  const Readers readers(program, kept);
  std::erase_if(found, [&](RowUpdate& each) {
    const Node& gradient = program.node(each.gradient);
    const Node& update = program.node(each.update);
    if (!readers.is_only_reader_of(update, kGradient)) return true;
    if (keeps_rows_of_zeros(update)) return false;
    each.lookup = readers.lookup(gradient, update);
    return each.lookup < 0 || !pays(program, gradient, update);
  });
  return found;
}

}  // namespace traingraph
