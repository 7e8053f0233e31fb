// SPDX-License-Identifier: MIT
#include "cuda/cuda_target.h"

#include <algorithm>

#include "cuda/code/cuda_code.h"
#include "cuda/kernel_table.h"
#include "lowering/lowering.h"

namespace traingraph::cuda {
namespace {

/// A grid has fewer than 2^31 blocks, of at least 1,024 elements.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

}  // namespace

bool CudaTarget::computes(const Program& program, const Node& node) const {
  const auto has_kernel = [&](ValueId id) {
    if (id == kNoValue || program.value(id).is_opaque) return true;
    const DataType type = program.desc(id).data_type;
    return !is_half(type) || takes_half(node, type);
  };
  return std::ranges::all_of(node.inputs, has_kernel) &&
         std::ranges::all_of(node.outputs, has_kernel);
}

std::string CudaTarget::reason_unsupported(const Program& program,
                                           const Node& node) const {
  if (node.op->is_host) return {};
  if (kernel_of(node.op->kind).lower == nullptr) {
    return "the CUDA device has no kernels for it yet";
  }
  const auto is_too_large = [&](ValueId id) {
    return id != kNoValue && !program.value(id).is_opaque &&
           program.shape(id).num_elements() > kMaxElements;
  };
  if (std::ranges::any_of(node.inputs, is_too_large) ||
      std::ranges::any_of(node.outputs, is_too_large)) {
    return "the CUDA device takes tensors of at most " +
           std::to_string(kMaxElements) + " elements";
  }
  return {};
}

/// The unit's scratch memory gets the size that the algorithm needs.
void CudaTarget::find_algorithm(LibraryProduct& product, const Unit& unit,
                                LoweredProgram& lowered) const {
  product.algorithm = products_->find(product.request);
  lowered.storages[unit.args[product.workspace]].bytes =
      product.algorithm->workspace_bytes;
}

LoweredProgram CudaTarget::lower(const Program& program,
                                 const LowerOptions& options) const {
  LoweredProgram lowered = lower_program(program, options, *this, policy_);
  if (kernels_ == nullptr) return lowered;
  std::vector<Launch*> launches;
  for (Unit& unit : lowered.units) {
    if (unit.is_host) continue;
    for (CodeStep& step : static_cast<CudaCode&>(*unit.code).steps) {
      if (auto* const launch = std::get_if<Launch>(&step)) {
        launches.push_back(launch);
      } else {
        find_algorithm(std::get<LibraryProduct>(step), unit, lowered);
      }
    }
  }
  std::vector<KernelText> texts;
  for (const Launch* launch : launches) texts.push_back(launch->text);
  const auto kernels = kernels_->find(texts);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    launches[i]->kernel = kernels[i];
  }
  return lowered;
}

}  // namespace traingraph::cuda
