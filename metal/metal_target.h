// SPDX-License-Identifier: MIT
// What the GPU runs and how much memory it takes for that.
#pragma once

#include "compiler/target.h"

namespace traingraph::metal {

struct GpuDevice;

class MetalTarget final : public Target {
 public:
  MetalTarget(const GpuDevice& device, std::size_t alignment)
      : device_(device), alignment_(alignment) {}
  std::string_view name() const override { return "gpu"; }
  std::size_t alignment() const override { return alignment_; }
  bool joins_phases() const override { return true; }
  bool computes_in(DataType type) const override;
  std::string reason_unsupported(const Program& program,
                                 const Node& node) const override;
  LoweredProgram lower(const Program& program,
                       const LowerOptions& options) const override;

 private:
  const GpuDevice& device_;
  std::size_t alignment_;
};

}  // namespace traingraph::metal
