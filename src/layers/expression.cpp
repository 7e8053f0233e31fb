// SPDX-License-Identifier: MIT
#include "layers/expression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <locale>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <utility>

#include "base/visit_type.h"
#include "graph/op_def.h"
#include "graph/tensor_state.h"

namespace traingraph {
namespace {

/// A handle of the graph that there is.
class GraphHandle : public Graph {
 public:
  explicit GraphHandle(std::shared_ptr<GraphState> state)
      : Graph(std::move(state)) {}
};

/// Six digits; what no float is shows as it was given.
std::string text_of(double number) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << number;
  return std::move(text).str();
}

std::string describe(const Operand& operand) {
  if (const auto* number = std::get_if<double>(&operand.value)) {
    return text_of(*number);
  }
  const auto& tensor = std::get<Tensor>(operand.value);
  if (!tensor) return "no tensor";
  return tensor.name() + " " + tensor.descriptor().to_string();
}

/// Whether a tensor of `type` can hold the number, rounded if it has floats.
bool holds(DataType type, double number) {
  return visit_type(type, [&]<class T>(T) {
    if constexpr (kIsFloatType<T>) {
      const float stored = T(static_cast<float>(number));
      return std::isfinite(stored) || !std::isfinite(number);
    } else {
      constexpr int kDigits = std::numeric_limits<T>::digits;
      const double high = std::ldexp(1.0, kDigits);
      const double low = std::is_signed_v<T> ? -high : 0;
      return number >= low && number < high && std::trunc(number) == number;
    }
  });
}

}  // namespace

Expression::Expression(std::string name, std::vector<Operand> operands,
                       std::string symbol)
    : name_(std::move(name)),
      operands_(std::move(operands)),
      symbol_(std::move(symbol)),
      graph_(find_graph()) {
  const std::lock_guard lock(graph_.state()->mutex);
  before_ = graph_.state()->checkpoint();
}

Expression::~Expression() {
  if (has_result_ || num_nodes_ == 0) return;
  GraphState& state = *graph_.state();
  const std::lock_guard lock(state.mutex);
  const bool are_last =
      state.program.nodes().size() == before_.num_nodes + num_nodes_;
  if (are_last) state.restore(before_);
}

Graph Expression::find_graph() const {
  std::shared_ptr<GraphState> found;
  for (const Operand& operand : operands_) {
    const auto* tensor = std::get_if<Tensor>(&operand.value);
    if (!tensor) continue;
    if (!*tensor) fail("an operand is missing", "a tensor", "an empty Tensor");
    if (!tensor->state()->is_result) continue;
    std::shared_ptr<GraphState> graph = tensor->state()->graph.lock();
    if (!graph) {
      throw StateError(quoted({.op = name_,
                               .node = tensor->name(),
                               .what = "the graph of this result takes no "
                                       "nodes",
                               .expected = "a Graph that is being built",
                               .got = "one that is gone, or was loaded",
                               .hint = "Keep the Graph while it is built; one "
                                       "from a file stays as it was."}));
    }
    if (found && found != graph) {
      fail("the operands are results of different graphs",
           "results of one graph", "results of two",
           "Name the graph, as in graph.ops.binary(x, y, operation=\"add\"): "
           "there the result of the other one is an input.");
    }
    found = std::move(graph);
  }
  if (!found) {
    fail("no operand is a result of a graph", "at least one result", "none",
         "Make one a result first, by graph.node(layer, x), or name the graph, "
         "as in graph.ops.binary(x, y, operation=\"add\").");
  }
  return GraphHandle(std::move(found));
}

Tensor Expression::step(OpKind op, Attributes attributes,
                        std::vector<Tensor> inputs) {
  return append(op, std::move(attributes), std::move(inputs),
                name_ + "." + op_def(op).name);
}

Tensor Expression::result(OpKind op, Attributes attributes,
                          std::vector<Tensor> inputs) {
  Tensor made = append(op, std::move(attributes), std::move(inputs), name_);
  has_result_ = true;
  return made;
}

Tensor Expression::append(OpKind op, Attributes attributes,
                          std::vector<Tensor> inputs, const std::string& name) {
  return quoting([&] {
    const std::vector<Tensor> made =
        graph_.op(op, std::move(attributes), std::move(inputs), name);
    ++num_nodes_;
    return made.front();
  });
}

Tensor Expression::constant(double number, DataType type) {
  if (!holds(type, number)) {
    fail("the number is none of the other operand's type",
         std::string(to_string(type)), text_of(number),
         "Convert the other operand with astype().");
  }
  const auto value = static_cast<float>(number);
  if (is_float(type) || static_cast<double>(value) == number) {
    return step(OpKind::Fill,
                FillAttrs{.shape = {1}, .value = value, .data_type = type}, {});
  }
  return Tensor::filled({{1}, type}, number, "constant", std::nullopt);
}

Tensor Expression::counted(const Tensor& x, DataType type) {
  if (x.data_type() != DataType::Boolean) return x;
  return step(OpKind::Cast, CastAttrs{type}, {x});
}

void Expression::fail(std::string what, std::string expected, std::string got,
                      std::string hint) const {
  throw InvalidArgument(quoted({.op = name_,
                                .what = std::move(what),
                                .expected = std::move(expected),
                                .got = std::move(got),
                                .hint = std::move(hint)}));
}

ErrorInfo Expression::quoted(ErrorInfo info) const {
  if (info.op.empty()) info.op = name_;
  const std::string place = " in " + text();
  if (!info.what.ends_with(place)) info.what += place;
  return info;
}

std::string Expression::text() const {
  std::string list;
  for (const Operand& operand : operands_) {
    if (!list.empty()) list += symbol_.empty() ? ", " : " " + symbol_ + " ";
    list += describe(operand);
  }
  return symbol_.empty() ? name_ + "(" + list + ")" : list;
}

Shape without_axes(const Shape& shape, const Shape& dropped) {
  Shape rest;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool is_dropped =
        std::find(dropped.begin(), dropped.end(), axis) != dropped.end();
    if (!is_dropped) rest.push_back(shape[axis]);
  }
  return rest.empty() ? Shape{1} : rest;
}

}  // namespace traingraph
