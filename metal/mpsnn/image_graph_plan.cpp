// SPDX-License-Identifier: MIT
#include "metal/mpsnn/image_graph_plan.h"

#include <algorithm>

namespace traingraph::metal {
namespace {

/// The images that the filters of a unit read or make.
std::vector<ValueId> images_of(const Program& program, const GpuUnit& unit) {
  std::vector<ValueId> images;
  for (const int index : unit.filters) {
    const ImageFilter& filter = program.filters->filters[index];
    images.insert(images.end(), filter.sources.begin(), filter.sources.end());
    for (const ValueId value : {filter.result, filter.loss}) {
      if (value != kNoValue) images.push_back(value);
    }
  }
  return images;
}

bool contains(const std::vector<ValueId>& values, ValueId value) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

std::vector<int> ImageGraphPlan::gradients_of(int filter) const {
  std::vector<int> gradients;
  for (const int i : filters) {
    const auto* gradient = std::get_if<GradientFilter>(&all->filters[i].attrs);
    if (gradient != nullptr && gradient->of == filter) gradients.push_back(i);
  }
  return gradients;
}

int ImageGraphPlan::gradient_arg(int filter, const std::string& role) const {
  for (const int gradient : gradients_of(filter)) {
    const ValueId value =
        value_of(all->filters[gradient].parameter_gradients, role);
    const auto found = args.find(value);
    if (value != kNoValue && found != args.end()) return found->second;
  }
  return -1;
}

bool ImageGraphPlan::is_source(ValueId value) const {
  return std::ranges::find(sources, value, &Image::value) != sources.end();
}

bool ImageGraphPlan::is_result(ValueId value) const {
  return std::ranges::find(results, value, &Image::value) != results.end();
}

int num_graph_sources(const ImageFilter& filter) {
  const auto* loss = std::get_if<LossFilter>(&filter.attrs);
  return loss != nullptr && loss->returns_gradient
             ? 1
             : static_cast<int>(filter.sources.size());
}

ImageGraphPlan plan_image_graph(const Program& program, const GpuUnit& unit,
                                const UnitArgs& args) {
  ImageGraphPlan plan{.label = label_of(program, unit),
                      .all = program.filters,
                      .filters = unit.filters,
                      .sources = {},
                      .results = {},
                      .shapes = {},
                      .args = {},
                      .bytes = {},
                      .news = {}};
  const std::vector<ValueId> images = images_of(program, unit);
  for (const ValueId image : images) {
    plan.shapes.emplace(image, program.shape(image));
  }
  const auto add = [&](ValueId value, int arg,
                       std::vector<ImageGraphPlan::Image>& list) {
    if (contains(images, value)) return list.push_back({value, arg});
    plan.args.emplace(value, arg);
    plan.bytes.emplace(value, program.desc(value).size_bytes());
  };
  for (std::size_t i = 0; i < unit.feeds.size(); ++i) {
    add(unit.feeds[i], args.feeds[i], plan.sources);
  }
  for (std::size_t i = 0; i < unit.targets.size(); ++i) {
    add(unit.targets[i], args.targets[i], plan.results);
  }
  for (std::size_t i = 0; i < unit.updated.size(); ++i) {
    plan.news.emplace(unit.updated[i], args.news[i]);
  }
  return plan;
}

int num_image_copies(const Program& program, const GpuUnit& unit) {
  if (unit.engine != Engine::ImageGraph) return 0;
  const std::vector<ValueId> images = images_of(program, unit);
  const auto is_image = [&](ValueId value) { return contains(images, value); };
  return static_cast<int>(std::ranges::count_if(unit.feeds, is_image) +
                          std::ranges::count_if(unit.targets, is_image));
}

}  // namespace traingraph::metal
