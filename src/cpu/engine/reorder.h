// SPDX-License-Identifier: MIT
// Copies between layouts.
#pragma once

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// Its arguments are the source, the target, and scratch memory if it wants
/// some.
struct Reorder {
  KernelFactory bind;
  std::size_t scratch_bytes = 0;
};

/// Copies from one layout to another of the same sizes, on the threads that
/// there are now (PrimitiveThreads). Types may differ if engine_casts().
Reorder make_reorder(const Layout& from, const Layout& to);

/// Does a reorder of float32 round to this type?
bool engine_casts(DataType type);

}  // namespace traingraph::cpu
