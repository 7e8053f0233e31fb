// SPDX-License-Identifier: MIT
// index(): a slice of whole axes, then a shape with the axes that are left and
// the new ones. Nodes that would change nothing are left out.
#include <algorithm>
#include <string>

#include "layers/expression.h"
#include "traingraph/expressions.h"

namespace traingraph {
namespace {

/// Reads indices one after the other.
class IndexReader {
 public:
  IndexReader(const Expression& expression, const Shape& from,
              const std::vector<Index>& indices)
      : expression_(expression), from_(from) {
    num_skipped_ = from.rank() - count_axes(indices);
    for (const Index& index : indices) {
      std::visit([&](const auto& each) { read(each); }, index);
    }
    while (start_.rank() < from.rank()) read(Range{});
    if (shape_.empty()) shape_ = {1};
  }

  SliceAttrs slice() const { return {start_, end_, step_}; }
  /// The slice has all elements.
  bool is_whole() const { return sliced_ == from_; }
  const Shape& sliced_shape() const { return sliced_; }
  /// That of the result.
  const Shape& shape() const { return shape_; }

 private:
  /// How many axes the indices are about, the ellipsis left out.
  int count_axes(const std::vector<Index>& indices) const {
    int axes = 0, ellipses = 0;
    for (const Index& index : indices) {
      const bool is_ellipsis = std::holds_alternative<Ellipsis>(index);
      ellipses += is_ellipsis;
      axes += !is_ellipsis && !std::holds_alternative<NewAxis>(index);
    }
    if (ellipses > 1) {
      expression_.fail("the indices have several ellipses", "at most one",
                       std::to_string(ellipses));
    }
    if (axes > from_.rank()) {
      expression_.fail("there are too many indices",
                       "at most " + std::to_string(from_.rank()),
                       std::to_string(axes));
    }
    return axes;
  }

  void read(std::int64_t position) {
    const int axis = start_.rank();
    const std::int64_t size = from_[axis];
    if (position < -size || position >= size) {
      expression_.fail(
          "the index is outside of axis " + std::to_string(axis),
          std::to_string(-size) + " to " + std::to_string(size - 1),
          std::to_string(position));
    }
    if (position < 0) position += size;
    take(position, position + 1, 1);
  }

  void read(const Range& range) {
    const int axis = start_.rank();
    if (range.step < 1) {
      expression_.fail(
          "the step on axis " + std::to_string(axis) + " is not positive",
          "at least 1", std::to_string(range.step),
          "Graph.gather takes elements in any order.");
    }
    const std::int64_t start = bound(range.start, axis);
    const std::int64_t stop = bound(range.stop, axis);
    if (start >= stop) {
      expression_.fail("the slice of axis " + std::to_string(axis) +
                           ", of size " + std::to_string(from_[axis]) +
                           ", is empty",
                       "at least one element",
                       std::to_string(start) + ":" + std::to_string(stop));
    }
    take(start, stop, range.step);
    shape_.push_back(sliced_.back());
  }

  void read(NewAxis) { shape_.push_back(1); }

  void read(Ellipsis) {
    for (int i = 0; i < num_skipped_; ++i) read(Range{});
  }

  std::int64_t bound(std::int64_t given, int axis) const {
    const std::int64_t size = from_[axis];
    if (given < 0) given += size;
    return std::clamp<std::int64_t>(given, 0, size);
  }

  void take(std::int64_t start, std::int64_t end, std::int64_t step) {
    start_.push_back(start);
    end_.push_back(end);
    step_.push_back(step);
    sliced_.push_back((end - start - 1) / step + 1);
  }

  const Expression& expression_;
  const Shape& from_;
  int num_skipped_ = 0;  // axes that an ellipsis stands for
  Shape start_, end_, step_, sliced_, shape_;
};

}  // namespace

Tensor index(const Tensor& x, const std::vector<Index>& indices) {
  Expression expression("index", {x});
  const Shape from = x.shape();
  return expression.quoting([&] {
    const IndexReader reader(expression, from, indices);
    const bool is_sliced = !reader.is_whole();
    const bool is_reshaped = reader.shape() != reader.sliced_shape();
    if (!is_reshaped) {
      return is_sliced ? expression.result(OpKind::Slice, reader.slice(), {x})
                       : x;
    }
    const Tensor part =
        is_sliced ? expression.step(OpKind::Slice, reader.slice(), {x}) : x;
    return expression.result(OpKind::Reshape, ShapeAttrs{reader.shape()},
                             {part});
  });
}

}  // namespace traingraph
