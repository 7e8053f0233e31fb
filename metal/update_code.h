// SPDX-License-Identifier: MIT
// UpdateCode: the optimizer updates and sums of gradients that end a unit or
// a run, as few launches of kernels of ours on many tensors each. They change
// variables in place.
#pragma once

#include "metal/compile_unit.h"
#include "metal/kernels/update.h"
#import "metal/unit_code.h"

namespace traingraph::metal {

class UpdateCode final : public EngineCode {
 public:
  /// Takes those of `unit.in_place` that are deferred, or the others.
  UpdateCode(const GpuDevice& device, const Program& program,
             const GpuUnit& unit, const UnitArgs& args, bool is_deferred);
  std::unique_ptr<BoundCode> bind(const UnitMemory& memory) const override;

 private:
  class Bound;
  struct Input {
    int arg = -1;  // of the unit; -1: none
    std::size_t first_byte = 0;
    std::size_t written_bytes = 0;  // 0: it is only read
  };
  struct Update {
    UpdateSpec spec;
    std::array<Input, kNumUpdateBuffers> inputs;
  };

  const GpuDevice& device_;
  std::vector<Update> updates_;
};

}  // namespace traingraph::metal
