// SPDX-License-Identifier: MIT
// Attention that is written as two products with a softmax between them.
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/axes.h"
#include "compiler/rewrites/rules.h"
#include "ops/batch_rules.h"

namespace traingraph::rewrites {
namespace {

constexpr const char* kWhat = "attention";
const Shape kHeadsFirst{0, 2, 1, 3};  // (N, L, heads, D) -> (N, heads, L, D)

/// What the two products and the softmax between them are made of. Queries,
/// keys and values are (..., L, D), (..., S, D), (..., S, V).
struct Pattern {
  ValueId query = kNoValue, key = kNoValue, value = kNoValue;
  bool transposes_key = true, transposes_value = false;
  ValueId added = kNoValue;   // to the scores
  ValueId hidden = kNoValue;  // true where a key is not seen
  ValueId seen = kNoValue;    // true where it is
  ValueId scores = kNoValue;
  AttentionAttrs attrs;
  ValueId random_state = kNoValue;
};

/// Whether the scores are a product, perhaps with a mask that is added or
/// selected.
const Node* find_scores(Rewriter& rewriter, NodeId root, ValueId value,
                        Pattern& found) {
  if (const Node* product = rewriter.inner(value, OpKind::MatMul)) {
    return product;
  }
  if (const Node* sum = rewriter.inner(value, OpKind::Binary)) {
    const auto operation = attrs_of<ArithmeticAttrs>(*sum).operation;
    if (operation != ArithmeticOperation::Add) return nullptr;
    for (int k = 0; k < 2; ++k) {
      const Node* product = rewriter.inner(sum->inputs[k], OpKind::MatMul);
      if (!product) continue;
      if (rewriter.shape(sum->inputs[k]) != rewriter.shape(value)) continue;
      found.added = sum->inputs[1 - k];
      return product;
    }
    return nullptr;
  }
  const Node* select = rewriter.inner(value, OpKind::Select);
  if (!select) return nullptr;
  for (int k = 1; k < 3; ++k) {
    const Node* product = rewriter.inner(select->inputs[k], OpKind::MatMul);
    const auto other = number_of(rewriter, select->inputs[3 - k]);
    if (!product || !other) continue;
    if (rewriter.shape(select->inputs[k]) != rewriter.shape(value)) continue;
    if (*other != -std::numeric_limits<float>::infinity()) {
      rewriter.nearly(root, kWhat,
                      "scores that are masked out become a finite number, so "
                      "that a query may see no key and still average all; "
                      "-infinity masks them");
      return nullptr;
    }
    (k == 1 ? found.seen : found.hidden) = select->inputs[0];
    return product;
  }
  return nullptr;
}

/// Reads weights @ value.
std::optional<Pattern> find_pattern(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  const auto& outer = attrs_of<MatMulAttrs>(node);
  if (node.inputs[2] != kNoValue || outer.alpha != 1 || outer.transposes_x) {
    return std::nullopt;
  }
  Pattern found;
  found.value = node.inputs[1];
  found.transposes_value = outer.transposes_y;
  ValueId weights = node.inputs[0];
  if (const Node* dropout = rewriter.inner(weights, OpKind::Dropout)) {
    const auto& drop = attrs_of<DropoutAttrs>(*dropout);
    found.attrs.dropout = drop.rate;
    found.attrs.seed = drop.seed;
    found.attrs.stream = drop.stream;
    found.random_state = dropout->inputs[1];
    weights = dropout->inputs[0];
  }
  const Node* softmax = rewriter.inner(weights, OpKind::Softmax);
  if (!softmax) return std::nullopt;
  const auto& attrs = attrs_of<SoftmaxAttrs>(*softmax);
  const bool is_over_keys = attrs.operation == SoftmaxOperation::Softmax &&
                            attrs.axis == rewriter.shape(weights).rank() - 1;
  if (!is_over_keys) return std::nullopt;
  const Node* product = find_scores(rewriter, root, softmax->inputs[0], found);
  if (!product || product->inputs[2] != kNoValue) return std::nullopt;
  const auto& inner = attrs_of<MatMulAttrs>(*product);
  if (inner.transposes_x) return std::nullopt;
  found.query = product->inputs[0];
  found.key = product->inputs[1];
  found.transposes_key = inner.transposes_y;
  found.scores = product->outputs[0];
  found.attrs.scale = inner.alpha;
  return found;
}

bool has_equal_batches(const Rewriter& rewriter, const Pattern& found) {
  const Shape& scores = rewriter.shape(found.scores);
  for (ValueId value : {found.query, found.key, found.value}) {
    const Shape& shape = rewriter.shape(value);
    if (shape.rank() != scores.rank()) return false;
    for (int i = 0; i < shape.rank() - 2; ++i) {
      if (shape[i] != scores[i]) return false;
    }
  }
  return true;
}

/// Exchanges the last two axes.
ValueId transposed(Rewriter& rewriter, ValueId value) {
  const int rank = rewriter.shape(value).rank();
  return rewriter.transpose(value,
                            with_last_exchanged(batch::axes_in_order(rank)));
}

/// (1, L, S), or (all heads of all samples, L, S) where the mask differs.
ValueId mask_of(Rewriter& rewriter, ValueId mask, const Shape& scores) {
  const Shape own = rewriter.shape(mask);
  const int rank = scores.rank(), missing = rank - own.rank();
  const std::int64_t rows = scores[rank - 2], columns = scores[rank - 1];
  bool serves_all = true;
  for (int i = 0; i < rank - 2; ++i) {
    serves_all = serves_all && (i < missing || own[i - missing] == 1);
  }
  if (!serves_all) {
    const ValueId full =
        rewriter.append(OpKind::BroadcastTo, ShapeAttrs{scores}, {mask});
    return rewriter.reshape(
        full, {scores.num_elements() / (rows * columns), rows, columns});
  }
  Shape one = Shape::filled(3, 1);
  for (int i = 1; i < 3; ++i) {
    const int at = rank - 3 + i - missing;
    if (at >= 0) one[i] = own[at];
  }
  const Shape full{1, rows, columns};
  const ValueId flat = rewriter.reshape(mask, one);
  if (one == full) return flat;
  return rewriter.append(OpKind::BroadcastTo, ShapeAttrs{full}, {flat});
}

ValueId append_mask(Rewriter& rewriter, const Pattern& found) {
  const Shape scores = rewriter.shape(found.scores);
  if (found.added != kNoValue) return mask_of(rewriter, found.added, scores);
  if (found.seen == kNoValue && found.hidden == kNoValue) return kNoValue;
  // Only floats broadcast.
  const bool is_seen = found.seen != kNoValue;
  const auto number = [&](float value) {
    return rewriter.append(OpKind::Fill,
                           FillAttrs{.shape = {1}, .value = value}, {});
  };
  const ValueId none = number(0);
  const ValueId hides = number(-std::numeric_limits<float>::infinity());
  const ValueId added =
      rewriter.append(OpKind::Select, NoAttrs{},
                      {is_seen ? found.seen : found.hidden,
                       is_seen ? none : hides, is_seen ? hides : none});
  return mask_of(rewriter, added, scores);
}

/// Were the heads made of columns that lie side by side?
bool is_split(const Rewriter& rewriter, ValueId value) {
  const Node* split = rewriter.maker(value, OpKind::Transpose);
  return split && attrs_of<TransposeAttrs>(*split).axes == kHeadsFirst;
}

/// (N, heads, L, D) -> (N, L, heads * D)
ValueId join_heads(Rewriter& rewriter, ValueId value) {
  const Shape shape = rewriter.shape(value);
  const ValueId moved = rewriter.transpose(value, kHeadsFirst);
  return rewriter.reshape(moved, {shape[0], shape[2], shape[1] * shape[3]});
}

ValueId split_heads(Rewriter& rewriter, ValueId value, std::int64_t heads) {
  const Shape shape = rewriter.shape(value);
  const ValueId split =
      rewriter.reshape(value, {shape[0], shape[1], heads, shape[2] / heads});
  return rewriter.transpose(split, kHeadsFirst);
}

/// Each head of each sample as a sample of one head.
ValueId as_samples(Rewriter& rewriter, ValueId value) {
  const Shape shape = rewriter.shape(value);
  const int rank = shape.rank();
  const std::int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  return rewriter.reshape(
      value, {shape.num_elements() / (rows * columns), rows, columns});
}

ValueId append_attention(Rewriter& rewriter, const Pattern& found,
                         std::vector<ValueId> sources) {
  sources.push_back(kNoValue);
  sources.push_back(append_mask(rewriter, found));
  sources.push_back(found.random_state);
  return rewriter.append(OpKind::Attention, found.attrs, std::move(sources));
}

}  // namespace

ValueId attention(Rewriter& rewriter, NodeId root) {
  auto match = find_pattern(rewriter, root);
  if (!match) return kNoValue;
  Pattern& found = *match;
  const ValueId result = rewriter.node(root).outputs[0];
  const Shape shape = rewriter.shape(result);
  const float scale = found.attrs.scale;
  if (shape.rank() < 3 || !has_equal_batches(rewriter, found)) {
    return rewriter.nearly(
        root, kWhat,
        "queries, keys and values have other samples or heads: " +
            rewriter.shape(found.query).to_string() + ", " +
            rewriter.shape(found.key).to_string() + ", " +
            rewriter.shape(found.value).to_string());
  }
  if (!(scale > 0 && std::isfinite(scale)) || !rewriter.is_float32(result) ||
      (found.added != kNoValue && !rewriter.is_float32(found.added))) {
    return rewriter.nearly(root, kWhat,
                           "its scale is not above 0, or its types differ");
  }
  ValueId& key = found.key;
  if (!found.transposes_key) key = transposed(rewriter, key);
  if (found.transposes_value) found.value = transposed(rewriter, found.value);
  std::vector<ValueId> sources{found.query, key, found.value};
  bool are_split = shape.rank() == 4;
  for (ValueId source : sources) {
    are_split = are_split && is_split(rewriter, source);
  }
  found.attrs.head_count = are_split ? shape[1] : 1;
  for (ValueId& source : sources) {
    source =
        are_split ? join_heads(rewriter, source) : as_samples(rewriter, source);
  }
  const ValueId output = append_attention(rewriter, found, sources);
  return are_split ? split_heads(rewriter, output, found.attrs.head_count)
                   : rewriter.reshape(output, shape);
}

ValueId scaled_attention(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  for (std::size_t k = 0; k < 2; ++k) {
    const Line line = line_of(rewriter, node.inputs[k]);
    auto attrs = attrs_of<AttentionAttrs>(node);
    attrs.scale *= line.a;
    const bool is_scaled = line.of != node.inputs[k] && line.b == 0;
    // 0 stands for the default.
    if (!is_scaled || !(attrs.scale > 0) || !std::isfinite(attrs.scale)) {
      continue;
    }
    std::vector<ValueId> inputs = node.inputs;
    inputs[k] = line.of;
    return rewriter.append(OpKind::Attention, attrs, std::move(inputs));
  }
  return kNoValue;
}

}  // namespace traingraph::rewrites
