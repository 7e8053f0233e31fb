// SPDX-License-Identifier: MIT
// The oracle of all op tests: every op of the table as plain nested loops over
// doubles. It shares types and the random bits with the library, no shape rule
// and no kernel. Gradient ops of nonlinear ops are central differences of
// their forward op, so keep their tensors small and away from kinks.
#pragma once

#include <initializer_list>
#include <map>
#include <vector>

#include "graph/program.h"
#include "traingraph/op_attrs.h"

namespace traingraph::testing {

/// Row-major values of any data type; booleans are 0 and 1. No data: an absent
/// optional input.
struct RefTensor {
  Shape shape = {};
  std::vector<double> data = {};

  bool is_present() const { return !data.empty(); }
  // References read their elements one by one, and tests evaluate them often.
  using Position = std::initializer_list<std::int64_t>;
  double& operator()(const Shape& at) { return data.at(index(at)); }
  double operator()(const Shape& at) const { return data.at(index(at)); }
  double& operator()(Position at) { return data.at(index(at)); }
  double operator()(Position at) const { return data.at(index(at)); }

 private:
  template <class Axes>
  std::size_t index(const Axes& at) const {
    std::int64_t index = 0;
    const std::int64_t* position = at.begin();
    for (const std::int64_t size : shape) {
      index = index * size + (position == at.end() ? 0 : *position++);
    }
    return static_cast<std::size_t>(index);
  }
};

using RefTensors = std::vector<RefTensor>;
using RefValues = std::map<ValueId, RefTensor>;

RefTensor filled(const Shape& shape, double value);
inline RefTensor zeros(const Shape& shape) { return filled(shape, 0); }

/// The results of one op. Variables that the op writes change in `inputs`;
/// missing trailing inputs are absent. The state of max_pool_2d is the flat
/// index, within its (n, c) plane, of every winner.
RefTensors evaluate(OpKind op, const Attributes& attrs, RefTensors& inputs);
RefTensors evaluate(const Node& node, RefTensors& inputs);

/// All nodes in order, from given contents of what no node makes. Returns all
/// values; variables as they are afterwards.
RefValues evaluate_program(const Program& program, RefValues values);

/// d sum(seed * result) / d input by central differences.
RefTensor numerical_gradient(OpKind op, const Attributes& attrs,
                             const RefTensors& inputs, int input,
                             const RefTensor& seed, int result = 0);
/// The gradient through a whole program.
RefTensor numerical_gradient(const Program& program, const RefValues& values,
                             ValueId input, ValueId result,
                             const RefTensor& seed);

}  // namespace traingraph::testing
