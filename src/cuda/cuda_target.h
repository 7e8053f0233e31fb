// SPDX-License-Identifier: MIT
// A card as the compiler sees it: a unit is a few launches of kernels that are
// compiled for this program, unless an equal one is known.
#pragma once

#include "compiler/target.h"
#include "cuda/card.h"
#include "cuda/code/cuda_code.h"
#include "cuda/code/kernel_store.h"
#include "cuda/code/library_product.h"
#include "cuda/cuda_policy.h"

namespace traingraph::cuda {

class CudaTarget final : public Target {
 public:
  /// Without `kernels` nothing is compiled, and the program cannot run.
  CudaTarget(const CardLimits& limits, KernelStore* kernels,
             ProductLibrary* products = nullptr)
      : limits_(limits),
        kernels_(kernels),
        products_(products),
        policy_(limits) {}
  std::string_view name() const override { return "gpu"; }
  std::size_t alignment() const override { return 256; }
  bool joins_phases() const override { return true; }
  bool wants_batch_extents() const override { return true; }
  bool computes(const Program& program, const Node& node) const override;
  std::string reason_unsupported(const Program& program,
                                 const Node& node) const override;
  LoweredProgram lower(const Program& program,
                       const LowerOptions& options) const override;

 private:
  void find_algorithm(LibraryProduct& product, const Unit& unit,
                      LoweredProgram& lowered) const;

  const CardLimits& limits_;
  KernelStore* kernels_;
  ProductLibrary* products_;
  CudaPolicy policy_;
};

}  // namespace traingraph::cuda
