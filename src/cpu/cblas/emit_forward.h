// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "cpu/cblas/epilogue.h"
#include "cpu/cblas/tasks.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {

/// The kernel of a convolution whose workers take tasks, with bias and
/// activation. `Forward` has num_workers, space, epilogue and run().
template <class Forward>
void emit_forward(UnitBuilder& unit, Forward forward) {
  forward.epilogue = fuse_epilogue(unit, unit.has(2));
  const int x = unit.read(0), weights = unit.read(1),
            bias = unit.has(2) ? unit.read(2) : -1, y = unit.write(0),
            scratch = unit.scratch(forward.space.bytes(forward.num_workers));
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [forward, next = make_counter(), x = floats(at[x]),
            weights = floats(at[weights]),
            bias = bias < 0 ? nullptr : floats(at[bias]), y = floats(at[y]),
            scratch = floats(at[scratch])] {
      forward.run(*next, x, weights, bias, y, scratch);
    };
  });
}

}  // namespace traingraph::cpu
