// SPDX-License-Identifier: MIT
#include "traingraph/layers/sized.h"

#include "traingraph/error.h"

namespace traingraph::layers {

void SizedLayer::set_sizes(const Shape& sizes) {
  if (!sizes.empty()) adopt(make(sizes));
}

void SizedLayer::set_size(std::int64_t size) {
  if (size != 0) adopt(make({size}));
}

Shape SizedLayer::sizes() const {
  const Parts* parts = parts_;
  return parts ? parts->sizes : Shape{};
}

std::int64_t SizedLayer::size() const {
  const Parts* parts = parts_;
  return parts ? parts->sizes[0] : 0;
}

const SizedLayer::Parts& SizedLayer::parts() const {
  if (const Parts* parts = parts_) return *parts;
  throw StateError(ErrorInfo{
      .op = "parameters",
      .node = name(),
      .what = "the layer has no parameters yet",
      .expected = "a layer of given sizes, or one that is part of a graph",
      .got = "one whose first node is to tell its sizes",
      .hint = "Call node() first, or give the layer all sizes."});
}

std::int64_t SizedLayer::size_of(const std::vector<Shape>& sources, int axis,
                                 const char* expected) {
  const Shape& shape = sources.front();
  const int at = axis < 0 ? axis + shape.rank() : axis;
  if (at >= 0 && at < shape.rank()) return shape[at];
  throw ShapeError(ErrorInfo{.what = "the source does not fit the layer",
                             .expected = expected,
                             .got = shape.to_string()});
}

void SizedLayer::build(const std::vector<Shape>& sources) const {
  adopt(make(sizes_of(sources)));
}

void SizedLayer::unbuild() const noexcept {
  parts_ = nullptr;
  forget_tensors();
}

void SizedLayer::adopt(std::unique_ptr<const Parts> parts) const {
  owned_parts_ = std::move(parts);
  for (const auto& [tensor, word] : owned_parts_->tensors) {
    name_tensor(tensor, word);
  }
  parts_ = owned_parts_.get();
}

}  // namespace traingraph::layers
