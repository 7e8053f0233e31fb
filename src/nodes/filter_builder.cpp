// SPDX-License-Identifier: MIT
#include "nodes/filter_builder.h"

#include <algorithm>

#include "graph/op_def.h"
#include "layers/layer_builder.h"

namespace traingraph::nodes {
namespace {

/// What profiles and reports know of a filter.
class FilterLayer : public Layer {
 public:
  explicit FilterLayer(const std::string& class_name) : Layer(class_name) {}
  void lower(LayerBuilder&) const override {}  // its ops are there already
};

}  // namespace

ValueId NodeProgram::value(const ImageState& image) {
  const auto known = value_of_.find(&image);
  if (known != value_of_.end()) return known->second;
  const auto& [channels, height, width] = image.size;
  const TensorDescriptor desc{{batch_, channels, height, width}};
  inputs_.push_back(&image);
  const ValueId value =
      graph_.state()->value(Tensor(desc, image.handle), Role::Input);
  value_of_.emplace(&image, value);
  return value;
}

void NodeProgram::set_value(const ImageState& image, ValueId value) {
  value_of_[&image] = value;
}

int NodeProgram::layer_of(const FilterState& filter, const std::string& name) {
  if (filter.forward() != nullptr) return layers_.at(filter.forward());
  GraphState& state = *graph_.state();
  const auto layer = static_cast<int>(state.records.size());
  LayerRecord record;
  record.layer = std::make_shared<FilterLayer>(filter.class_name);
  record.name = name;
  state.add_record(std::move(record));
  return layers_.emplace(&filter, layer).first->second;
}

void NodeProgram::add(const FilterState& filter, const std::string& name) {
  LoweredFilter& lowered = lowered_[&filter];
  Program::Position& position = program().position;
  lowered.index = static_cast<int>(filters_.filters.size());
  position = {.phase = Phase::Forward,
              .layer = layer_of(filter, name),
              .name = name,
              .filter = lowered.index};
  for (const ImageNode& source : filter.sources) {
    const ValueId read = value(*source.state());
    const NodeId producer = program().value(read).producer;
    if (producer >= 0) {
      position.phase = std::max(position.phase, program().node(producer).phase);
    }
    lowered.sources.push_back(read);
  }
  const std::vector<ValueId> images = lowered.sources;
  FilterBuilder builder(*this, filter, name, lowered);
  // Two sources that are one image have gradients of their own.
  for (std::size_t i = 1; i < lowered.sources.size(); ++i) {
    ValueId& source = lowered.sources[i];
    const auto begin = lowered.sources.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(i);
    if (std::find(begin, end, source) == end) continue;
    source = builder.reshape(source, program().shape(source));
  }
  lowered.first = static_cast<NodeId>(program().nodes().size());
  lowered.result = filter.lower(builder);
  if (program().value(lowered.result).role != Role::Result) {
    // An image of its own, so that it can be a result of the graph.
    lowered.result =
        builder.reshape(lowered.result, program().shape(lowered.result));
  }
  lowered.end = static_cast<NodeId>(program().nodes().size());
  set_value(filter.result, lowered.result);
  const ImageState* const loss = filter.loss_image();
  filters_.filters.push_back(
      {.attrs = filter.attributes(*this),
       .class_name = filter.class_name,
       .label = name,
       .sources = images,
       .result = lowered.result,
       .loss = loss == nullptr ? kNoValue : value(*loss),
       .parameters = lowered.variables,
       .parameter_gradients = lowered.parameter_gradients});
}

void NodeProgram::name_filters() {
  program().filters = std::make_shared<const ImageFilters>(std::move(filters_));
}

Tensor NodeProgram::parameter(const void* data_source, const std::string& role,
                              const Shape& shape, const std::string& name) {
  Tensor& tensor = parameters_[{data_source, role}];
  if (!tensor) tensor = Tensor({shape}, name + "." + role, std::nullopt);
  return tensor;
}

Tensor NodeProgram::find_parameter(const void* data_source,
                                   const std::string& role) const {
  const auto found = parameters_.find({data_source, role});
  return found == parameters_.end() ? Tensor() : found->second;
}

Tensor NodeProgram::tensor(ValueId value, const std::string& name) {
  const traingraph::GraphState& state = *graph_.state();
  const TensorIndex index = state.program.value(value).tensor;
  if (index != kNoTensor) return state.tensors[index];
  return graph_.state()->result_tensor(value, name);
}

ValueId FilterBuilder::append(OpKind op, const Attributes& attrs,
                              std::vector<ValueId> inputs) {
  return nodes_.program().append_one(op, attrs, std::move(inputs), name_);
}

ValueId FilterBuilder::layer(const Layer& layer, std::vector<ValueId> sources) {
  LayerBuilder builder(*nodes_.graph().state(), layer, name_,
                       std::move(sources));
  layer.lower(builder);
  return builder.results().front();
}

ValueId FilterBuilder::parameter(const void* data_source, const char* role,
                                 const Shape& shape) {
  const Tensor tensor = nodes_.parameter(data_source, role, shape, name_);
  const ValueId value = nodes_.graph().state()->value(tensor, Role::Variable);
  lowered_.parameters.emplace_back(role, value);
  lowered_.variables.emplace_back(role, value);
  return value;
}

ValueId FilterBuilder::statistic(const void* data_source, const char* role,
                                 const Shape& shape) {
  const ValueId value = parameter(data_source, role, shape);
  lowered_.parameters.pop_back();
  return value;
}

void FilterBuilder::add_parameter_gradients(
    const FilterState& of, const std::vector<ValueId>& gradients) {
  const auto& parameters = nodes_.lowered(of).parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    lowered_.parameter_gradients.emplace_back(parameters[i].first,
                                              gradients[i + 1]);
  }
}

ValueId FilterBuilder::random_state() {
  return nodes_.graph().state()->supplied_random_state();
}

std::int64_t FilterBuilder::next_random_stream() {
  return nodes_.graph().state()->next_random_stream();
}

ValueId FilterBuilder::binary(ArithmeticOperation operation, ValueId x,
                              ValueId y) {
  return append(OpKind::Binary, ArithmeticAttrs{operation}, {x, y});
}

ValueId FilterBuilder::unary(ArithmeticOperation operation, ValueId x) {
  return append(OpKind::Unary, ArithmeticAttrs{operation}, {x});
}

ValueId FilterBuilder::activation(ActivationType type, ValueId x, float a,
                                  float b) {
  return append(OpKind::Activation,
                ActivationAttrs{.type = type, .a = a, .b = b}, {x});
}

ValueId FilterBuilder::linear(ValueId x, float scale, float shift) {
  if (scale == 1 && shift == 0) return x;
  return activation(ActivationType::Linear, x, scale, shift);
}

ValueId FilterBuilder::constant(float value) {
  return append(OpKind::Fill, FillAttrs{.shape = {1, 1, 1, 1}, .value = value},
                {});
}

ValueId FilterBuilder::zeros_like(ValueId x) {
  const FillAttrs zero{.shape = Shape::filled(shape(x).rank(), 1), .value = 0};
  return binary(ArithmeticOperation::MultiplyNoNaN, x,
                append(OpKind::Fill, zero, {}));
}

ValueId FilterBuilder::reshape(ValueId x, Shape shape) {
  return append(OpKind::Reshape, ShapeAttrs{shape}, {x});
}

ValueId FilterBuilder::transpose(ValueId x, Shape axes) {
  return append(OpKind::Transpose, TransposeAttrs{axes}, {x});
}

}  // namespace traingraph::nodes
