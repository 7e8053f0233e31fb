// SPDX-License-Identifier: MIT
#include "graph_from_bytes.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace traingraph::fuzz {
namespace {

// What larger tensors compute is left to the layers' own tests.
constexpr std::int64_t kMaxElements = 1024;
constexpr std::size_t kMaxLayers = 12;
constexpr std::size_t kRecord = 12;

std::vector<float> values(const Shape& shape) {
  std::vector<float> result(shape.num_elements());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<float>(i * 7 % 11) * 0.25f - 1;
  }
  return result;
}

bool reads(const Graph& graph, const Tensor& tensor) {
  for (const LayerPtr& layer : graph.layers()) {
    for (const Tensor& source : graph.source_tensors(*layer)) {
      if (source == tensor) return true;
    }
  }
  return false;
}

}  // namespace

RandomGraph::RandomGraph(std::span<const std::uint8_t> bytes) {
  Platform::set_rng_seed(7);
  ByteReader reader(bytes);
  choose_options(reader.take(kRecord));
  choose_optimizer(reader.take(kRecord));
  const ByteReader loss_record = reader.take(kRecord);
  const ByteReader outputs_record = reader.take(kRecord);
  ByteReader sources = reader.take(2 * kRecord);
  num_sources_ = 1 + sources.below(3);
  for (int i = 0; i < num_sources_; ++i) add_source(sources.take(7));
  add_layers(reader);
  choose_loss(loss_record);
  declare(outputs_record);
}

void RandomGraph::choose_options(ByteReader record) {
  batch = 1 + record.below(4);
  smaller_batch = 1 + record.below(static_cast<int>(batch));
  trains = !record.one_in(8);
  options.debug_layers = record.one_in(8);
  options.disable_layer_fusion = record.one_in(4);
  options.link_graphs = record.one_in(8);
  options.compute_all_gradients = record.one_in(4);
  options.poison_memory = record.one_in(2);
}

void RandomGraph::choose_optimizer(ByteReader record) {
  const int choice = record.below(8);
  OptimizerDescriptor descriptor{.learning_rate = 0.01f};
  descriptor.applies_gradient_clipping = record.one_in(3);
  descriptor.gradient_clipping_type = record.any(
      GradientClippingType::ByValue, GradientClippingType::ByGlobalNorm);
  descriptor.regularization_type =
      record.any(RegularizationType::None, RegularizationType::L2);
  descriptor.regularization_scale = record.one_in(8) ? record.real() : 0.1f;
  descriptor.gradient_rescale = record.one_in(8) ? record.real() : 1;
  if (record.one_in(8)) descriptor.learning_rate = record.real();
  if (record.one_in(8)) descriptor.custom_global_norm = record.real();
  const float a = record.one_in(8) ? record.real() : record.below(4) * 0.3f;
  // What would have no effect is refused; few records are for that.
  if (!record.one_in(8)) {
    const bool is_global =
        descriptor.gradient_clipping_type == GradientClippingType::ByGlobalNorm;
    if (!is_global) descriptor.custom_global_norm = 0;
    if (choice == 5) {
      descriptor.regularization_type = RegularizationType::None;
    } else if (descriptor.regularization_type == RegularizationType::None) {
      descriptor.regularization_scale = 0;
    }
  }
  switch (choice) {
    case 0:
      optimizer = std::make_shared<optimizers::SGD>(descriptor);
      return;
    case 1:
      optimizer = std::make_shared<optimizers::SGD>(descriptor, a);
      return;
    case 2:
      optimizer = std::make_shared<optimizers::SGD>(descriptor, a, a > 0);
      return;
    case 3:
      optimizer = std::make_shared<optimizers::Adam>(descriptor, a);
      return;
    case 4:
      optimizer =
          std::make_shared<optimizers::Adam>(descriptor, 0.9f, a, 1e-8f, true);
      return;
    case 5:
      optimizer = std::make_shared<optimizers::AdamW>(descriptor, a);
      return;
    case 6:
      optimizer = std::make_shared<optimizers::RMSProp>(descriptor, a, 0.99f,
                                                        1e-8f, a < 0.5f);
      return;
    default:
      return;  // none
  }
}

void RandomGraph::add_source(ByteReader record) {
  const int kind = record.below(8);
  const int rank = 4 - record.below(4);
  Shape shape{batch};
  for (int i = 1; i < rank; ++i) shape.push_back(1 + record.below(6));
  const std::string name = "x" + std::to_string(pool_.size());
  if (kind == 6) {  // brings its data
    shape[0] = 1;
    const Tensor tensor({shape}, TensorData(values(shape)), name);
    if (record.one_in(2)) trained_inputs.emplace_back(tensor);
    if (record.one_in(2)) constants.emplace(name, tensor);
    pool_.push_back(tensor);
    return;
  }
  const auto type = kind == 7 ? record.any(DataType::Float32, DataType::UInt8)
                              : DataType::Float32;
  inputs.emplace(name, Tensor({shape, type}, name));
  pool_.push_back(inputs.at(name));
}

void RandomGraph::add_layers(ByteReader reader) {
  for (std::size_t i = 0; i < kMaxLayers && !reader.is_empty(); ++i) {
    const std::size_t size = pool_.size();
    try {
      add_layer(reader.take(kRecord), graph, pool_, labels);
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {
      continue;
    }
    const auto is_large = [](const Tensor& tensor) {
      return tensor.shape().num_elements() > kMaxElements;
    };
    pool_.erase(std::remove_if(pool_.begin() + size, pool_.end(), is_large),
                pool_.end());
  }
}

void RandomGraph::choose_loss(ByteReader record) {
  if (!trains || record.one_in(8)) return;
  LossDescriptor descriptor;
  descriptor.loss_type = record.any(LossType::MeanAbsoluteError,
                                    LossType::KullbackLeiblerDivergence);
  descriptor.reduction_type =
      record.one_in(8) ? ReductionType::Sum : ReductionType::Mean;
  if (record.one_in(8)) descriptor.weight = record.real();
  if (record.one_in(8)) descriptor.label_smoothing = record.real();
  if (record.one_in(8)) descriptor.class_count = record.size(1, 4);
  if (record.one_in(8)) descriptor.delta = record.real();
  const bool has_classes =
      descriptor.loss_type == LossType::SoftmaxCrossEntropy ||
      descriptor.loss_type == LossType::CategoricalCrossEntropy;
  if (!has_classes) {
    descriptor.label_smoothing = 0;
    descriptor.class_count = 1;
  }
  if (descriptor.loss_type != LossType::Huber) descriptor.delta = 1;
  loss = std::make_shared<losses::Loss>(descriptor);
  // It applies to the last result, which need not be the last in the pool.
  const auto layers = graph.layers();
  if (layers.empty()) return;
  const auto results = graph.result_tensors(*layers.back());
  Shape shape = results.empty() ? Shape{batch} : results.back().shape();
  if (record.one_in(16)) shape[0] += 1;
  labels.emplace("label", Tensor({shape}, "label"));
}

void RandomGraph::declare(ByteReader record) {
  const bool declares_all = record.one_in(16);
  std::erase_if(inputs, [&](const auto& input) {
    return !declares_all && !reads(graph, input.second);
  });
  std::erase_if(constants, [&](const auto& constant) {
    return !declares_all && !reads(graph, constant.second);
  });
  std::erase_if(trained_inputs, [&](const TensorParameter& parameter) {
    return !declares_all && !reads(graph, parameter.tensor());
  });
  // Sources are no outputs, and are refused.
  if (!declares_all && std::ssize(pool_) > num_sources_) {
    pool_.erase(pool_.begin(), pool_.begin() + num_sources_);
  }
  outputs.emplace("last", pool_.back());
  const int num_pool = static_cast<int>(pool_.size());
  for (int i = record.below(3); i > 0; --i) {
    const int choice = record.below(num_pool);
    outputs.emplace("y" + std::to_string(choice), pool_[choice]);
  }
  if (trains && record.one_in(4)) {
    stopped.push_back(pool_[record.below(num_pool)]);
  }
}

}  // namespace traingraph::fuzz
