// SPDX-License-Identifier: MIT
// The checks that shape rules share, in one wording.
#include "graph/op_def.h"

#include "graph/attributes.h"

namespace traingraph {
namespace {

std::string quoted(const char* name) { return "\"" + std::string(name) + "\""; }

std::string axes(int count) {
  return std::to_string(count) + (count == 1 ? " axis" : " axes");
}

std::string with_rank(const Shape& shape) {
  return axes(shape.rank()) + " " + shape.to_string();
}

}  // namespace

std::string names_of(DataTypes types) {
  if (types == kAnyType) return "any type";
  std::string text;
  for (DataType type : kDataTypes) {
    if ((types & bit(type)) == 0) continue;
    if (!text.empty()) text += " or ";
    text += to_string(type);
  }
  return text;
}

const InputDef& input_def(const OpDef& op, int i) {
  const auto slot = static_cast<std::size_t>(i);
  return slot < op.inputs.size() ? op.inputs[slot] : op.inputs.back();
}

bool mutates(const Node& node, int i) {
  if (node.inputs[i] == kNoValue) return false;
  if (!input_def(*node.op, i).is_mutated) return false;
  return node.op->mutates == nullptr || node.op->mutates(node.attrs);
}

ShapeContext::ShapeContext(const Program& program, const OpDef& op,
                           const Attributes& attrs,
                           std::span<const ValueId> inputs,
                           const std::string& node)
    : program_(program), op_(op), attrs_(attrs), inputs_(inputs), node_(node) {}

bool ShapeContext::has(int input) const {
  return input < num_inputs() && inputs_[input] != kNoValue;
}

const TensorDescriptor& ShapeContext::desc(int input) const {
  if (!has(input)) {
    throw InternalError(ErrorInfo{.op = op_.name,
                                  .node = node_,
                                  .what = "the shape rule reads input " +
                                          std::to_string(input) +
                                          ", which is absent"});
  }
  return program_.desc(inputs_[input]);
}

const char* ShapeContext::input_name(int input) const {
  return input_def(op_, input).name;
}

void ShapeContext::add_result(Shape shape, DataType type) {
  results_.push_back({.desc = {shape, type}});
}

void ShapeContext::add_opaque_result() {
  results_.push_back({.desc = {}, .is_opaque = true});
}

void ShapeContext::require_rank(int input, int rank) const {
  if (shape(input).rank() == rank) return;
  fail_shape("input " + quoted(input_name(input)) + " has the wrong rank",
             axes(rank), with_rank(shape(input)));
}

void ShapeContext::require_rank_at_least(int input, int rank) const {
  if (shape(input).rank() >= rank) return;
  fail_shape("input " + quoted(input_name(input)) + " has the wrong rank",
             "at least " + axes(rank), with_rank(shape(input)));
}

void ShapeContext::require_shape(int input, const Shape& expected) const {
  if (shape(input) == expected) return;
  fail_shape("input " + quoted(input_name(input)) + " has the wrong shape",
             expected.to_string(), shape(input).to_string());
}

void ShapeContext::require_same_shape(int input, int other) const {
  if (shape(input) == shape(other)) return;
  fail_shape("input " + quoted(input_name(input)) + " must have the shape of " +
                 quoted(input_name(other)),
             shape(other).to_string(), shape(input).to_string());
}

void ShapeContext::require_axis(const char* attribute, std::int64_t axis,
                                int rank) const {
  require_attribute(axis >= 0 && axis < rank,
                    std::string(attribute) + " is not an axis",
                    "0 to " + std::to_string(rank - 1), std::to_string(axis));
}

void ShapeContext::require_positive(const char* attribute,
                                    std::int64_t value) const {
  require_attribute(value > 0, std::string(attribute) + " is not positive",
                    "at least 1", std::to_string(value));
}

void ShapeContext::require_attribute(bool ok, std::string what,
                                     std::string expected, std::string got,
                                     std::string hint) const {
  if (ok) return;
  throw InvalidArgument(ErrorInfo{op_.name, node_, std::move(what),
                                  std::move(expected), std::move(got),
                                  std::move(hint)});
}

void ShapeContext::require_data_type(int input, DataTypes types) const {
  if ((types & bit(data_type(input))) != 0) return;
  throw DTypeError(ErrorInfo{
      op_.name, node_,
      "input " + quoted(input_name(input)) + " has the wrong data type",
      names_of(types), std::string(to_string(data_type(input))),
      "Convert it with cast or astype()."});
}

void ShapeContext::require_same_data_type(int input, int other) const {
  if (data_type(input) == data_type(other)) return;
  throw DTypeError(ErrorInfo{
      op_.name, node_,
      "input " + quoted(input_name(input)) + " must have the data type of " +
          quoted(input_name(other)),
      std::string(to_string(data_type(other))),
      std::string(to_string(data_type(input))), "Convert one with cast."});
}

void ShapeContext::require_state(int state, OpKind maker,
                                 const Attributes& attrs,
                                 const Shape& shape) const {
  const Value& value = program_.value(inputs_[state]);
  require_attribute(
      value.is_opaque,
      "input " + quoted(input_name(state)) + " is no opaque state",
      "what " + std::string(op_def(maker).name) + " made",
      "\"" + value.name + "\"");
  const Node& node = program_.node(value.producer);
  const Shape& made_from = program_.shape(node.inputs[0]);
  if (node.op->kind == maker && node.attrs == attrs && made_from == shape) {
    return;
  }
  const auto describe = [](const char* op, const Attributes& with,
                           const Shape& from) {
    return std::string(op) + " of " + from.to_string() + " with " +
           to_string(with);
  };
  throw InvalidArgument(ErrorInfo{
      op_.name, node_,
      "input " + quoted(input_name(state)) + " is the state of something else",
      describe(op_def(maker).name, attrs, shape),
      describe(node.op->name, node.attrs, made_from),
      "Pass the state of the node that this one differentiates."});
}

void ShapeContext::fail_shape(std::string what, std::string expected,
                              std::string got, std::string hint) const {
  throw ShapeError(ErrorInfo{op_.name, node_, std::move(what),
                             std::move(expected), std::move(got),
                             std::move(hint)});
}

}  // namespace traingraph
