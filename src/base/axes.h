// SPDX-License-Identifier: MIT
// Axes as callers give them, where negative ones count from the end, and as
// transposes move them.
#pragma once

#include <string>

#include "traingraph/types.h"

namespace traingraph {

/// Which axes of a tensor of `rank` these are. Throws InvalidArgument that
/// shows `axes` as they were given, unless they are distinct axes of it.
Shape resolve_axes(const Shape& axes, int rank, const char* op,
                   const std::string& node, const char* field);
std::int64_t resolve_axis(std::int64_t axis, int rank, const char* op,
                          const std::string& node, const char* field);

/// `axes` of a transpose with the last two exchanged.
Shape with_last_exchanged(Shape axes);
/// Does a transpose by `axes` keep the order of those of more than one element?
/// Then it moves nothing.
bool keeps_order(const Shape& shape, const Shape& axes);

}  // namespace traingraph
