// SPDX-License-Identifier: MIT
// Layers with more than one kind of source: those that look up by indices, that
// read sequences, that attend, and what came with them.
#include <string>

#include "graph_from_bytes.h"

namespace traingraph::fuzz {
namespace {

std::int64_t size_at(const Tensor& tensor, int axis) {
  return axis < tensor.shape().rank() ? tensor.shape()[axis] : 1;
}

/// A constant of whole numbers that are mostly below `bound`.
Tensor whole_numbers(ByteReader& record, const Shape& shape,
                     std::int64_t bound) {
  const auto type = record.any(DataType::Int32, DataType::Int64);
  const std::int64_t first = record.size_or(0);
  std::vector<std::int32_t> narrow(
      static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const auto value = static_cast<std::int64_t>(i * 7 % 11);
    narrow[i] = static_cast<std::int32_t>((value + first % 16) % bound);
  }
  const std::vector<std::int64_t> wide(narrow.begin(), narrow.end());
  const TensorData data =
      type == DataType::Int64
          ? TensorData(static_cast<const void*>(wide.data()),
                       wide.size() * sizeof(std::int64_t))
          : TensorData(static_cast<const void*>(narrow.data()),
                       narrow.size() * sizeof(std::int32_t));
  return Tensor({shape, type}, data, "numbers", std::nullopt);
}

LayerPtr upsample(ByteReader& record) {
  Shape shape{record.size(1, 7)};
  if (!record.one_in(4)) shape.push_back(record.size(1, 7));
  const auto mode = record.any(SampleMode::Nearest, SampleMode::Linear);
  return std::make_shared<layers::Upsample>(
      shape, mode, record.one_in(2) && mode == SampleMode::Linear);
}

LayerPtr lstm(ByteReader& record, const Tensor& x) {
  LSTMDescriptor d{.input_size = record.size_or(x.shape().back()),
                   .hidden_size = record.size(1, 4)};
  d.layer_count = record.size(1, 2);
  const int flags = record.byte();
  d.uses_biases = flags % 2 == 0;
  d.batch_first = flags / 2 % 2 == 0;
  d.bidirectional = flags / 4 % 2 != 0;
  d.returns_sequences = flags / 8 % 2 == 0;
  d.dropout = flags > 240 && d.layer_count > 1 ? 0.5f : 0;
  d.result_mode =
      record.any(LSTMResultMode::Output, LSTMResultMode::OutputAndStates);
  return std::make_shared<layers::LSTM>(d);
}

LayerPtr attention(ByteReader& record, const Tensor& query, const Tensor& key,
                   const Tensor& value) {
  MultiheadAttentionDescriptor d;
  d.head_count = record.size(1, 2);
  d.model_dimension = record.size_or(query.shape().back());
  const int flags = record.byte();
  if (flags % 4 == 3) d.key_dimension = d.value_dimension = 2 * d.head_count;
  d.uses_biases = flags / 4 % 2 == 0;
  d.uses_attention_biases = flags / 8 % 2 != 0;
  d.adds_zero_attention = flags / 16 % 2 != 0;
  d.dropout = flags > 200 ? record.real() : 0;
  return std::make_shared<layers::MultiheadAttention>(
      d, MultiheadAttentionOptions{
             .key_source_dimension = key.shape().back(),
             .value_source_dimension = value.shape().back()});
}

LayerPtr instance_normalization(ByteReader& record, const Tensor& x) {
  const std::int64_t channels = record.size_or(size_at(x, 1));
  InstanceNormalizationOptions options{.uses_parameters = !record.one_in(4)};
  if (record.one_in(2) && channels > 0 && channels < 100) {
    options.mean = Tensor::filled({{channels}}, 0);
    options.variance = Tensor::filled({{channels}}, 1);
    options.momentum = record.real();
  }
  return std::make_shared<layers::InstanceNormalization>(channels, options);
}

LayerPtr layer_normalization(ByteReader& record, const Tensor& x) {
  const Shape& shape = x.shape();
  Shape last;
  for (int axis = 1 + record.below(shape.rank()); axis < shape.rank(); ++axis) {
    last.push_back(record.size_or(shape[axis]));
  }
  return std::make_shared<layers::LayerNormalization>(
      last, LayerNormalizationOptions{.uses_parameters = !record.one_in(4)});
}

LayerPtr embedding(ByteReader& record, std::int64_t count) {
  EmbeddingDescriptor d{.embedding_count = count,
                        .embedding_dimension = record.size(1, 5)};
  if (record.one_in(2)) d.padding_index = record.size(0, count - 1);
  if (record.one_in(2)) d.maximum_norm = record.real();
  if (d.maximum_norm && record.one_in(2)) d.p_norm = record.real();
  d.scales_gradient_by_frequency = record.one_in(2);
  return std::make_shared<layers::Embedding>(d);
}

LayerPtr activation(ByteReader& record) {
  switch (record.below(3)) {
    case 0:
      return std::make_shared<layers::Activation>(
          record.any(ActivationType::GELUTanh, ActivationType::Mish));
    case 1: {
      const std::int64_t count = record.size(1, 6);
      return std::make_shared<layers::PReLU>(count, record.real());
    }
    default:
      return std::make_shared<layers::Padding>(
          PaddingType::Replicate, std::vector<std::int64_t>{record.size(0, 3)});
  }
}

void add_class_loss(ByteReader& record, Graph& graph, const Tensor& x,
                    std::vector<Tensor>& pool) {
  LossDescriptor d{
      .loss_type = record.one_in(2) ? LossType::CategoricalCrossEntropy
                                    : LossType::SoftmaxCrossEntropy,
      .reduction_type = record.any(ReductionType::None, ReductionType::Mean)};
  if (record.one_in(2)) d.ignore_index = record.size(-1, 2);
  if (record.one_in(4)) d.label_smoothing = 0.25f;
  const std::int64_t classes = size_at(x, 1);
  Tensor class_weights;
  if (record.one_in(2)) class_weights = Tensor::filled({{classes}}, 0.5);
  Shape shape{x.shape()[0]};
  for (int axis = 2; axis < x.shape().rank(); ++axis) {
    shape.push_back(x.shape()[axis]);
  }
  const Tensor labels = whole_numbers(record, shape, classes);
  pool.push_back(
      graph.node(std::make_shared<losses::Loss>(d, Tensor(), class_weights), x,
                 {.loss_labels = {labels}}));
}

void add_yolo_loss(ByteReader& record, Graph& graph, const Tensor& x,
                   const Tensor& y, std::vector<Tensor>& pool) {
  YOLOLossDescriptor d;
  for (int i = record.below(3); i >= 0; --i) {
    d.anchor_boxes.push_back({1.0f + static_cast<float>(i), 2});
  }
  d.should_rescore = record.one_in(2);
  if (record.one_in(4)) d.scale_class_loss = record.real();
  pool.push_back(graph.node(std::make_shared<losses::YOLOLoss>(d), x,
                            {.loss_labels = {y}}));
}

}  // namespace

void add_more_layer(ByteReader record, Graph& graph,
                    const std::vector<Tensor>& sources,
                    std::vector<Tensor>& pool) {
  const Tensor &x = sources[0], &y = sources[1], &z = sources[2];
  const auto add = [&](const LayerPtr& layer, std::vector<Tensor> from) {
    const Tensor first = graph.node(layer, std::move(from));
    pool.push_back(first);
    for (const Tensor& result : graph.result_tensors(*layer)) {
      if (!(result == first)) pool.push_back(result);
    }
  };
  const int rank = x.shape().rank();
  switch (record.below(13)) {
    case 0:
      return add(upsample(record), {x});
    case 1:
      return add(std::make_shared<layers::GramMatrix>(record.real()), {x});
    case 2:
      return add(lstm(record, x), {x});
    case 3:
      return add(attention(record, x, y, z), {x, y, z});
    case 4:
      return add(attention(record, x, x, x), {x, x, x});
    case 5:
      return add(instance_normalization(record, x), {x});
    case 6: {
      const std::int64_t channels = record.size_or(size_at(x, 1));
      const std::int64_t groups =
          record.one_in(2) ? channels : record.size(1, 3);
      return add(std::make_shared<layers::GroupNormalization>(channels, groups),
                 {x});
    }
    case 7:
      return add(layer_normalization(record, x), {x});
    case 8: {
      const std::int64_t count = 1 + record.below(9);
      const Tensor indices = whole_numbers(record, {size_at(x, 1)}, count);
      return add(embedding(record, count), {indices});
    }
    case 9: {
      const std::int64_t axis = record.size(-rank, rank - 1);
      const auto at = static_cast<int>(axis < 0 ? axis + rank : axis);
      const std::int64_t bound = at >= 0 ? size_at(x, at) : 1;
      const Tensor indices =
          whole_numbers(record, {1 + record.below(4)}, bound);
      return pool.push_back(graph.gather(axis, x, indices));
    }
    case 10: {
      const std::int64_t axis = record.size(-rank, rank - 1);
      const auto at = static_cast<int>(axis < 0 ? axis + rank : axis);
      const std::int64_t bound = at >= 0 ? size_at(y, at) : 1;
      const Tensor indices = whole_numbers(record, x.shape(), bound);
      return pool.push_back(
          graph.scatter(axis, x, indices, y,
                        record.any(ReductionType::None, ReductionType::Sum)));
    }
    case 11:
      return record.one_in(2) ? add_yolo_loss(record, graph, x, y, pool)
                              : add_class_loss(record, graph, x, pool);
    default:
      return add(activation(record), {x});
  }
}

}  // namespace traingraph::fuzz
