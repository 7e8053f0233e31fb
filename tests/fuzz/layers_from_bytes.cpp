// SPDX-License-Identifier: MIT
// One layer of a random graph. Mostly its parameters fit its sources; which
// byte makes them wrong is up to the fuzzer.
#include <string>

#include "graph_from_bytes.h"

namespace traingraph::fuzz {
namespace {

/// What the record reads: mostly the newest tensor, at times an older one,
/// which makes branches, residuals and tensors that are used twice.
const Tensor& source(ByteReader& record, const std::vector<Tensor>& pool) {
  const std::size_t back = record.byte();
  return back < 128 ? pool.back() : pool[back % pool.size()];
}

std::int64_t size_at(const Tensor& tensor, int axis) {
  return axis < tensor.shape().rank() ? tensor.shape()[axis] : 1;
}

LayerPtr fully_connected(ByteReader& record, const Tensor& x) {
  const std::int64_t in = record.size_or(x.shape().back());
  const std::int64_t out = record.size(1, 6);
  return std::make_shared<layers::FullyConnected>(
      in, out, WeightOptions{.uses_biases = !record.one_in(4)});
}

LayerPtr batch_normalization(ByteReader& record, const Tensor& x) {
  const std::int64_t channels = record.size_or(size_at(x, 1));
  return std::make_shared<layers::BatchNormalization>(
      channels, BatchNormalizationOptions{.momentum = record.real()});
}

LayerPtr convolution(ByteReader& record, const Tensor& x) {
  const std::int64_t in = size_at(x, 1);
  ConvolutionDescriptor d;
  d.convolution_type =
      record.any(ConvolutionType::Standard, ConvolutionType::Depthwise);
  d.kernel_size = {record.size(1, 4), record.size(1, 4)};
  d.input_feature_channel_count = record.size_or(in);
  d.output_feature_channel_count = record.size(1, 6);
  if (record.one_in(3)) {
    d.group_count = in;
    d.output_feature_channel_count = 2 * in;
  }
  if (d.convolution_type == ConvolutionType::Depthwise) {
    d.output_feature_channel_count = (1 + record.below(2)) * in;
  }
  d.strides = {record.size(1, 3), record.size(1, 3)};
  d.padding_policy =
      record.any(PaddingPolicy::Same, PaddingPolicy::UsePaddingSize);
  const int more = record.byte();
  d.dilation_rates = {1 + more % 2, 1 + more / 2 % 3};
  if (d.padding_policy == PaddingPolicy::UsePaddingSize) {
    d.padding_sizes = {more / 8 % 3, more / 32 % 4};
  }
  return std::make_shared<layers::Convolution>(
      d, WeightOptions{.uses_biases = more % 5 != 0});
}

LayerPtr pooling(ByteReader& record) {
  PoolingDescriptor d;
  d.pooling_type = record.any(PoolingType::Max, PoolingType::L2Norm);
  d.kernel_size = {record.size(1, 4), record.size(1, 4)};
  d.strides = {record.size(1, 3), record.size(1, 3)};
  d.dilation_rates = {record.size(1, 2), 1};
  d.padding_policy =
      record.any(PaddingPolicy::Same, PaddingPolicy::UsePaddingSize);
  const Pair sizes{record.size(0, 2), record.size(0, 2)};
  if (d.padding_policy == PaddingPolicy::UsePaddingSize) {
    d.padding_sizes = sizes;
  }
  d.count_includes_padding =
      record.one_in(2) && d.pooling_type == PoolingType::Average;
  return std::make_shared<layers::Pooling>(d);
}

LayerPtr activation(ByteReader& record) {
  const auto type = record.any(ActivationType::None, ActivationType::Clamp);
  float a = 0;
  switch (record.below(4)) {
    case 0:
      return std::make_shared<layers::Activation>(type);
    case 1:
      a = record.real();
      return std::make_shared<layers::Activation>(
          record.one_in(2) ? ActivationDescriptor(type, a)
                           : ActivationDescriptor(type, a, record.real()));
    case 2:
      return std::make_shared<layers::GELU>(record.one_in(2));
    default:
      return std::make_shared<layers::ReLU>();
  }
}

LayerPtr padding(ByteReader& record) {
  const auto type = record.any(PaddingType::Zero, PaddingType::Constant);
  std::vector<std::int64_t> sizes(record.below(5));
  for (std::int64_t& size : sizes) size = record.size(0, 3);
  const float value = record.real();
  return std::make_shared<layers::Padding>(
      type, sizes, type == PaddingType::Constant ? value : 0);
}

/// Mostly of as many elements as `x`.
Shape new_shape(ByteReader& record, const Tensor& x) {
  const std::int64_t batch = size_at(x, 0), last = x.shape().back();
  switch (record.below(8)) {
    case 0:
      return {batch, -1};
    case 1:
      return {batch, -1, 1, 1};
    case 2:
      return {batch, last, -1};
    case 3:
      return {-1, last};
    case 4:
      return {batch, 1, -1, last};
    case 5:
      return {batch, record.size(1, 6), -1};
    case 6:
      return {-1};
    default:
      return {record.size(-1, 4), record.size(-1, 4), record.size(-1, 4)};
  }
}

Shape permutation(ByteReader& record, int rank) {
  Shape result;
  for (int i = 0; i < rank; ++i) result.push_back(i);
  for (int i = 1; i < rank; ++i) {
    std::swap(result[i], result[record.below(i + 1)]);
  }
  if (record.one_in(8)) result[0] = record.size(-1, rank);
  return result;
}

LayerPtr slice(ByteReader& record, const Shape& shape) {
  Shape start, end, stride;
  for (const std::int64_t size : shape) {
    const std::int64_t from = record.size(0, size);
    start.push_back(from);
    end.push_back(record.size_or(size));
    stride.push_back(1);
  }
  stride[0] = record.one_in(2) ? record.size(1, 3) : 1;
  start[0] = record.one_in(4) ? start[0] : 0;
  return std::make_shared<layers::Slice>(start, end, stride);
}

Shape axes(ByteReader& record, int rank) {
  Shape result;
  for (int i = record.below(3); i > 0; --i) {
    result.push_back(record.size(-rank, rank - 1));
  }
  return result;
}

void add_loss(ByteReader& record, Graph& graph, const Tensor& x,
              const Tensor& y, std::vector<Tensor>& pool, TensorMap& labels) {
  const LossDescriptor d{
      .loss_type = record.any(LossType::MeanAbsoluteError,
                              LossType::KullbackLeiblerDivergence),
      .reduction_type = record.any(ReductionType::None, ReductionType::Mean)};
  const auto layer = std::make_shared<losses::Loss>(d);
  if (record.one_in(2)) {
    return pool.push_back(graph.node(layer, x, {.loss_labels = {y}}));
  }
  const std::string name = "label" + std::to_string(labels.size());
  const Tensor label({x.shape()}, name);
  pool.push_back(graph.node(layer, x, {.loss_labels = {label}}));
  labels.emplace(name, label);
}

/// A layer that the graph has already, once more: shared parameters.
void add_again(ByteReader& record, Graph& graph, const Tensor& x,
               std::vector<Tensor>& pool) {
  const auto layers = graph.layers();
  if (layers.empty()) return;
  const int choice = record.below(static_cast<int>(layers.size()));
  pool.push_back(graph.node(layers[choice], x));
}

/// Any op of the table by itself, with the attributes that it has by default.
void add_op(ByteReader& record, Graph& graph, const Tensor& x,
            std::vector<Tensor>& pool) {
  const auto ops = op_infos();
  const OpInfo& op = ops[record.below(static_cast<int>(ops.size()))];
  std::vector<Tensor> inputs;
  for (const OpInput& input : op.inputs) {
    if (input.is_optional && record.one_in(2)) {
      inputs.emplace_back();
    } else if (input.is_mutated) {
      inputs.push_back(Tensor({x.shape()}, "variable"));
    } else {
      inputs.push_back(source(record, pool));
    }
  }
  const auto results = graph.op(op.kind, op.default_attributes, inputs);
  pool.insert(pool.end(), results.begin(), results.end());
}

}  // namespace

// Arguments of a call are evaluated in any order: no call reads twice.
void add_layer(ByteReader record, Graph& graph, std::vector<Tensor>& pool,
               TensorMap& labels) {
  // Kinds that came later have numbers of their own: what older inputs mean
  // stays as it was for most of them.
  constexpr int kFirstOfMore = 189;
  const int kind = record.byte();
  const Tensor x = source(record, pool);
  const Tensor y = source(record, pool);
  if (kind >= kFirstOfMore) {
    const Tensor z = source(record, pool);
    return add_more_layer(record, graph, {x, y, z}, pool);
  }
  const int rank = x.shape().rank();
  const NodeOptions options{.disable_update = record.one_in(16)};
  const auto add = [&](LayerPtr layer, std::vector<Tensor> sources) {
    pool.push_back(graph.node(std::move(layer), std::move(sources), options));
  };
  switch (kind % 21) {
    case 0:
      return add(fully_connected(record, x), {x});
    case 1:
    case 2:
      return add(convolution(record, x), {x});
    case 3:
      return add(pooling(record), {x});
    case 4:
      return add(batch_normalization(record, x), {x});
    case 5:
      return add(activation(record), {x});
    case 6: {
      const auto operation =
          record.any(ArithmeticOperation::Add, ArithmeticOperation::Max);
      return add(std::make_shared<layers::Arithmetic>(operation),
                 is_unary(operation) ? std::vector{x} : std::vector{x, y});
    }
    case 7:
      return add(std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
                 {x, y});
    case 8:
      return add(
          std::make_shared<layers::Comparison>(record.any(
              ComparisonOperation::Equal, ComparisonOperation::LogicalXOR)),
          {x, y});
    case 9: {
      const auto less =
          std::make_shared<layers::Comparison>(ComparisonOperation::Less);
      const Tensor condition = graph.node(less, {x, y});
      return add(std::make_shared<layers::Selection>(), {condition, x, y});
    }
    case 10: {
      const MatMulDescriptor d{record.real(), record.one_in(2),
                               record.one_in(2)};
      return add(std::make_shared<layers::MatMul>(d), {x, y});
    }
    case 11: {
      const std::int64_t axis = record.size(-rank, rank - 1);
      return add(std::make_shared<layers::Softmax>(
                     record.any(SoftmaxOperation::Softmax,
                                SoftmaxOperation::LogSoftmax),
                     axis),
                 {x});
    }
    case 12: {
      const Shape dimensions = axes(record, rank);
      return add(
          std::make_shared<layers::Reduction>(
              record.any(ReductionType::None, ReductionType::All), dimensions),
          {x});
    }
    case 13:
      return add(std::make_shared<layers::Dropout>(record.real()), {x});
    case 14:
      return add(padding(record), {x});
    case 15:
      return pool.push_back(graph.reshape(new_shape(record, x), x));
    case 16:
      return pool.push_back(graph.transpose(permutation(record, rank), x));
    case 17: {
      std::vector<Tensor> sources{x, y};
      if (record.one_in(3)) sources.push_back(source(record, pool));
      const std::int64_t axis = record.size(-rank, rank - 1);
      return pool.push_back(graph.concatenate(std::move(sources), axis));
    }
    case 18: {
      const std::int64_t count = record.size(1, 4);
      const auto parts = graph.split(x, count, record.size(1, 3));
      pool.insert(pool.end(), parts.begin(), parts.end());
      return;
    }
    case 19:
      return add(slice(record, x.shape()), {x});
    default:
      if (record.one_in(2)) return add_loss(record, graph, x, y, pool, labels);
      return record.one_in(2) ? add_op(record, graph, x, pool)
                              : add_again(record, graph, x, pool);
  }
}

}  // namespace traingraph::fuzz
