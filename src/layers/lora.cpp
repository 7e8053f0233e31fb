// SPDX-License-Identifier: MIT
#include "traingraph/layers/lora.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/stored_floats.h"
#include "layers/names.h"
#include "layers/rows.h"
#include "layers/validate.h"

namespace traingraph::layers {
namespace {

constexpr const char* kLoRA = "LoRA";

/// A matrix product that adds nothing.
ValueId product(LayerBuilder& builder, ValueId x, ValueId weights,
                float alpha = 1) {
  return builder.append(OpKind::MatMul,
                        MatMulAttrs{.alpha = alpha, .transposes_y = true},
                        {x, weights});
}

std::vector<float> floats_of(const Tensor& tensor) {
  return upcast(tensor.data(), tensor.data_type());
}

}  // namespace

LoRA::LoRA(std::shared_ptr<FullyConnected> base, std::int64_t rank, float alpha)
    : Layer("Lora"), base_(std::move(base)), alpha_(alpha) {
  require_option(base_ != nullptr, kLoRA, "base", "a FullyConnected layer",
                 "none");
  const DataType type = base_->weights().data_type();  // it is built
  const ConvolutionDescriptor sizes = base_->descriptor();
  const std::int64_t in = sizes.input_feature_channel_count;
  const std::int64_t out = sizes.output_feature_channel_count;
  require_option(rank >= 1 && rank <= std::min(in, out), kLoRA, "rank",
                 "1 to " + std::to_string(std::min(in, out)),
                 std::to_string(rank));
  require_finite(kLoRA, "alpha", alpha);
  set_name(LayerNames::own_name(*base_));
  down_ = TensorParameter(created(kLoRA, "down", [&] {
    return Tensor::random(TensorDescriptor{{rank, in}, type},
                          RandomInitializerType::HeUniform, in, 0, {}, 0,
                          1 / std::sqrt(6.0F));
  }));
  up_ = TensorParameter(created(kLoRA, "up", [&] {
    return Tensor::filled(TensorDescriptor{{out, rank}, type}, 0);
  }));
  name_tensor(down_.tensor(), "down");
  name_tensor(up_.tensor(), "up");
  name_tensor(base_->weights(), "weights");
  if (base_->biases()) name_tensor(base_->biases(), "biases");
  for (TensorParameter parameter : base_->parameters()) {
    parameter.set_updatable(false);
  }
}

std::vector<TensorParameter> LoRA::parameters() const {
  std::vector<TensorParameter> all{down_, up_};
  for (const TensorParameter& parameter : base_->parameters()) {
    all.push_back(parameter);
  }
  return all;
}

bool LoRA::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::MatMul, data_type, device);
}

void LoRA::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ConvolutionDescriptor sizes = base_->descriptor();
  const std::int64_t in = sizes.input_feature_channel_count;
  const std::int64_t out = sizes.output_feature_channel_count;
  const Rows rows(builder, in);
  std::vector<ValueId> operands{
      rows.value(), builder.variable(base_->weights(), {out, in}, "weights")};
  if (base_->biases()) {
    operands.push_back(builder.variable(base_->biases(), {out}, "biases"));
  }
  const ValueId frozen = builder.append(
      OpKind::MatMul, MatMulAttrs{.transposes_y = true}, std::move(operands));
  const ValueId few =
      product(builder, rows.value(),
              builder.variable(down_.tensor(), {rank(), in}, "down"));
  const ValueId learned =
      product(builder, few, builder.variable(up_.tensor(), {out, rank()}, "up"),
              alpha_ / static_cast<float>(rank()));
  const ValueId y = builder.append(
      OpKind::Binary, ArithmeticAttrs{.operation = ArithmeticOperation::Add},
      {frozen, learned});
  builder.add_result(rows.restore(builder, y, out));
}

std::shared_ptr<FullyConnected> LoRA::merged() const {
  const std::vector<float> down = floats_of(down_.tensor());
  const std::vector<float> up = floats_of(up_.tensor());
  std::vector<float> weights = floats_of(base_->weights());
  const auto rank = static_cast<std::size_t>(this->rank());
  const std::size_t in = down.size() / rank;
  const std::size_t out = up.size() / rank;
  for (std::size_t row = 0; row < out; ++row) {
    for (std::size_t column = 0; column < in; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k < rank; ++k) {
        sum += static_cast<double>(up[row * rank + k]) * down[k * in + column];
      }
      float& weight = weights[row * in + column];
      weight = static_cast<float>(weight + sum * alpha_ / this->rank());
    }
  }
  const TensorDescriptor desc = base_->weights().descriptor();
  std::vector<std::byte> stored(desc.size_bytes());
  store_floats(weights, desc.data_type, stored, "merged", name());
  Tensor biases;
  if (base_->biases()) {
    const std::span<const std::byte> bytes = base_->biases().data();
    biases = Tensor(base_->biases().descriptor(),
                    TensorData(bytes.data(), bytes.size()));
  }
  auto layer = std::make_shared<FullyConnected>(
      base_->descriptor(),
      WeightOptions{
          .weights = Tensor(desc, TensorData(stored.data(), stored.size())),
          .biases = biases,
          .uses_biases = static_cast<bool>(biases)});
  layer->set_name(LayerNames::own_name(*base_));
  return layer;
}

}  // namespace traingraph::layers
