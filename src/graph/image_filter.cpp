// SPDX-License-Identifier: MIT
#include "graph/image_filter.h"

#include <algorithm>

namespace traingraph {

ValueId value_of(const ImageFilter::ByRole& values, const std::string& role) {
  const auto found =
      std::ranges::find(values, role, &ImageFilter::ByRole::value_type::first);
  return found == values.end() ? kNoValue : found->second;
}

void append_filters(const Program& from, const std::vector<ValueId>& value_in,
                    Program& into) {
  if (!from.filters) return;
  ImageFilters all = into.filters ? *into.filters : ImageFilters{};
  const int first = static_cast<int>(all.filters.size());
  const auto move = [&](ValueId& value) {
    if (value != kNoValue) value = value_in[value];
  };
  for (ImageFilter filter : from.filters->filters) {
    std::ranges::for_each(filter.sources, move);
    move(filter.result);
    move(filter.loss);
    for (auto* values : {&filter.parameters, &filter.parameter_gradients}) {
      for (auto& [role, value] : *values) move(value);
    }
    if (auto* gradient = std::get_if<GradientFilter>(&filter.attrs)) {
      gradient->of += first;
    }
    auto* transpose = std::get_if<ConvolutionTransposeFilter>(&filter.attrs);
    if (transpose && transpose->inverse >= 0) transpose->inverse += first;
    all.filters.push_back(std::move(filter));
  }
  into.filters = std::make_shared<const ImageFilters>(std::move(all));
}

}  // namespace traingraph
