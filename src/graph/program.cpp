// SPDX-License-Identifier: MIT
// Program: appending with schema checks, reordering and printing.
#include "graph/program.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error_subject.h"
#include "graph/attributes.h"
#include "graph/op_def.h"

namespace traingraph {
namespace {

const char* name_of(Role role) {
  switch (role) {
    case Role::Input:
      return "an input";
    case Role::Variable:
      return "a variable";
    case Role::Constant:
      return "a constant";
    case Role::Result:
      return "a result";
  }
  return "?";
}

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return "the forward phase";
    case Phase::Gradient:
      return "the gradient phase";
    case Phase::Update:
      return "the update phase";
  }
  return "?";
}

/// What a process can address. So layouts with padding and lists of tensors
/// stay far from 64 bits.
constexpr std::size_t kMaxValueBytes = std::size_t{1} << 47;

void require_sizes(const TensorDescriptor& desc, const std::string& node) {
  const Shape& shape = desc.shape;
  const bool ok = std::all_of(shape.begin(), shape.end(),
                              [](std::int64_t size) { return size > 0; });
  if (!ok) {
    throw ShapeError(ErrorInfo{.node = node,
                               .what = "a size is not positive",
                               .expected = "sizes of at least 1",
                               .got = shape.to_string()});
  }
  if (desc.size_bytes() <= kMaxValueBytes) return;  // throws when it overflows
  throw ShapeError(ErrorInfo{.node = node,
                             .what = "the tensor has no room in any memory",
                             .expected = "at most 2^47 bytes",
                             .got = desc.to_string()});
}

/// Room for `extra` elements, so that pushing them cannot throw.
template <class T>
void make_room(std::vector<T>& list, std::size_t extra) {
  const std::size_t needed = list.size() + extra;
  if (needed > list.capacity()) {
    list.reserve(std::max(needed, 2 * list.capacity()));
  }
}

/// The inputs and attributes of one append() against the op's schema.
class SchemaCheck {
 public:
  SchemaCheck(const Program& program, const OpDef& op, const Attributes& attrs,
              const std::string& node)
      : program_(program), op_(op), attrs_(attrs), node_(node) {}

  void attributes() const {
    if (attrs_.index() == op_.default_attrs.index()) return;
    fail<InvalidArgument>("wrong attribute struct", describe(op_.default_attrs),
                          describe(attrs_));
  }

  /// Fills absent trailing slots, then checks every input.
  void inputs(std::vector<ValueId>& inputs) const {
    count(inputs.size());
    if (inputs.size() < op_.inputs.size()) {
      inputs.resize(op_.inputs.size(), kNoValue);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      input(input_def(op_, static_cast<int>(i)), inputs[i]);
    }
    floats_of_one_type(inputs);
  }

 private:
  template <class ErrorType>
  [[noreturn]] void fail(std::string what, std::string expected,
                         std::string got, std::string hint = {}) const {
    throw ErrorType(ErrorInfo{op_.name, node_, std::move(what),
                              std::move(expected), std::move(got),
                              std::move(hint)});
  }

  static std::string describe(const Attributes& attrs) {
    std::string text = to_string(attrs);
    return text.empty() ? "no attributes" : text;
  }

  /// "2 to 3 (x, y, bias?)"
  std::string signature(std::size_t min, bool is_variadic) const {
    const std::size_t max = op_.inputs.size();
    std::string text = std::to_string(min);
    if (is_variadic) {
      text += " or more";
    } else if (min < max) {
      text += " to " + std::to_string(max);
    }
    if (max == 0) return text;
    const char* separator = " (";
    for (const InputDef& def : op_.inputs) {
      text += separator;
      text += def.name;
      if (def.is_optional) text += "?";
      if (def.is_variadic) text += "...";
      separator = ", ";
    }
    return text + ")";
  }

  void count(std::size_t got) const {
    std::size_t min = op_.inputs.size();
    while (min > 0 && op_.inputs[min - 1].is_optional) --min;
    const bool is_variadic =
        !op_.inputs.empty() && op_.inputs.back().is_variadic;
    if (got >= min && (is_variadic || got <= op_.inputs.size())) return;
    fail<InvalidArgument>("wrong number of inputs", signature(min, is_variadic),
                          std::to_string(got));
  }

  void input(const InputDef& def, ValueId id) const {
    const std::string what = "input \"" + std::string(def.name) + "\"";
    if (id == kNoValue) {
      if (def.is_optional) return;
      fail<InvalidArgument>(what + " is missing", "a value", "none");
    }
    const std::size_t num_values = program_.values().size();
    if (id < 0 || static_cast<std::size_t>(id) >= num_values) {
      fail<InvalidArgument>(what + " is not a value of this program",
                            "an id below " + std::to_string(num_values),
                            std::to_string(id));
    }
    value(def, what, program_.value(id));
  }

  void value(const InputDef& def, const std::string& what,
             const Value& value) const {
    phase(what, value);
    if (value.is_opaque && !def.is_opaque) {
      fail<InvalidArgument>(what + " is opaque state", "a tensor",
                            "\"" + value.name + "\"",
                            "Only the matching gradient op reads it.");
    }
    if (!value.is_opaque && (def.types & bit(value.desc.data_type)) == 0) {
      fail<DTypeError>(what + " has the wrong data type", names_of(def.types),
                       std::string(to_string(value.desc.data_type)),
                       "Convert it with cast or astype().");
    }
    const bool is_written =
        def.is_mutated && (op_.mutates == nullptr || op_.mutates(attrs_));
    if (is_written && value.role != Role::Variable) {
      fail<InvalidArgument>(
          what + " is written by this op", "a variable",
          std::string(name_of(value.role)) + " \"" + value.name + "\"");
    }
  }

  void floats_of_one_type(const std::vector<ValueId>& inputs) const {
    const InputDef* first = nullptr;
    DataType type{};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const InputDef& def = input_def(op_, static_cast<int>(i));
      if (inputs[i] == kNoValue || def.types != kFloat) continue;
      const DataType own = program_.desc(inputs[i]).data_type;
      if (!first) {
        first = &def;
        type = own;
      }
      if (own == type) continue;
      fail<DTypeError>("input \"" + std::string(def.name) +
                           "\" must have the data type of \"" + first->name +
                           "\"",
                       std::string(to_string(type)),
                       std::string(to_string(own)), "Convert one with cast.");
    }
  }

  void phase(const std::string& what, const Value& value) const {
    if (value.producer < 0) return;
    const Phase here = program_.position.phase;
    const Phase there = program_.node(value.producer).phase;
    if (there <= here) return;
    fail<InvalidArgument>(what + " is computed in a later phase",
                          std::string(name_of(here)) + " or an earlier one",
                          name_of(there), "Declare this node for that phase.");
  }

  const Program& program_;
  const OpDef& op_;
  const Attributes& attrs_;
  const std::string& node_;
};

/// "name" for the only result, else "name.result".
std::string result_name(const Node& node, std::size_t i, std::size_t count) {
  if (count == 1) return node.name;
  const auto& names = node.op->results;
  if (names.size() == count) return node.name + "." + names[i];
  return node.name + "." + std::to_string(i);
}

[[noreturn]] void fail_order(const Node& node, std::string what) {
  throw InternalError(ErrorInfo{
      .op = node.op->name, .node = node.name, .what = std::move(what)});
}

std::string list_of(const std::vector<ValueId>& ids) {
  std::string text;
  for (ValueId id : ids) {
    if (!text.empty()) text += ", ";
    text += id == kNoValue ? "_" : "%" + std::to_string(id);
  }
  return text;
}

}  // namespace

ValueId Program::add_value(Role role, TensorDescriptor desc, std::string name,
                           TensorIndex tensor) {
  require_sizes(desc, name);
  const auto id = static_cast<ValueId>(values_.size());
  values_.push_back(Value{
      .desc = desc, .name = std::move(name), .role = role, .tensor = tensor});
  return id;
}

std::vector<ValueId> Program::append(OpKind kind, Attributes attrs,
                                     std::vector<ValueId> inputs,
                                     std::string name) {
  const OpDef& op = op_def(kind);
  if (name.empty()) name = position.name;
  const SchemaCheck check(*this, op, attrs, name);
  check.attributes();
  if (op.fill_defaults) op.fill_defaults(attrs);
  check.inputs(inputs);
  ShapeContext context(*this, op, attrs, inputs, name);
  with_subject(op.name, name, [&] { op.shape_rule(context); });
  const auto results = context.take_results();

  Node node{.op = &op,
            .attrs = {},
            .inputs = std::move(inputs),
            .outputs = {},
            .phase = position.phase,
            .layer = position.layer,
            .name = name.empty() ? std::string(op.name) : std::move(name),
            .filter = position.filter};
  node.attrs = std::move(attrs);
  std::vector<Value> values;
  for (const auto& result : results) {
    if (!result.is_opaque) {
      with_subject(op.name, node.name,
                   [&] { require_sizes(result.desc, node.name); });
    }
    const std::size_t i = values.size();
    node.outputs.push_back(static_cast<ValueId>(values_.size() + i));
    values.push_back(Value{.desc = result.desc,
                           .name = result_name(node, i, results.size()),
                           .tensor = kNoTensor,
                           .producer = static_cast<NodeId>(nodes_.size()),
                           .is_opaque = result.is_opaque});
  }
  std::vector<ValueId> outputs = node.outputs;

  // Everything that may throw is done: the program changes as a whole.
  make_room(values_, values.size());
  make_room(nodes_, 1);
  std::move(values.begin(), values.end(), std::back_inserter(values_));
  nodes_.push_back(std::move(node));
  return outputs;
}

ValueId Program::append_one(OpKind kind, Attributes attrs,
                            std::vector<ValueId> inputs, std::string name) {
  const auto outputs =
      append(kind, std::move(attrs), std::move(inputs), std::move(name));
  return outputs.empty() ? kNoValue : outputs.front();
}

void Program::set_inputs(NodeId id, std::vector<ValueId> inputs) {
  Node& node = nodes_[id];
  position.phase = node.phase;
  const SchemaCheck check(*this, *node.op, node.attrs, node.name);
  check.inputs(inputs);
  ShapeContext context(*this, *node.op, node.attrs, inputs, node.name);
  with_subject(node.op->name, node.name, [&] { node.op->shape_rule(context); });
  const auto results = context.take_results();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].is_opaque) values_[node.outputs[i]].desc = results[i].desc;
  }
  node.inputs = std::move(inputs);
}

void Program::reorder(std::span<const NodeId> order) {
  constexpr NodeId kDropped = -1;
  std::vector<NodeId> place(nodes_.size(), kDropped);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const NodeId id = order[i];
    if (id < 0 || static_cast<std::size_t>(id) >= nodes_.size()) {
      throw InternalError("the new order names node " + std::to_string(id) +
                          ", which does not exist");
    }
    if (place[id] != kDropped) fail_order(nodes_[id], "ordered twice");
    place[id] = static_cast<NodeId>(i);
    for (ValueId input : nodes_[id].inputs) {
      if (input == kNoValue || values_[input].producer < 0) continue;
      if (place[values_[input].producer] != kDropped) continue;
      fail_order(nodes_[id], "ordered before the node that makes its input " +
                                 list_of({input}));
    }
  }

  std::vector<Node> kept;
  kept.reserve(order.size());
  for (NodeId id : order) kept.push_back(std::move(nodes_[id]));
  nodes_ = std::move(kept);
  for (Value& value : values_) {
    if (value.producer >= 0) value.producer = place[value.producer];
  }
}

std::string Program::to_string() const {
  std::string text;
  for (const Node& node : nodes_) {
    if (!node.outputs.empty()) text += list_of(node.outputs) + " = ";
    text += node.op->name;
    text += "(" + list_of(node.inputs) + ")";
    const std::string attrs = traingraph::to_string(node.attrs);
    if (!attrs.empty()) text += " " + attrs;
    const char* separator = " : ";
    for (ValueId id : node.outputs) {
      const Value& value = values_[id];
      text += separator;
      text += value.is_opaque ? "opaque" : value.desc.to_string();
      separator = ", ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace traingraph
