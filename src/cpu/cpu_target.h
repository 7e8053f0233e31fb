// SPDX-License-Identifier: MIT
// The CPU as the compiler sees it: every node is one oneDNN primitive or one
// loop, plus the reorders between their layouts.
#pragma once

#include <string>
#include <string_view>

#include "compiler/target.h"
#include "cpu/cpu_policy.h"

namespace traingraph::cpu {

class CpuTarget : public Target {
 public:
  explicit CpuTarget(int num_threads) : policy_(num_threads) {}
  std::string_view name() const override { return "cpu"; }
  bool keeps_prepared() const override { return true; }
  bool computes(const Program& program, const Node& node) const override;
  std::string reason_unsupported(const Program& program,
                                 const Node& node) const override;
  LoweredProgram lower(const Program& program,
                       const LowerOptions& options) const override;

 private:
  CpuPolicy policy_;
};

}  // namespace traingraph::cpu
