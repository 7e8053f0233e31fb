// SPDX-License-Identifier: MIT
// The filter that is the derivative of another one.
#pragma once

#include <memory>
#include <string>

#include "nodes/filter_state.h"

namespace traingraph::nodes {

class GradientState : public FilterState {
 public:
  /// Throws ShapeError unless `gradient` has the size of the result of `of`.
  GradientState(std::shared_ptr<FilterState> of, int index,
                const ImageNode& gradient);

  const std::shared_ptr<FilterState>& of() const { return of_; }
  int index() const { return index_; }

  GradientForm gradient_form() const override { return GradientForm::None; }
  const char* no_gradient() const override {
    return "Second derivatives do not exist in MPSNN; use ops.";
  }
  bool is_trainable() const override { return of_->is_trainable(); }
  FilterState* forward() const override { return of_.get(); }
  FilterAttributes attributes(const NodeProgram& program) const override;
  ValueId lower(FilterBuilder& builder) const override;

 private:
  std::shared_ptr<FilterState> of_;
  int index_;
};

/// `state` of a GradientFilterNode.
inline const GradientState& gradient_state(const FilterState& state) {
  return static_cast<const GradientState&>(state);
}

}  // namespace traingraph::nodes
