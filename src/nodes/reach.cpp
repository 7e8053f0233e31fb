// SPDX-License-Identifier: MIT
#include "nodes/reach.h"

#include <algorithm>
#include <unordered_set>

namespace traingraph::nodes {

std::vector<FilterState*> filters_behind(const std::vector<ImageNode>& images) {
  std::vector<FilterState*> found;
  std::unordered_set<FilterState*> seen;
  const auto visit = [&](FilterState* filter) {
    if (filter == nullptr || !seen.insert(filter).second) return;
    found.push_back(filter);
  };
  for (const ImageNode& image : images) {
    if (image) visit(image.state()->producer);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const FilterState& filter = *found[i];
    visit(filter.forward());
    for (const ImageNode& source : filter.sources) {
      visit(source.state()->producer);
    }
  }
  std::ranges::sort(found, {}, &FilterState::id);
  return found;
}

}  // namespace traingraph::nodes
