// SPDX-License-Identifier: MIT
// GraphBuilder: what a lowering function (metal/ops) sees. It asks for the
// inputs of its node as MPSGraph tensors, computes with the verbs below and
// sets the results. All tensors are owned by the MPSGraph.
#pragma once

#include <initializer_list>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/op_def.h"
#import "metal/apple.h"
#include "metal/gpu_limits.h"

namespace traingraph::metal {

using T = MPSGraphTensor*;

/// The only place where types become Apple's.
MPSDataType mps_data_type(DataType type);
/// Slowest axis first; rank 0 becomes (1).
NSArray<NSNumber*>* ns_shape(const Shape& shape);
NSArray<NSNumber*>* ns_list(std::span<const std::int64_t> numbers);
NSArray<NSNumber*>* ns_list(std::initializer_list<std::int64_t> numbers);

Shape shape_of(T x);

class GraphBuilder {
 public:
  GraphBuilder(const Program& program, const GpuLimits& limits, MPSGraph* graph)
      : program_(program), limits_(limits), graph_(graph) {}

  // --- the unit: what surrounds the nodes ---
  /// Makes a placeholder for a value that is stored outside.
  T feed(ValueId value);
  T value(ValueId value) const { return tensors_.at(value); }
  bool has_value(ValueId value) const { return tensors_.contains(value); }
  /// Makes a placeholder for the mask that these nodes share.
  T feed_mask(const TensorDescriptor& desc, std::span<const NodeId> nodes);
  void begin(NodeId id);

  // --- the node ---
  MPSGraph* graph() const { return graph_; }
  const GpuLimits& limits() const { return limits_; }
  const Node& node() const { return program_.node(node_); }
  NodeId node_id() const { return node_; }
  const Program& program() const { return program_; }
  template <class Attrs>
  const Attrs& attrs() const {
    return std::get<Attrs>(node().attrs);
  }
  /// For the `name:` argument of MPSGraph methods: the layer's name.
  NSString* name() const;
  int num_inputs() const { return static_cast<int>(node().inputs.size()); }
  bool has(int input) const;
  T input(int input) { return read(node().inputs[input]); }
  /// One entry of an input's first axis, which stays with size 1.
  T entry(int input, int index);
  /// Reads the value as the node computes with it: in float32 unless
  /// computes_in_half().
  T read(ValueId value);
  /// The type of the numbers that it computes result 0 with.
  DataType compute_type() const;
  /// What dropout keeps, a Boolean; of attention its weights.
  T mask() const { return masks_.at(node_); }
  const TensorDescriptor& input_desc(int i) const;
  const TensorDescriptor& result_desc(int r = 0) const;
  const Shape& input_shape(int i) const { return input_desc(i).shape; }
  const Shape& result_shape(int r = 0) const { return result_desc(r).shape; }
  /// Floats are rounded to the type of the result.
  void set(T tensor, int result = 0);
  /// The new contents of a variable; later nodes read these.
  void update(int input, T tensor);

  // --- verbs; operands broadcast as in NumPy, numbers have the other's type
  // ---
  T scalar(double value, DataType type);
  T scalar_like(T x, double value);
  T add(T x, T y);
  T sub(T x, T y);
  T mul(T x, T y);
  T div(T x, T y);
  T pow(T x, T y);
  T min(T x, T y);  // of floats; a NaN wins, as in reductions
  T max(T x, T y);
  T add(T x, double y) { return add(x, scalar_like(x, y)); }
  T sub(double x, T y) { return sub(scalar_like(y, x), y); }
  T mul(T x, double y) { return mul(x, scalar_like(x, y)); }
  T div(T x, double y) { return mul(x, 1 / y); }
  T div(double x, T y) { return div(scalar_like(y, x), y); }
  T min(T x, double y) { return min(x, scalar_like(x, y)); }
  T max(T x, double y) { return max(x, scalar_like(x, y)); }
  T equal(T x, T y);
  T less(T x, T y);
  T greater(T x, T y);
  T equal(T x, double y) { return equal(x, scalar_like(x, y)); }
  T less(T x, double y) { return less(x, scalar_like(x, y)); }
  T greater(T x, double y) { return greater(x, scalar_like(x, y)); }
  T at_least(T x, double y);  // x >= y
  T both(T p, T q);
  T negate(T p);  // of a Boolean
  T is_nan(T x);
  T select(T predicate, T x, T y);
  T select(T predicate, T x, double y);
  T select(T predicate, double x, T y);
  T select(T predicate, double x, double y, DataType type);
  T neg(T x);
  T abs(T x);
  T sign(T x);
  T square(T x);
  T sqrt(T x);
  T exp(T x);
  T log(T x);
  T tanh(T x);
  T sigmoid(T x);
  T erf(T x);
  /// ln(1 + e^x) without overflow.
  T softplus(T x);
  T cast(T x, DataType type);

  T reshape(T x, const Shape& shape);
  T broadcast(T x, const Shape& shape);
  /// Floats in memory of their own, one row after the other: MPSGraph may pass
  /// slices and broadcasts on as views of what they were made of. Others as
  /// they are: no product reads them.
  T written(T x);
  /// An operand of a product is written down where MPSGraph may read it through
  /// what it was made of, and would not survive that
  /// (GpuLimits::writes_reshapes, writes_turned_bfloat16).
  T as_operand(T x);
  /// Input `i`, weights of a convolution: written down if they were computed
  /// (GpuLimits::writes_weights).
  T weights(int i);
  T transpose(T x, const Shape& permutation);
  /// Swaps the last two axes.
  T transpose_matrix(T x);

  /// Reduced axes stay with size 1. `shape` is x's. Any rank: beyond
  /// limits().reliable_rank the axes are folded first.
  T sum(T x, const Shape& shape, const Shape& axes);
  T mean(T x, const Shape& shape, const Shape& axes);
  T maximum(T x, const Shape& shape, const Shape& axes);
  T minimum(T x, const Shape& shape, const Shape& axes);
  /// Sums over what broadcasting from `to` to `from` repeated, back to `to`.
  T sum_to(T x, const Shape& from, const Shape& to);

 private:
  enum class Reduction { Sum, Maximum, Minimum };
  T reduce(Reduction kind, T x, const Shape& shape, const Shape& axes);
  /// Rounds x to the type in which the value is stored.
  T rounded(T x, ValueId value);
  /// x transposed.
  T turned(T x, T source);

  const Program& program_;
  const GpuLimits& limits_;
  MPSGraph* graph_;
  NodeId node_ = -1;
  bool upcasts_ = false;  // the node computes in float32
  std::unordered_map<ValueId, T> tensors_;
  std::unordered_map<NodeId, T> masks_;
  std::unordered_map<T, T> wide_;  // in float32, by what is of 16 bits
  // Which MPSGraph may pass on as views: transposed tensors, and reshapes from
  // or to a shape with several axes of 1.
  std::unordered_set<T> turned_, folded_;
};

}  // namespace traingraph::metal
