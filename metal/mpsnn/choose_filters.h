// SPDX-License-Identifier: MIT
// FilterChoice: which families of filters MPSNN runs. It begins with all that
// it can run, and drops those that do not fit the units which that gives.
#pragma once

#include "metal/borders.h"
#include "metal/mpsnn/filter_family.h"

namespace traingraph::metal {

class FilterChoice {
 public:
  FilterChoice(const Program& program, const LowerOptions& options,
               const GpuLimits& limits);

  bool takes(NodeId id) const { return is_taken_[id]; }
  /// Does the node run inside an image graph, as part of an update?
  bool is_inner(NodeId id) const { return is_inner_[id]; }
  /// Gives the updates of each family to the unit that has its filters.
  void add_updates(std::vector<GpuUnit>& units) const;
  /// Returns false when all families fit.
  bool drop_misfits(const Borders& borders);
  /// Each filter's reason is empty where MPSNN runs it.
  std::vector<std::string> reasons() const;

 private:
  std::string reason_of(const FilterFamily& family,
                        const Borders& borders) const;
  std::string reason_of_values(const FilterFamily& family,
                               const Borders& borders) const;
  std::string reason_of_sources(int filter, const Borders& borders,
                                int unit) const;
  bool is_image(ValueId value) const;
  void mark();

  const Program& program_;
  std::vector<FilterFamily> families_;
  std::vector<std::string> reasons_;       // by family; empty: MPSNN runs it
  std::vector<bool> is_taken_, is_inner_;  // by node
  std::vector<NodeId> producer_;           // by value
};

}  // namespace traingraph::metal
