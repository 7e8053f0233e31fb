// SPDX-License-Identifier: MIT
#include "metal/mpsnn/filter_family.h"

#include <algorithm>
#include <unordered_set>

#include "graph/op_def.h"
#include "metal/mpsnn/support.h"

namespace traingraph::metal {
namespace {

bool contains(const std::vector<NodeId>& nodes, NodeId id) {
  return std::ranges::find(nodes, id) != nodes.end();
}

/// The nodes of the update phase behind one that trains a variable of a family.
class UpdateSlice {
 public:
  UpdateSlice(const Program& program, const std::vector<NodeId>& producers)
      : program_(program), producers_(producers) {}

  void add(NodeId id) {
    if (!seen_.insert(id).second) return;
    for (const ValueId value : program_.node(id).inputs) {
      if (value == kNoValue || producers_[value] < 0) continue;
      const NodeId producer = producers_[value];
      const Node& node = program_.node(producer);
      if (node.phase == Phase::Update && node.filter < 0) add(producer);
    }
  }

  std::vector<NodeId> nodes() const {
    std::vector<NodeId> sorted(seen_.begin(), seen_.end());
    std::ranges::sort(sorted);
    return sorted;
  }

 private:
  const Program& program_;
  const std::vector<NodeId>& producers_;
  std::unordered_set<NodeId> seen_;
};

class FamilyFinder {
 public:
  explicit FamilyFinder(const Program& program)
      : program_(program), producers_(producers_of(program)) {}

  std::vector<FilterFamily> run() {
    const auto& filters = program_.filters->filters;
    family_of_.assign(filters.size(), -1);
    has_nodes_.assign(filters.size(), false);
    for (const Node& node : program_.nodes()) {
      if (node.filter >= 0) has_nodes_[node.filter] = true;
    }
    for (int i = 0; i < static_cast<int>(filters.size()); ++i) add_filter(i);
    const auto num_nodes = static_cast<NodeId>(program_.nodes().size());
    for (NodeId id = 0; id < num_nodes; ++id) {
      const int filter = program_.node(id).filter;
      if (filter >= 0) families_[family_of_[filter]].nodes.push_back(id);
    }
    for (FilterFamily& family : families_) add_updates(family);
    return std::move(families_);
  }

 private:
  void add_filter(int filter) {
    if (!has_nodes_[filter]) return;
    const ImageFilter& it = program_.filters->filters[filter];
    const auto* gradient = std::get_if<GradientFilter>(&it.attrs);
    if (gradient != nullptr && gradient->of >= 0 &&
        family_of_[gradient->of] >= 0) {
      family_of_[filter] = family_of_[gradient->of];
      families_[family_of_[filter]].gradients.push_back(filter);
      return;
    }
    family_of_[filter] = static_cast<int>(families_.size());
    families_.emplace_back().forward = filter;
  }

  void add_updates(FilterFamily& family) const {
    const auto& parameters =
        program_.filters->filters[family.forward].parameters;
    UpdateSlice slice(program_, producers_);
    const auto num_nodes = static_cast<NodeId>(program_.nodes().size());
    for (NodeId id = 0; id < num_nodes; ++id) {
      const Node& node = program_.node(id);
      if (node.phase != Phase::Update) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId value = node.inputs[i];
        const bool is_parameter = std::ranges::any_of(
            parameters, [&](const auto& p) { return p.second == value; });
        if (!is_parameter || !mutates(node, static_cast<int>(i))) continue;
        family.trained.push_back(value);
        slice.add(id);
      }
    }
    family.updates = slice.nodes();
  }

  const Program& program_;
  const std::vector<NodeId> producers_;
  std::vector<FilterFamily> families_;
  std::vector<int> family_of_;  // by filter
  std::vector<bool> has_nodes_;
};

/// The checks of one family against the rest of the program.
class FamilyCheck {
 public:
  FamilyCheck(const Program& program, const FilterFamily& family)
      : program_(program),
        family_(family),
        forward_(filter(family.forward)),
        producers_(producers_of(program)) {}

  std::string reason() const {
    for (std::string (FamilyCheck::*check)() const :
         {&FamilyCheck::reason_of_gradients, &FamilyCheck::reason_of_images,
          &FamilyCheck::reason_of_variables, &FamilyCheck::reason_of_updates}) {
      std::string reason = (this->*check)();
      if (!reason.empty()) return reason;
    }
    return {};
  }

 private:
  const ImageFilter& filter(int i) const {
    return program_.filters->filters[i];
  }

  std::string reason_of_gradients() const {
    std::vector<int> sources;
    for (const int gradient : family_.gradients) {
      const int source =
          std::get<GradientFilter>(filter(gradient).attrs).source;
      if (std::ranges::find(sources, source) != sources.end()) {
        return "the filter has two gradient filters for one source, and MPSNN "
               "leaves one state";
      }
      sources.push_back(source);
    }
    return {};
  }

  /// Passes may have replaced what the filters were made with.
  std::string reason_of_images() const {
    std::vector<int> filters = family_.gradients;
    filters.push_back(family_.forward);
    for (const int i : filters) {
      for (const ValueId source : filter(i).sources) {
        const bool is_result = program_.value(source).role == Role::Result;
        if (is_result && producers_[source] < 0) {
          return "its source is an image that nothing computes any more";
        }
      }
    }
    return {};
  }

  bool is_own(NodeId id) const {
    return contains(family_.nodes, id) || contains(family_.updates, id);
  }

  bool is_written(ValueId variable) const {
    const auto writes = [&](const Node& node) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const bool is_it = node.inputs[i] == variable;
        if (is_it && mutates(node, static_cast<int>(i))) return true;
      }
      return false;
    };
    return std::ranges::any_of(program_.nodes(), writes);
  }

  /// What the device changes must have no other reader.
  std::string reason_of_variables() const {
    for (const auto& [role, variable] : forward_.parameters) {
      if (program_.value(variable).role != Role::Variable) {
        return "its " + role + " is no variable";
      }
      if (!is_written(variable)) continue;
      const auto num_nodes = static_cast<NodeId>(program_.nodes().size());
      for (NodeId id = 0; id < num_nodes; ++id) {
        const auto& inputs = program_.node(id).inputs;
        const bool reads = std::ranges::find(inputs, variable) != inputs.end();
        if (reads && !is_own(id)) {
          return "runs change its " + role + ", which is read by \"" +
                 program_.node(id).name + "\" too";
        }
      }
    }
    return {};
  }

  bool is_parameter_gradient(ValueId value) const {
    return std::ranges::any_of(family_.gradients, [&](int gradient) {
      const auto& gradients = filter(gradient).parameter_gradients;
      return std::ranges::any_of(
          gradients, [&](const auto& g) { return g.second == value; });
    });
  }

  /// They run inside MPSNN's gradient filter, and know what that computes.
  std::string reason_of_updates() const {
    for (const NodeId id : family_.updates) {
      for (const ValueId value : program_.node(id).inputs) {
        if (value == kNoValue || producers_[value] < 0) continue;
        if (is_parameter_gradient(value) || is_own(producers_[value])) continue;
        return "the update of its parameters depends on other gradients";
      }
      for (const ValueId value : program_.node(id).outputs) {
        if (has_other_reader(value)) {
          return "its update shares \"" + program_.value(value).name +
                 "\" with others";
        }
      }
    }
    return {};
  }

  bool has_other_reader(ValueId value) const {
    const auto num_nodes = static_cast<NodeId>(program_.nodes().size());
    for (NodeId id = 0; id < num_nodes; ++id) {
      const auto& inputs = program_.node(id).inputs;
      const bool reads = std::ranges::find(inputs, value) != inputs.end();
      if (reads && !contains(family_.updates, id)) return true;
    }
    return false;
  }

  const Program& program_;
  const FilterFamily& family_;
  const ImageFilter& forward_;
  const std::vector<NodeId> producers_;
};

}  // namespace

std::vector<NodeId> producers_of(const Program& program) {
  std::vector<NodeId> producers(program.values().size(), -1);
  const auto num_nodes = static_cast<NodeId>(program.nodes().size());
  for (NodeId id = 0; id < num_nodes; ++id) {
    for (const ValueId value : program.node(id).outputs) producers[value] = id;
  }
  return producers;
}

std::vector<FilterFamily> find_families(const Program& program) {
  if (!program.filters) return {};
  return FamilyFinder(program).run();
}

std::string reason_not_mpsnn(const Program& program, const FilterFamily& family,
                             const GpuLimits& limits) {
  const auto& filters = program.filters->filters;
  const bool is_loss =
      std::holds_alternative<LossFilter>(filters[family.forward].attrs);
  const auto is_of_labels = [&](int gradient) {
    return std::get<GradientFilter>(filters[gradient].attrs).source == 1;
  };
  std::string reason = reason_without_class(
      {.program = program,
       .filter = filters[family.forward],
       .limits = limits,
       .has_gradient = !family.gradients.empty(),
       .has_label_gradient =
           is_loss && std::ranges::any_of(family.gradients, is_of_labels)});
  if (!reason.empty()) return reason;
  return FamilyCheck(program, family).reason();
}

}  // namespace traingraph::metal
