// SPDX-License-Identifier: MIT
// A fixture around one Program: appends ops, collects their errors and prints
// the gradient nodes that differentiate() adds.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "autodiff/gradient.h"
#include "graph/op_def.h"
#include "graph/program.h"
#include "traingraph/error.h"

namespace traingraph {

class OpProgramTest : public ::testing::Test {
 protected:
  ValueId input(Shape shape, DataType type = DataType::Float32) {
    return program_.add_value(Role::Input, {shape, type}, "input");
  }
  ValueId variable(Shape shape) {
    return program_.add_value(Role::Variable, {shape}, "variable");
  }
  std::vector<ValueId> inputs(std::initializer_list<Shape> shapes) {
    std::vector<ValueId> ids;
    for (const Shape& shape : shapes) ids.push_back(input(shape));
    return ids;
  }

  std::vector<ValueId> append(OpKind op, Attributes attrs,
                              std::vector<ValueId> values) {
    return program_.append(op, std::move(attrs), std::move(values), "node");
  }
  ValueId append_one(OpKind op, Attributes attrs, std::vector<ValueId> values) {
    return append(op, std::move(attrs), std::move(values)).at(0);
  }
  /// The shape of the first result.
  Shape shape_of(OpKind op, Attributes attrs, std::vector<ValueId> values) {
    return program_.shape(append_one(op, std::move(attrs), std::move(values)));
  }

  /// what() of the error that appending throws; checks its type, its op and
  /// node, and that it says what was expected and what came.
  template <class ErrorType>
  std::string error_of(OpKind op, Attributes attrs,
                       std::vector<ValueId> values) {
    try {
      append(op, std::move(attrs), std::move(values));
    } catch (const ErrorType& error) {
      EXPECT_EQ(error.op(), op_def(op).name);
      EXPECT_EQ(error.node(), "node");
      EXPECT_NE(error.expected(), "");
      EXPECT_NE(error.got(), "");
      return error.what();
    }
    return "nothing was thrown";
  }

  /// Differentiates `result` with the incoming gradient `seed`.
  GradientMap gradients(ValueId result, ValueId seed,
                        std::vector<ValueId> wanted) {
    first_gradient_node_ = program_.nodes().size();
    return differentiate(program_, {.seeds = {{result, seed}},
                                    .wanted = std::move(wanted),
                                    .stopped = {}});
  }

  /// One line per node that gradients() appended: "reduce(%3) -> (1, 4)".
  std::vector<std::string> gradient_nodes() const {
    std::vector<std::string> lines;
    for (std::size_t i = first_gradient_node_; i < program_.nodes().size();
         ++i) {
      const Node& node = program_.nodes()[i];
      std::string line = std::string(node.op->name) + "(";
      const char* separator = "";
      for (ValueId id : node.inputs) {
        line += separator;
        line += id == kNoValue ? "_" : "%" + std::to_string(id);
        separator = ", ";
      }
      separator = ") -> ";
      for (ValueId id : node.outputs) {
        line += separator + program_.shape(id).to_string();
        separator = ", ";
      }
      lines.push_back(line);
    }
    return lines;
  }

  template <class Attrs>
  const Attrs& attrs_of_producer(ValueId value) const {
    return std::get<Attrs>(program_.node(program_.value(value).producer).attrs);
  }

  Program program_;

 private:
  std::size_t first_gradient_node_ = 0;
};

using Lines = std::vector<std::string>;

/// Use with EXPECT_TRUE: does `text` hold all `parts`?
inline ::testing::AssertionResult contains(
    const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (text.find(part) != std::string::npos) continue;
    return ::testing::AssertionFailure()
           << "\"" << part << "\" is not in \"" << text << "\"";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace traingraph
