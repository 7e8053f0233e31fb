// SPDX-License-Identifier: MIT
// What of a graph lies in memory that all processes see, where they have such.
// All of them make these calls at the same time, while nothing is in flight.
#pragma once

#include "runtime/exchange/agreement.h"
#include "runtime/session/session.h"

namespace traingraph {

/// Null: the processes see no memory of each other.
std::shared_ptr<Board> make_board(Session& session, Agreement& agreement);
/// Parameters that are updated in shares, before they have values on the
/// device. They stay where they are when that is not possible.
void share_parameters(Session& session, Agreement& agreement);
/// What is sent beside gradients.
void allocate_staging(Session& session, Agreement& agreement);
/// Gradients of a step, and what else its plan holds.
void share_arena(Session& session, Agreement& agreement);

}  // namespace traingraph
