// SPDX-License-Identifier: MIT
#include "traingraph/layers/attention.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph {
namespace {

constexpr const char* kMultiheadAttention = "MultiheadAttention";

void require_heads_divide(std::int64_t head_count, std::int64_t dimension,
                          const char* field) {
  require_option(dimension % head_count == 0, kMultiheadAttention, field,
                 "a multiple of head_count " + std::to_string(head_count),
                 std::to_string(dimension));
}

}  // namespace

MultiheadAttentionDescriptor MultiheadAttentionDescriptor::resolved() const {
  MultiheadAttentionDescriptor result = *this;
  require_positive(kMultiheadAttention, "model_dimension", model_dimension);
  require_positive(kMultiheadAttention, "head_count", head_count);
  if (result.key_dimension == 0) result.key_dimension = model_dimension;
  if (result.value_dimension == 0) result.value_dimension = model_dimension;
  require_positive(kMultiheadAttention, "key_dimension", result.key_dimension);
  require_positive(kMultiheadAttention, "value_dimension",
                   result.value_dimension);
  require_heads_divide(head_count, result.key_dimension, "key_dimension");
  require_heads_divide(head_count, result.value_dimension, "value_dimension");
  require_option(dropout >= 0 && dropout < 1, kMultiheadAttention, "dropout",
                 "in [0, 1)", format_value(dropout));
  return result;
}

namespace layers {
namespace {

enum { kQuery, kKey, kValue, kOutput, kNumWeights };

constexpr std::array kWeightNames{"query_weights", "key_weights",
                                  "value_weights", "output_weights"};
constexpr std::array kBiasNames{"query_biases", "key_biases", "value_biases",
                                "output_biases"};
constexpr std::array kAttentionBiasNames{"key_attention_biases",
                                         "value_attention_biases"};

/// Requires none of a list, or all.
void require_count(const char* field, std::size_t count, std::size_t full,
                   bool is_off, const char* flag) {
  require_option(count == 0 || !is_off, kMultiheadAttention, flag,
                 std::string("on: ") + field + " are given", "off");
  require_option(count == 0 || count == full, kMultiheadAttention, field,
                 std::to_string(full) + " tensors, or none",
                 std::to_string(count));
}

/// Any shape of so many elements will do.
void require_vector(const char* what, const Tensor& tensor, std::int64_t count,
                    DataType type) {
  require_option(static_cast<bool>(tensor), kMultiheadAttention, what,
                 "a tensor", "none");
  const Shape& shape = tensor.shape();
  require_parameter(kMultiheadAttention, what, tensor,
                    {shape.num_elements() == count ? shape : Shape{count}},
                    type);
}

/// Weights from `in` to `out` of all heads, in both forms.
void require_weights(const char* what, const Tensor& tensor, std::int64_t out,
                     std::int64_t in, std::int64_t heads, DataType type) {
  require_parameter(kMultiheadAttention, what, tensor,
                    {Shape{out, in}, Shape{1, heads, out / heads, in}}, type);
}

DataType type_of(const MultiheadAttentionOptions& options) {
  return type_of_weights(
      {options.weights, options.biases, options.attention_biases});
}

/// The projection of a source or of the heads; `parameter` is also the number
/// of its bias.
ValueId project(LayerBuilder& builder, ValueId x, int parameter,
                const Tensor& weights, const Tensor& biases,
                std::int64_t outputs) {
  const std::int64_t inputs = weights.shape().back();
  const Shape& shape = builder.shape(x);
  if (shape.rank() != 3 || shape[2] != inputs) {
    static constexpr std::array kSources{"query", "key", "value", "heads"};
    throw ShapeError(ErrorInfo{
        .op = "node",
        .node = builder.name(),
        .what = std::string("the ") + kSources[parameter] +
                " source does not fit the layer",
        .expected = "(N, length, " + std::to_string(inputs) + ")",
        .got = shape.to_string(),
        .hint = parameter == kQuery ? "Queries have the model dimension."
                                    : "The last size of its weights."});
  }
  std::vector<ValueId> operands{
      x, builder.variable(weights, {outputs, inputs}, kWeightNames[parameter])};
  if (biases) {
    operands.push_back(
        builder.variable(biases, {outputs}, kBiasNames[parameter]));
  }
  return builder.append(OpKind::MatMul, MatMulAttrs{.transposes_y = true},
                        std::move(operands));
}

/// Sources behind the value; kNoValue where there is none.
struct Masks {
  ValueId key = kNoValue, attention = kNoValue;
};

Masks masks_of(LayerBuilder& builder) {
  Masks masks;
  for (int i = 3; i < builder.num_sources(); ++i) {
    const Shape& shape = builder.shape(builder.source(i));
    ValueId& mask = shape.rank() == 2 ? masks.key : masks.attention;
    if (shape.rank() == 2 || shape.rank() == 3) {
      if (mask == kNoValue) {
        mask = builder.source(i);
        continue;
      }
    }
    throw ShapeError(
        {.op = "node",
         .node = builder.name(),
         .what = mask == kNoValue ? "a mask has the wrong number of axes"
                                  : "two masks of the same kind",
         .expected = "a key mask (N, S), an attention mask (1, L, S) or "
                     "(N * head_count, L, S), or one of each",
         .got = shape.to_string(),
         .hint = {}});
  }
  return masks;
}

/// More rows behind those of projected keys or values: `bias` unless it is
/// empty, and zeros.
ValueId add_rows(LayerBuilder& builder, ValueId rows, const Tensor& bias,
                 const char* bias_name, bool adds_zeros) {
  if (!bias && !adds_zeros) return rows;
  const Shape shape = builder.shape(rows);
  const Shape row{shape[0], 1, shape[2]};
  std::vector<ValueId> parts{rows};
  if (bias) {
    const ValueId one = builder.variable(bias, {1, 1, shape[2]}, bias_name);
    parts.push_back(
        builder.append(OpKind::BroadcastTo, ShapeAttrs{row}, {one}));
  }
  if (adds_zeros) {
    parts.push_back(
        builder.append(OpKind::Fill,
                       FillAttrs{.shape = row,
                                 .value = 0,
                                 .data_type = builder.desc(rows).data_type},
                       {}));
  }
  return builder.append(OpKind::Concatenate, AxisAttrs{1}, std::move(parts));
}

/// A mask whose keys are on `axis`, with entries for `count` rows added.
ValueId add_unmasked(LayerBuilder& builder, ValueId mask, int axis,
                     std::int64_t count) {
  if (mask == kNoValue || count == 0) return mask;
  TensorDescriptor added = builder.desc(mask);
  added.shape[axis] = count;
  const ValueId visible = builder.append(
      OpKind::Fill,
      FillAttrs{.shape = added.shape, .value = 0, .data_type = added.data_type},
      {});
  return builder.append(OpKind::Concatenate, AxisAttrs{axis}, {mask, visible});
}

}  // namespace

MultiheadAttention::MultiheadAttention(MultiheadAttentionDescriptor descriptor,
                                       const MultiheadAttentionOptions& options)
    : SizedLayer(kMultiheadAttention),
      descriptor_(descriptor),
      options_(options) {
  const std::int64_t width = descriptor.model_dimension;
  if (width == 0) {
    descriptor.model_dimension =
        std::max<std::int64_t>(1, descriptor.head_count);
  }
  descriptor.resolved();  // throws; any width that could do, for all else
  const auto& given = options.weights;
  require_count("weights", given.size(), kNumWeights, /*is_off=*/false, "");
  require_option(given.empty() || !options.initializer, kMultiheadAttention,
                 "initializer", "none: the weights are given",
                 std::string(to_string(options.initializer.value_or(
                     RandomInitializerType::GlorotUniform))));
  const std::array dimensions{options.key_source_dimension,
                              options.value_source_dimension};
  static constexpr std::array kFields{"key_source_dimension",
                                      "value_source_dimension"};
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    require_option(dimensions[i] >= 0, kMultiheadAttention, kFields[i],
                   "at least 1, or 0", std::to_string(dimensions[i]));
    require_option(given.empty() || dimensions[i] == 0, kMultiheadAttention,
                   kFields[i], "0: the weights are given",
                   std::to_string(dimensions[i]));
  }
  if (descriptor.dropout == 0) {
    require_unused(kMultiheadAttention, "seed", options.seed, std::int64_t{0},
                   "dropout 0");
  }
  if (width == 0) return;
  set_sizes({width, dimensions[0] ? dimensions[0] : width,
             dimensions[1] ? dimensions[1] : width});
}

MultiheadAttentionDescriptor MultiheadAttention::descriptor() const {
  return is_built() ? own().descriptor : descriptor_;
}

Shape MultiheadAttention::sizes_of(const std::vector<Shape>& sources) const {
  const auto width = [&](std::size_t source, std::int64_t given) {
    if (given != 0) return given;
    const std::size_t last = sources.size() - 1;  // lower() wants all three
    return size_of({sources[std::min(source, last)]}, 2, "(N, length, width)");
  };
  return {width(0, 0), width(1, options_.key_source_dimension),
          width(2, options_.value_source_dimension)};
}

std::unique_ptr<SizedLayer::Parts> MultiheadAttention::make(
    const Shape& sizes) const {
  auto parts = std::make_unique<AttentionParts>();
  parts->sizes = sizes;
  parts->descriptor = descriptor_;
  parts->descriptor.model_dimension = sizes[0];
  parts->descriptor = parts->descriptor.resolved();
  set_weights(*parts);
  set_biases(*parts);
  return parts;
}

void MultiheadAttention::set_weights(AttentionParts& parts) const {
  const auto& d = parts.descriptor;
  const auto& given = options_.weights;
  const auto source_width = [&](int i) {
    if (i == kQuery || given.empty()) return parts.sizes[i];
    require_option(static_cast<bool>(given[i]), kMultiheadAttention,
                   kWeightNames[i], "a tensor", "none");
    return given[i].shape().back();
  };
  const std::array shapes{Shape{d.key_dimension, source_width(kQuery)},
                          Shape{d.key_dimension, source_width(kKey)},
                          Shape{d.value_dimension, source_width(kValue)},
                          Shape{d.model_dimension, d.value_dimension}};
  for (int i = 0; i < kNumWeights; ++i) {
    Tensor tensor;
    if (given.empty()) {
      tensor = created(kMultiheadAttention, kWeightNames[i], [&] {
        return Tensor::random(TensorDescriptor{shapes[i], type_of(options_)},
                              options_.initializer.value_or(
                                  RandomInitializerType::GlorotUniform));
      });
    } else {
      tensor = given[i];
      require_weights(kWeightNames[i], tensor, shapes[i][0], shapes[i][1],
                      i == kOutput ? 1 : d.head_count, type_of(options_));
    }
    parts.tensors.emplace_back(tensor, kWeightNames[i]);
    parts.weights.emplace_back(tensor);
  }
}

void MultiheadAttention::set_biases(AttentionParts& parts) const {
  const auto& d = parts.descriptor;
  const auto set = [&](const char* field, const char* flag, bool is_on,
                       const std::vector<Tensor>& given,
                       std::span<const std::int64_t> counts,
                       std::span<const char* const> names,
                       std::vector<TensorParameter>& parameters) {
    require_count(field, given.size(), counts.size(), !is_on, flag);
    if (!is_on) return;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      Tensor tensor;
      if (given.empty()) {
        tensor = created(kMultiheadAttention, names[i], [&] {
          return Tensor::filled(
              TensorDescriptor{{counts[i]}, type_of(options_)}, 0);
        });
      } else {
        tensor = given[i];
        require_vector(names[i], tensor, counts[i], type_of(options_));
      }
      parts.tensors.emplace_back(tensor, names[i]);
      parameters.emplace_back(tensor);
    }
  };
  const std::array counts{d.key_dimension, d.key_dimension, d.value_dimension,
                          d.model_dimension};
  set("biases", "uses_biases", d.uses_biases, options_.biases, counts,
      kBiasNames, parts.biases);
  set("attention_biases", "uses_attention_biases", d.uses_attention_biases,
      options_.attention_biases, std::span(counts).subspan(1, 2),
      kAttentionBiasNames, parts.attention_biases);
}

std::vector<Tensor> MultiheadAttention::tensors_of(
    const std::vector<TensorParameter>& parameters) {
  std::vector<Tensor> result;
  for (const TensorParameter& each : parameters) {
    result.push_back(each.tensor());
  }
  return result;
}

std::vector<TensorParameter> MultiheadAttention::parameters() const {
  std::vector<TensorParameter> result = own().weights;
  for (const auto* list : {&own().biases, &own().attention_biases}) {
    result.insert(result.end(), list->begin(), list->end());
  }
  return result;
}

bool MultiheadAttention::supports_data_type(DataType data_type,
                                            const Device& device) {
  return takes(OpKind::Attention, data_type, device, /*num_sources=*/5);
}

void MultiheadAttention::lower(LayerBuilder& builder) const {
  builder.require_sources(3, 5);
  const auto& d = own().descriptor;
  const Masks masks = masks_of(builder);
  const auto projected = [&](ValueId x, int i, std::int64_t outputs) {
    const std::vector<TensorParameter>& biases = own().biases;
    return project(builder, x, i, own().weights[i].tensor(),
                   biases.empty() ? Tensor() : biases[i].tensor(), outputs);
  };
  const ValueId query = projected(builder.source(0), kQuery, d.key_dimension);
  const auto with_rows = [&](ValueId rows, int which) {
    const Tensor bias = d.uses_attention_biases
                            ? own().attention_biases[which].tensor()
                            : Tensor();
    return add_rows(builder, rows, bias, kAttentionBiasNames[which],
                    d.adds_zero_attention);
  };
  const ValueId key =
      with_rows(projected(builder.source(1), kKey, d.key_dimension), 0);
  const ValueId value =
      with_rows(projected(builder.source(2), kValue, d.value_dimension), 1);
  const std::int64_t num_added =
      (d.uses_attention_biases ? 1 : 0) + (d.adds_zero_attention ? 1 : 0);
  AttentionAttrs attrs{
      .head_count = d.head_count, .dropout = d.dropout, .seed = seed()};
  ValueId random_state = kNoValue;
  if (d.dropout != 0) {
    attrs.stream = builder.next_random_stream();
    random_state = builder.random_state();
  }
  const ValueId heads = builder.append(
      OpKind::Attention, attrs,
      {query, key, value, add_unmasked(builder, masks.key, 1, num_added),
       add_unmasked(builder, masks.attention, 2, num_added), random_state});
  builder.add_result(projected(heads, kOutput, d.model_dimension));
}

}  // namespace layers
}  // namespace traingraph
