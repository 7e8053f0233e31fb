// SPDX-License-Identifier: MIT
// What is known of the optimizers beyond their schema: hyperparameters and
// slots, for the classes of the API, and what the steps of
// formulas/update_steps.h read of the attributes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "formulas/update_steps.h"
#include "traingraph/op_attrs.h"
#include "traingraph/op_info.h"

namespace traingraph {

/// Is it the update of an optimizer?
bool is_optimizer_update(OpKind op);

/// `has_momentum`: the slot of that name, where it may be left out, is there.
/// Throws InternalError for attributes that are no optimizer's.
formulas::UpdateParams update_params(const Attributes& attrs,
                                     bool has_momentum);

/// What a hyperparameter is: one name means the same to all optimizers.
struct Hyperparameter {
  enum Range : std::uint8_t { kAny, kNotNegative, kPositive, kShare };
  std::string_view name;
  Range range;  // kShare: in [0, 1)
  const char* doc;
};
/// Null: what all updates share has another table.
const Hyperparameter* find_hyperparameter(std::string_view name);

/// The slots that an update with these attributes has.
std::vector<std::string_view> update_slots(const Attributes& attrs);

}  // namespace traingraph
