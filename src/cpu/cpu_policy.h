// SPDX-License-Identifier: MIT
// What the CPU adds to the lowering that all backends share.
#pragma once

#include "lowering/policy.h"

namespace traingraph::cpu {

class CpuPolicy final : public LoweringPolicy {
 public:
  /// Primitives get up to `num_threads`, by what their work is worth.
  explicit CpuPolicy(int num_threads) : num_threads_(num_threads) {}
  void lower(OpKind op, UnitBuilder& unit) const override;
  Fusions find_fusions(FusionSearch search) const override;
  CopyCode copy(const Layout& from, const Layout& to) const override;
  std::unique_ptr<UnitCode> copy_bytes(std::int64_t bytes) const override;
  void make_code(const Node& node, const NodeCost& cost,
                 const std::function<void()>& make) const override;
  std::int64_t code_variant() const override;
  bool gains_by_rounding() const override;

 private:
  int num_threads_;
};

}  // namespace traingraph::cpu
