// SPDX-License-Identifier: MIT
// A number of src/formulas that stands for a tensor: where a formula is
// computed with GraphFloats instead of floats, MPSGraph's operations for it are
// appended to the graph that is being built.
#pragma once

#include "formulas/portable.h"
#import "metal/graph_builder.h"

namespace traingraph::metal {

/// A tensor, or a constant of which nothing is appended by itself. Conditions
/// are Boolean tensors.
class GraphFloat {
 public:
  GraphFloat(float constant = 0) : constant_(constant) {}
  GraphFloat(GraphBuilder& b, T tensor) : b_(&b), tensor_(tensor) {}

  /// Null of a constant.
  T tensor() const { return tensor_; }

  friend GraphFloat operator+(GraphFloat x, GraphFloat y) {
    if (x.is(0)) return y;
    return y.is(0) ? x : append(&GraphBuilder::add, x, y);
  }
  friend GraphFloat operator-(GraphFloat x, GraphFloat y) {
    return append(&GraphBuilder::sub, x, y);
  }
  friend GraphFloat operator*(GraphFloat x, GraphFloat y) {
    if (x.is(1) || y.is(0)) return y;
    return y.is(1) || x.is(0) ? x : append(&GraphBuilder::mul, x, y);
  }
  friend GraphFloat operator/(GraphFloat x, GraphFloat y) {
    return append(&GraphBuilder::div, x, y);
  }
  GraphFloat& operator+=(GraphFloat y) { return *this = *this + y; }
  GraphFloat& operator-=(GraphFloat y) { return *this = *this - y; }
  GraphFloat& operator*=(GraphFloat y) { return *this = *this * y; }

  friend GraphFloat minimum(GraphFloat x, GraphFloat y) {
    return y.is(formulas::infinity()) ? x : append(&GraphBuilder::min, x, y);
  }
  friend GraphFloat maximum(GraphFloat x, GraphFloat y) {
    return y.is(-formulas::infinity()) ? x : append(&GraphBuilder::max, x, y);
  }
  friend GraphFloat sqrt(GraphFloat x) {
    return {*x.b_, x.b_->sqrt(x.tensor_)};
  }
  friend GraphFloat sign(GraphFloat x) {
    return {*x.b_, x.b_->sign(x.tensor_)};
  }

  friend GraphFloat operator==(GraphFloat x, float y) {
    return {*x.b_, x.b_->equal(x.tensor_, y)};
  }
  friend GraphFloat operator>=(GraphFloat x, float y) {
    return {*x.b_, x.b_->at_least(x.tensor_, y)};
  }
  friend GraphFloat choose(GraphFloat condition, GraphFloat x, GraphFloat y) {
    GraphBuilder& b = *condition.b_;
    if (x.tensor_ || y.tensor_) {
      return {b, b.select(condition.tensor_, x.like(y), y.like(x))};
    }
    return {b, b.select(condition.tensor_, x.constant_, y.constant_,
                        DataType::Float32)};
  }

 private:
  using Verb = T (GraphBuilder::*)(T, T);
  static GraphFloat append(Verb verb, const GraphFloat& x,
                           const GraphFloat& y) {
    GraphBuilder& b = x.b_ ? *x.b_ : *y.b_;
    return {b, (b.*verb)(x.like(y), y.like(x))};
  }
  bool is(float constant) const { return !b_ && constant_ == constant; }
  T like(const GraphFloat& other) const {
    return b_ ? tensor_ : other.b_->scalar_like(other.tensor_, constant_);
  }

  GraphBuilder* b_ = nullptr;
  T tensor_ = nil;
  float constant_ = 0;
};

}  // namespace traingraph::metal
