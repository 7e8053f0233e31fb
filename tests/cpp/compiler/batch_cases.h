// SPDX-License-Identifier: MIT
// The table of batch axis cases: small programs, as functions of the batch
// size, and which axis of their last result follows it, or why none can.
#pragma once

#include <functional>
#include <ostream>
#include <utility>
#include <vector>

#include "graph/program.h"

namespace traingraph::testing {

inline constexpr std::int64_t kDeclared = 6, kSmaller = 4;

/// A program at a batch size of `n`.
struct Case {
  Case(Program& program, std::int64_t n) : program(program), n(n) {}

  ValueId in(Shape shape, int axis = 0, DataType type = DataType::Float32) {
    const ValueId id = program.add_value(Role::Input, {shape, type}, "input");
    program.value(id).batch.axis = axis;
    return id;
  }
  ValueId flags(Shape shape, int axis = 0) {
    return in(shape, axis, DataType::Boolean);
  }
  ValueId fixed(Shape shape, DataType type = DataType::Float32) {
    return program.add_value(Role::Input, {shape, type}, "fixed");
  }
  ValueId variable(Shape shape) {
    return program.add_value(Role::Variable, {shape}, "variable");
  }
  ValueId add(OpKind op, Attributes attrs, std::vector<ValueId> inputs) {
    return program.append_one(op, std::move(attrs), std::move(inputs), "node");
  }

  Program& program;
  std::int64_t n;
};

struct Row {
  const char* name;
  std::function<void(Case&)> build;
  /// Result 0 of the last node has this axis at the declared size; or there is
  /// none, and this is why.
  BatchAxis expected = {};
  const char* refused = "";

  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }
};

inline constexpr BatchAxis kNone{};
inline BatchAxis on(int axis, std::int64_t factor = 1, std::int64_t step = 1) {
  return {.axis = axis, .factor = factor, .step = step};
}
inline Row refuses(const char* name, std::function<void(Case&)> build,
                   const char* reason) {
  return {name, std::move(build), kNone, reason};
}

// One function per file.
std::vector<Row> math_rows();
std::vector<Row> layout_and_loss_rows();
std::vector<Row> gather_rows();
std::vector<Row> attention_rows();

}  // namespace traingraph::testing
