// SPDX-License-Identifier: MIT
// What the GPU runs and how much memory it takes for that.
#pragma once

#include "compiler/target.h"
#include "metal/gpu_limits.h"

namespace traingraph::metal {

struct GpuDevice;
/// See heap_buffer.h.
std::size_t heap_alignment(const GpuDevice& device, std::size_t bytes);

class MetalTarget final : public Target {
 public:
  /// Both outlive the target.
  MetalTarget(const GpuDevice& device, const GpuLimits& limits)
      : device_(device), limits_(limits) {}
  std::string_view name() const override { return "gpu"; }
  std::size_t alignment() const override { return limits_.heap_alignment; }
  std::size_t alignment_of(std::size_t bytes) const override;
  bool joins_phases() const override { return true; }
  bool computes_in(DataType type) const override;
  std::string reason_unsupported(const Program& program,
                                 const Node& node) const override;
  LoweredProgram lower(const Program& program,
                       const LowerOptions& options) const override;

 private:
  const GpuDevice& device_;
  const GpuLimits& limits_;
};

}  // namespace traingraph::metal
