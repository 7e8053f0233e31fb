// SPDX-License-Identifier: MIT
// What cards add to the lowering that all backends share.
#pragma once

#include "cuda/card.h"
#include "lowering/policy.h"

namespace traingraph::cuda {

class CudaPolicy final : public LoweringPolicy {
 public:
  explicit CudaPolicy(const CardLimits& limits) : limits_(limits) {}
  void lower(OpKind op, UnitBuilder& unit) const override;
  Fusions find_fusions(FusionSearch search) const override;
  bool joins_gradient(const Node& gradient) const override;
  CopyCode copy(const Layout& from, const Layout& to) const override;
  std::unique_ptr<UnitCode> copy_bytes(std::int64_t bytes) const override;
  void make_code(const Node& node, const NodeCost& cost,
                 const std::function<void()>& make) const override;

 private:
  const CardLimits& limits_;
};

}  // namespace traingraph::cuda
