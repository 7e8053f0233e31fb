// SPDX-License-Identifier: MIT
// What the steps of formulas/update_steps.h read of an update's attributes.
#pragma once

#include "formulas/update_steps.h"
#include "traingraph/op_attrs.h"

namespace traingraph {

/// Is it the update of an optimizer?
bool is_optimizer_update(OpKind op);

/// `has_momentum`: the slot of that name, where it may be left out, is there.
/// Throws InternalError for attributes that are no optimizer's.
formulas::UpdateParams update_params(const Attributes& attrs,
                                     bool has_momentum);

}  // namespace traingraph
