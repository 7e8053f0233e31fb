// SPDX-License-Identifier: MIT
// Expression: what one function of traingraph/expressions.h adds to a graph.
// It finds the graph, names the nodes, and makes errors quote the operands:
//
//   [binary "add"] shapes do not broadcast in dense float32 (64, 10) + bias
//   float32 (3): expected ...
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "layers/graph_state.h"
#include "traingraph/error.h"
#include "traingraph/expressions.h"
#include "traingraph/graph.h"

namespace traingraph {

class Expression {
 public:
  /// `name` is that of the node whose result is the expression's; `symbol`, of
  /// operators, stands between the operands in errors. Throws InvalidArgument
  /// unless the results among the operands are of one graph, StateError when
  /// it is gone.
  Expression(std::string name, std::vector<Operand> operands,
             std::string symbol = {});
  /// Without a result the graph is as it was.
  ~Expression();
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  /// A node on the way to it: "mean.reduce".
  Tensor step(OpKind op, Attributes attributes, std::vector<Tensor> inputs);
  /// The node whose result this is.
  Tensor result(OpKind op, Attributes attributes, std::vector<Tensor> inputs);

  /// A constant of shape (1). Throws InvalidArgument unless `type` has the
  /// number; floats may round it.
  Tensor constant(double number, DataType type);
  /// x, or a Boolean as 0 and 1 of `type`.
  Tensor counted(const Tensor& x, DataType type);

  [[noreturn]] void fail(std::string what, std::string expected,
                         std::string got, std::string hint = {}) const;
  /// action(), with errors that quote the operands.
  template <class Action>
  auto quoting(const Action& action) const;

 private:
  Tensor append(OpKind op, Attributes attributes, std::vector<Tensor> inputs,
                const std::string& name);
  Graph find_graph() const;
  std::string text() const;
  ErrorInfo quoted(ErrorInfo info) const;

  std::string name_;
  std::vector<Operand> operands_;
  std::string symbol_;
  Graph graph_;
  GraphState::Checkpoint before_;
  std::size_t num_nodes_ = 0;  // that are the expression's
  bool has_result_ = false;
};

template <class Action>
auto Expression::quoting(const Action& action) const {
  try {
    return action();
  } catch (const ShapeError& error) {
    throw ShapeError(quoted(error.info()));
  } catch (const DTypeError& error) {
    throw DTypeError(quoted(error.info()));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(quoted(error.info()));
  } catch (const StateError& error) {
    throw StateError(quoted(error.info()));
  }
}

/// The axes of `shape` but those in `dropped`; (1) when none is left.
Shape without_axes(const Shape& shape, const Shape& dropped);

}  // namespace traingraph
