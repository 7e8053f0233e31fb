// SPDX-License-Identifier: MIT
#include "metal/mpsnn/choose_filters.h"

#include <algorithm>

#include "graph/op_def.h"
#include "metal/assumptions.h"

namespace traingraph::metal {
namespace {

std::string reason_of_options(const FilterFamily& family,
                              const LowerOptions& options,
                              const GpuLimits& limits) {
  if (!limits.uses_image_graphs) return "image graphs are off";
  if (options.separates_updates && !family.updates.empty()) {
    return "the updates of linked graphs can be left out one by one";
  }
  if (!kGraphsRunInsideImageGraphs && !family.updates.empty()) {
    return "updates do not run inside image graphs";
  }
  return {};
}

bool has(const ImageFilter::ByRole& values, ValueId value) {
  return std::ranges::any_of(
      values, [&](const auto& entry) { return entry.second == value; });
}

}  // namespace

FilterChoice::FilterChoice(const Program& program, const LowerOptions& options,
                           const GpuLimits& limits)
    : program_(program),
      families_(find_families(program)),
      producer_(producers_of(program)) {
  for (const FilterFamily& family : families_) {
    std::string reason = reason_of_options(family, options, limits);
    if (reason.empty()) reason = reason_not_mpsnn(program, family, limits);
    reasons_.push_back(std::move(reason));
  }
  mark();
}

void FilterChoice::mark() {
  is_taken_.assign(program_.nodes().size(), false);
  is_inner_ = is_taken_;
  for (std::size_t f = 0; f < families_.size(); ++f) {
    if (!reasons_[f].empty()) continue;
    for (NodeId id : families_[f].nodes) is_taken_[id] = true;
    for (NodeId id : families_[f].updates) is_inner_[id] = true;
  }
}

void FilterChoice::add_updates(std::vector<GpuUnit>& units) const {
  for (std::size_t f = 0; f < families_.size(); ++f) {
    const FilterFamily& family = families_[f];
    if (!reasons_[f].empty() || family.updates.empty()) continue;
    for (GpuUnit& unit : units) {
      const auto last = std::ranges::find(unit.nodes, family.nodes.back());
      if (last == unit.nodes.end()) continue;
      GpuUnit& update = unit.updates.emplace_back();
      update.phase = Phase::Update;
      update.nodes = family.updates;
      update.updates_filter = family.forward;
    }
  }
}

bool FilterChoice::drop_misfits(const Borders& borders) {
  bool has_dropped = false;
  for (std::size_t f = 0; f < families_.size(); ++f) {
    if (!reasons_[f].empty()) continue;
    reasons_[f] = reason_of(families_[f], borders);
    if (!reasons_[f].empty()) has_dropped = true;
  }
  if (has_dropped) mark();
  return has_dropped;
}

std::string FilterChoice::reason_of(const FilterFamily& family,
                                    const Borders& borders) const {
  const int unit = borders.unit_of(family.nodes.front());
  for (NodeId id : family.nodes) {
    if (borders.unit_of(id) == unit) continue;
    return "its gradient runs in another unit, and MPSNN's states do not leave "
           "a graph";
  }
  std::vector<int> filters = family.gradients;
  filters.push_back(family.forward);
  for (int filter : filters) {
    std::string reason = reason_of_sources(filter, borders, unit);
    if (!reason.empty()) return reason;
  }
  return reason_of_values(family, borders);
}

std::string FilterChoice::reason_of_values(const FilterFamily& family,
                                           const Borders& borders) const {
  for (NodeId id : family.nodes) {
    const Node& node = program_.node(id);
    const ImageFilter& filter = program_.filters->filters[node.filter];
    for (ValueId value : node.outputs) {
      if (!borders.crosses(value)) continue;
      const bool is_known = value == filter.result || value == filter.loss ||
                            has(filter.parameter_gradients, value);
      if (!is_known) {
        return "others read \"" + program_.value(value).name +
               "\", which only its ops compute";
      }
    }
  }
  return {};
}

bool FilterChoice::is_image(ValueId value) const {
  const ImageFilter& filter =
      program_.filters->filters[program_.node(producer_[value]).filter];
  return value == filter.result;
}

std::string FilterChoice::reason_of_sources(int filter, const Borders& borders,
                                            int unit) const {
  const ImageFilter& it = program_.filters->filters[filter];
  const auto* loss = std::get_if<LossFilter>(&it.attrs);
  for (std::size_t i = 0; i < it.sources.size(); ++i) {
    const ValueId source = it.sources[i];
    const NodeId producer = producer_[source];
    if (producer < 0) continue;
    if (borders.unit_of(producer) != unit) {
      // The initial gradient is that of a loss whose gradient runs there as
      // well.
      if (!std::holds_alternative<InitialGradientFilter>(it.attrs)) continue;
      return "its source is computed by another unit";
    }
    if (!is_image(source)) {
      return "its source is an image that MPSNN does not hold";
    }
    if (i > 0 && loss != nullptr && loss->returns_gradient) {
      return "its labels are computed by the same image graph";
    }
  }
  return {};
}

std::vector<std::string> FilterChoice::reasons() const {
  std::vector<std::string> reasons(
      program_.filters ? program_.filters->filters.size() : 0);
  for (std::size_t f = 0; f < families_.size(); ++f) {
    reasons[families_[f].forward] = reasons_[f];
    for (int gradient : families_[f].gradients) {
      reasons[gradient] = reasons_[f];
    }
  }
  return reasons;
}

}  // namespace traingraph::metal
