// SPDX-License-Identifier: MIT
#include "traingraph/layers/elementwise.h"

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {

Arithmetic::Arithmetic(ArithmeticOperation operation)
    : Layer("Arithmetic"), operation_(operation) {
  require_option(to_string(operation) != "?", "Arithmetic", "operation",
                 "a case of ArithmeticOperation",
                 std::to_string(static_cast<int>(operation)));
}

bool Arithmetic::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Unary, data_type, device);
}

void Arithmetic::lower(LayerBuilder& builder) const {
  const ArithmeticAttrs attrs{.operation = operation_};
  if (is_unary(operation_)) {
    builder.require_sources(1, 1);
    return builder.add_result(
        builder.append(OpKind::Unary, attrs, {builder.source(0)}));
  }
  builder.require_sources(2, 2);
  builder.add_result(builder.append(OpKind::Binary, attrs,
                                    {builder.source(0), builder.source(1)}));
}

Comparison::Comparison(ComparisonOperation operation)
    : Layer("Comparison"), operation_(operation) {
  require_option(to_string(operation) != "?", "Comparison", "operation",
                 "a case of ComparisonOperation",
                 std::to_string(static_cast<int>(operation)));
}

bool Comparison::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Compare, data_type, device);
}

void Comparison::lower(LayerBuilder& builder) const {
  if (operation_ == ComparisonOperation::LogicalNOT) {
    builder.require_sources(1, 1);
    return builder.add_result(
        builder.append(OpKind::LogicalNot, NoAttrs{}, {builder.source(0)}));
  }
  builder.require_sources(2, 2);
  builder.add_result(builder.append(OpKind::Compare,
                                    CompareAttrs{.operation = operation_},
                                    {builder.source(0), builder.source(1)}));
}

Selection::Selection() : Layer("Selection") {}

bool Selection::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Select, data_type, device, /*num_sources=*/3);
}

void Selection::lower(LayerBuilder& builder) const {
  builder.require_sources(3, 3);
  builder.add_result(builder.append(
      OpKind::Select, NoAttrs{},
      {builder.source(0), builder.source(1), builder.source(2)}));
}

}  // namespace traingraph::layers
