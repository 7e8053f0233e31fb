// SPDX-License-Identifier: MIT
// The code of a CPU unit, and what kernel families include: each asks a
// UnitBuilder for arguments and emits one closure.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "lowering/fusion_query.h"
#include "lowering/unit_builder.h"

namespace traingraph::cpu {

/// Where the arguments of a unit are, in the order in which it asked for them.
class BindContext {
 public:
  explicit BindContext(std::span<std::byte* const> addresses)
      : addresses_(addresses) {}
  std::byte* operator[](std::size_t arg) const { return addresses_[arg]; }

 private:
  std::span<std::byte* const> addresses_;
};

/// A kernel bound to its addresses. Calling it allocates nothing.
using BoundKernel = std::function<void()>;
/// Called once per binding.
using KernelFactory = std::function<BoundKernel(BindContext&)>;

struct CpuUnitCode : UnitCode {
  explicit CpuUnitCode(KernelFactory factory) : bind(std::move(factory)) {}
  KernelFactory bind;
};

/// Ends the lowering of the builder's node.
void emit(UnitBuilder& unit, KernelFactory bind);

}  // namespace traingraph::cpu
