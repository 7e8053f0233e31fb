// SPDX-License-Identifier: MIT
// Neurons. Those whose slope at a corner is not that of the activation op have
// a gradient of their own.
#include <cmath>
#include <utility>

#include "layers/validate.h"
#include "nodes/filter_builder.h"
#include "traingraph/enum_table.h"
#include "traingraph/nodes/filters.h"

namespace traingraph::nodes {
namespace {

using Function = ValueId (*)(FilterBuilder&, ValueId, const NeuronDescriptor&);

template <ActivationType kType>
ValueId as_activation(FilterBuilder& b, ValueId x, const NeuronDescriptor& d) {
  return b.activation(kType, x, d.a, d.b);
}

/// a ln(1 + e^(b x)), for any b.
ValueId soft_plus(FilterBuilder& b, ValueId x, const NeuronDescriptor& d) {
  const ValueId bx = b.linear(x, d.b);
  return b.linear(b.activation(ActivationType::SoftPlus, bx, 1, 1), d.a);
}

ValueId power(FilterBuilder& b, ValueId x, const NeuronDescriptor& d) {
  return b.binary(ArithmeticOperation::Pow, b.linear(x, d.a, d.b),
                  b.constant(d.c));
}

/// ln c, where c = -1 stands for e.
float log_of_base(float c) { return c == -1 ? 1 : std::log(c); }

ValueId exponential(FilterBuilder& b, ValueId x, const NeuronDescriptor& d) {
  const float ln_c = log_of_base(d.c);
  return b.unary(ArithmeticOperation::Exp, b.linear(x, d.a * ln_c, d.b * ln_c));
}

ValueId logarithm(FilterBuilder& b, ValueId x, const NeuronDescriptor& d) {
  const ValueId ln = b.unary(ArithmeticOperation::Log, b.linear(x, d.a, d.b));
  return b.linear(ln, 1 / log_of_base(d.c));
}

ValueId prelu_slopes(FilterBuilder& b, const NeuronDescriptor& d) {
  std::vector<ValueId> slopes;
  for (const float a : d.prelu_data) slopes.push_back(b.constant(a));
  return slopes.size() == 1
             ? slopes.front()
             : b.append(OpKind::Concatenate, AxisAttrs{1}, slopes);
}

ValueId compare(FilterBuilder& b, ComparisonOperation operation, ValueId x,
                ValueId y) {
  return b.append(OpKind::Compare, CompareAttrs{operation}, {x, y});
}

ValueId prelu(FilterBuilder& b, ValueId x, const NeuronDescriptor& d) {
  const ValueId scaled =
      b.binary(ArithmeticOperation::Multiply, x, prelu_slopes(b, d));
  const ValueId is_negative =
      compare(b, ComparisonOperation::Less, x, b.constant(0));
  return b.append(OpKind::Select, NoAttrs{}, {is_negative, scaled, x});
}

/// a where 0 <= a x + b <= 1, ends included.
ValueId hard_sigmoid_gradient(FilterBuilder& b, ValueId x, ValueId gradient,
                              const NeuronDescriptor& d) {
  const ValueId y = b.linear(x, d.a, d.b);
  const ValueId is_inside =
      compare(b, ComparisonOperation::Equal, y,
              b.activation(ActivationType::Clamp, y, 0, 1));
  return b.append(OpKind::Select, NoAttrs{},
                  {is_inside, b.linear(gradient, d.a), b.constant(0)});
}

struct NeuronRow {
  NeuronType value;
  Function function;
  int num_parameters;
  /// Is the slope 1 at 0, where that of the op is another one?
  bool has_corner = false;
};

constexpr NeuronRow kNeurons[] = {
    {NeuronType::None, as_activation<ActivationType::None>, 0},
    {NeuronType::ReLU, as_activation<ActivationType::ReLU>, 1, true},
    {NeuronType::Linear, as_activation<ActivationType::Linear>, 2},
    {NeuronType::Sigmoid, as_activation<ActivationType::Sigmoid>, 0},
    {NeuronType::HardSigmoid, as_activation<ActivationType::HardSigmoid>, 2},
    {NeuronType::TanH, as_activation<ActivationType::Tanh>, 2},
    {NeuronType::Absolute, as_activation<ActivationType::Absolute>, 0},
    {NeuronType::SoftPlus, soft_plus, 2},
    {NeuronType::SoftSign, as_activation<ActivationType::SoftSign>, 0},
    {NeuronType::ELU, as_activation<ActivationType::ELU>, 1, true},
    {NeuronType::PReLU, prelu, 0},
    {NeuronType::ReLUN, as_activation<ActivationType::ReLUN>, 2, true},
    {NeuronType::Power, power, 3},
    {NeuronType::Exponential, exponential, 3},
    {NeuronType::Logarithm, logarithm, 3},
    {NeuronType::GeLU, as_activation<ActivationType::GELU>, 0},
};
static_assert(has_all_cases<NeuronType>(kNeurons),
              "one row per neuron, in the order of enums.inc");

void validate(const NeuronDescriptor& d, const char* op, int num_parameters) {
  const std::string of = "a neuron of type " + std::string(to_string(d.type));
  const float values[] = {d.a, d.b, d.c};
  constexpr const char* kNames[] = {"a", "b", "c"};
  for (int i = 0; i < 3; ++i) {
    require_finite(op, kNames[i], values[i]);
    if (i >= num_parameters) require_unused(op, kNames[i], values[i], 0.0f, of);
  }
  const bool has_base =
      d.type == NeuronType::Exponential || d.type == NeuronType::Logarithm;
  require_option(!has_base || d.c == -1 || (d.c > 0 && d.c != 1), op, "c",
                 "a base above 0 other than 1, or -1 for e", format_value(d.c));
}

class NeuronState : public FilterState {
 public:
  NeuronState(const char* class_name, const ImageNode& source,
              const NeuronDescriptor& descriptor)
      : FilterState(class_name, {source}), descriptor_(descriptor) {
    const char* op = this->class_name.c_str();
    require_option(to_string(descriptor_.type) != "?", op, "type",
                   "a case of NeuronType",
                   std::to_string(static_cast<int>(descriptor_.type)));
    validate(descriptor_, op, row().num_parameters);
    const bool is_prelu = descriptor_.type == NeuronType::PReLU;
    const std::int64_t slopes = is_prelu ? source.size().feature_channels : 0;
    const auto given = static_cast<std::int64_t>(descriptor_.prelu_data.size());
    require_option(given == slopes, op, "prelu_data",
                   std::to_string(slopes) + " slopes", std::to_string(given));
  }
  const NeuronDescriptor& descriptor() const { return descriptor_; }

  FilterAttributes attributes(const NodeProgram&) const override {
    return NeuronFilter{descriptor_};
  }
  ValueId lower(FilterBuilder& b) const override {
    return row().function(b, b.source(), descriptor_);
  }

  ValueId lower_gradient(FilterBuilder& b, const FilterState& of, int index,
                         ValueId gradient) const override {
    const ValueId x = b.nodes().lowered(of).sources.front();
    if (descriptor_.type == NeuronType::HardSigmoid) {
      return hard_sigmoid_gradient(b, x, gradient, descriptor_);
    }
    const ValueId slope_times_gradient =
        FilterState::lower_gradient(b, of, index, gradient);
    const bool is_cut =
        descriptor_.type == NeuronType::ReLUN && descriptor_.b <= 0;
    if (!row().has_corner || is_cut) return slope_times_gradient;
    const ValueId is_corner =
        compare(b, ComparisonOperation::Equal, x, b.constant(0));
    return b.append(OpKind::Select, NoAttrs{},
                    {is_corner, gradient, slope_times_gradient});
  }

 private:
  const NeuronRow& row() const {
    return kNeurons[static_cast<int>(descriptor_.type)];
  }
  NeuronDescriptor descriptor_;
};

}  // namespace

NeuronNode::NeuronNode(const ImageNode& source,
                       const NeuronDescriptor& descriptor)
    : NeuronNode("NeuronNode", source, descriptor) {}

NeuronNode::NeuronNode(const char* class_name, const ImageNode& source,
                       const NeuronDescriptor& descriptor)
    : FilterNode(make_filter<NeuronState>(class_name, source, descriptor)) {}

NeuronDescriptor NeuronNode::descriptor() const {
  return static_cast<const NeuronState&>(*state()).descriptor();
}

}  // namespace traingraph::nodes
