// SPDX-License-Identifier: MIT
#include "cuda/cuda_policy.h"

#include "cuda/code/kernel_writer.h"
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/matmul.h"
#include "cuda/ops/update.h"
#include "graph/op_def.h"
#include "traingraph/error.h"

namespace traingraph::cuda {

void CudaPolicy::lower(OpKind op, UnitBuilder& unit) const {
  kernel_of(op).lower(unit);
}

Fusions CudaPolicy::find_fusions(FusionSearch search) const {
  join_products(search);
  join_elementwise(search);
  join_updates(search);
  return std::move(search).take();
}

/// A slice of a gradient is read where it is.
bool CudaPolicy::joins_gradient(const Node& gradient) const {
  return gradient.op->kind == OpKind::Slice;
}

/// All is row-major here.
CopyCode CudaPolicy::copy(const Layout& from, const Layout& to) const {
  throw InternalError(ErrorInfo{.op = "compile",
                                .node = "gpu",
                                .what = "the device has one layout",
                                .got = std::to_string(from.rank()) +
                                       " axes to " +
                                       std::to_string(to.rank())});
}

std::unique_ptr<UnitCode> CudaPolicy::copy_bytes(std::int64_t bytes) const {
  KernelWriter kernel("map.cuh");
  const std::string x = kernel.pointer(0, DataType::UInt8);
  const std::string y = kernel.pointer(1, DataType::UInt8);
  const std::string n = kernel.number(bytes, /*varies=*/true);
  kernel.body("  map<4>(" + y + ", " + n + ", [&](Index i) { return " + x +
              "[i]; });\n");
  auto code = std::make_unique<CudaCode>();
  code->launches.push_back(
      std::move(kernel).launch(map_blocks(bytes, 4), kMapThreads));
  return code;
}

void CudaPolicy::make_code(const Node&, const NodeCost&,
                           const std::function<void()>& make) const {
  make();
}

}  // namespace traingraph::cuda
