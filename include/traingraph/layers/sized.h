// SPDX-License-Identifier: MIT
// SizedLayer: base of layers with parameters whose sizes need not be given.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "traingraph/layer.h"

namespace traingraph::layers {

/// A layer whose parameters have sizes that are given, or those of the sources
/// of its first node.
///
/// A layer is its options, which never change, and its parts: sizes and
/// parameters. A layer of given sizes has its parts from the constructor on.
/// For others Graph::node makes them, as a constructor with these sizes would
/// at that moment; until then sizes are 0, and what has or lists parameters
/// throws StateError. Later nodes check their sources against the parts. A
/// first node that fails leaves the layer, and the platform's random numbers,
/// as they were.
class TRAINGRAPH_API SizedLayer : public Layer {
 public:
  bool is_built() const override { return parts_.load() != nullptr; }

 protected:
  /// Classes of layers derive theirs from it.
  struct TRAINGRAPH_API Parts {
    virtual ~Parts() = default;
    Shape sizes = {};
    /// Each tensor comes with its word, "weights"; see name_tensor().
    std::vector<std::pair<Tensor, std::string>> tensors = {};
  };

  using Layer::Layer;
  /// Returns the sizes that a layer has by these sources, at least one. Throws
  /// ShapeError for a source without the axes that have them.
  virtual Shape sizes_of(const std::vector<Shape>& sources) const = 0;
  /// Makes the parts of a layer of these sizes. Throws when they do not fit the
  /// options.
  virtual std::unique_ptr<Parts> make(const Shape& sizes) const = 0;

  /// Is the last call of a constructor: makes the parts of known sizes. Unknown
  /// ones, an empty shape or 0, are left to the first node.
  void set_sizes(const Shape& sizes);
  void set_size(std::int64_t size);
  /// They are empty, and 0, before there are parts.
  Shape sizes() const;
  std::int64_t size() const;
  /// Throws StateError before there are any.
  const Parts& parts() const;
  template <class Derived>
  const Derived& parts() const {
    return static_cast<const Derived&>(parts());
  }

  /// Returns the size of the first source on `axis`, where a negative one
  /// counts from the end. Throws ShapeError with what was `expected`.
  static std::int64_t size_of(const std::vector<Shape>& sources, int axis,
                              const char* expected);

 private:
  void build(const std::vector<Shape>& sources) const override;
  void unbuild() const noexcept override;
  void adopt(std::unique_ptr<const Parts> parts) const;

  /// LayerNames::mutex() guards it after the constructor.
  mutable std::unique_ptr<const Parts> owned_parts_;
  /// All threads see this of it.
  mutable std::atomic<const Parts*> parts_ = nullptr;
};

}  // namespace traingraph::layers
