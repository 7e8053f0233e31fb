// SPDX-License-Identifier: MIT
// ImageGraphPlan: what an image graph is made of: filters, their images and
// parameters, and where these are among the arguments of the unit. It does not
// refer to the program. Plain C++.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/image_filter.h"
#include "metal/compile_unit.h"

namespace traingraph::metal {

struct ImageGraphPlan {
  struct Image {
    ValueId value = kNoValue;
    int arg = 0;
  };

  std::string label;
  std::shared_ptr<const ImageFilters> all;
  std::vector<int> filters;  // of `all`, in order
  /// Images that come from outside, and those that are copied to buffers.
  std::vector<Image> sources, results;
  std::unordered_map<ValueId, Shape> shapes;  // of images
  /// Parameters and their gradients have these arguments and bytes.
  std::unordered_map<ValueId, int> args;
  std::unordered_map<ValueId, std::size_t> bytes;
  /// Variables that filters change themselves (running statistics): where
  /// their new contents go, which the unit copies to the variables at its end.
  std::unordered_map<ValueId, int> news;

  const ImageFilter& filter(int i) const { return all->filters[i]; }
  /// The gradient filters of a filter.
  std::vector<int> gradients_of(int filter) const;
  /// The argument that holds the gradient of a parameter; -1: nobody wants it.
  int gradient_arg(int filter, const std::string& role) const;
  bool is_source(ValueId value) const;
  bool is_result(ValueId value) const;
};

/// Sources of a filter that are images of the graph; the others (labels and
/// weights of a LossNode) are handed over beside it.
int num_graph_sources(const ImageFilter& filter);

ImageGraphPlan plan_image_graph(const Program& program, const GpuUnit& unit,
                                const UnitArgs& args);

/// Tensors that become images and images that become tensors; 0 for units of
/// other engines.
int num_image_copies(const Program& program, const GpuUnit& unit);

}  // namespace traingraph::metal
