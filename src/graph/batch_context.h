// SPDX-License-Identifier: MIT
// BatchContext: what the batch rule of an op sees.
#pragma once

#include <string>
#include <variant>

#include "graph/batch_axis.h"
#include "graph/program.h"

namespace traingraph {

/// A rule reads the batch axes of a node's inputs and sets those of its
/// results, which have none until then. Shapes are those of the declared batch.
class BatchContext {
 public:
  BatchContext(Program& program, const Node& node, std::int64_t batch)
      : program_(program), node_(node), batch_(batch) {}

  template <class Attrs>
  const Attrs& attrs() const {
    return std::get<Attrs>(node_.attrs);
  }
  std::int64_t batch() const { return batch_; }
  int num_inputs() const { return static_cast<int>(node_.inputs.size()); }
  int num_results() const { return static_cast<int>(node_.outputs.size()); }
  bool has(int input) const {
    return input < num_inputs() && node_.inputs[input] != kNoValue;
  }
  const BatchAxis& axis(int input) const {
    return program_.value(node_.inputs[input]).batch;
  }
  const Shape& shape(int input) const {
    return program_.shape(node_.inputs[input]);
  }
  DataType data_type(int input) const {
    return program_.desc(node_.inputs[input]).data_type;
  }
  const Shape& result_shape(int result = 0) const {
    return program_.shape(node_.outputs[result]);
  }
  /// "input \"x\" (8, 3)".
  std::string describe(int input) const;

  /// The node that makes an input, when this is its only reader; else null.
  const Node* sole_producer(int input) const;
  const Program& program() const { return program_; }

  void set(int result, const BatchAxis& axis) {
    program_.value(node_.outputs[result]).batch = axis;
  }
  /// For an input that repeats one entry, as often as this node needs it.
  void adopt(int input, const BatchAxis& axis) {
    program_.value(node_.inputs[input]).batch = axis;
  }
  /// Throws UnsupportedError: `reason` is why the node runs the declared batch
  /// size only.
  [[noreturn]] void refuse(const std::string& reason,
                           std::string hint = {}) const;

 private:
  Program& program_;
  const Node& node_;
  std::int64_t batch_;
};

}  // namespace traingraph
