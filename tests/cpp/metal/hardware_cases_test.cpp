// SPDX-License-Identifier: MIT
// Every case of the table on a GPU that gets whatever is large wrong, where
// nearly everything is large: in tiles, each op is still what it was.
#include <gtest/gtest.h>

#include <algorithm>

#include "emulator/hardware_faults.h"
#include "metal/metal_backend.h"
#include "ops/case_program.h"
#include "support/reference_families.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

using emulator::Imitation;

/// Returns false when the device refuses the case.
bool check(const OpCase& op_case, const CaseProgram& built,
           const std::shared_ptr<DeviceContext>& gpu) {
  const Node& node = built.program.node(built.node);
  if (!gpu->target().reason_unsupported(built.program, node).empty()) {
    return false;
  }
  RefTensors contents = built.contents;
  const RefTensors expected = evaluate(op_case.op, op_case.attrs, contents);
  const std::vector<ValueId> kept = plain_results(built);
  try {
    ProgramRun run(built.program, kept, gpu);
    set_inputs(run, built);
    run.run();
    std::size_t next = 0;
    for (std::size_t r = 0; r < built.results.size(); ++r) {
      if (next == kept.size() || kept[next] != built.results[r]) continue;
      expect_close(get_tensor(run, built.program, kept[next++]), expected.at(r),
                   4 * std::max(op_case.tolerance, kTolerance));
    }
  } catch (const UnsupportedError&) {
    return false;
  }
  return true;
}

TEST(HardwareCases, AreWhatTheyWereInTiles) {
  const auto gpu = metal::make_context([](metal::GpuLimits& limits) {
    limits.max_matmul_extent = 3;
    limits.max_matmul_rows = 4;
    limits.writes_broadcasts = true;
    limits.max_convolution_extent = 6;
    limits.max_gradient_extent = 40;
    limits.writes_reshapes = true;
    limits.writes_turned_bfloat16 = true;
    limits.writes_weights = true;
    limits.min_gather_columns = 2;
  });
  const Imitation imitation({.max_product_extent = 4,
                             .loses_broadcast_rows = true,
                             .max_convolution_extent = 6,
                             .max_gradient_extent = 40,
                             .ends_at_depthwise_gradients = true,
                             .ends_at_products_of_reshapes = true,
                             .ends_at_turned_bfloat16 = true,
                             .ends_at_gathers_of_columns = true,
                             .misreads_views_of_weights = true});
  int num_run = 0;
  for (const OpCase& op_case : op_cases()) {
    SCOPED_TRACE(describe(op_case));
    // Thousands of tiles show no more than dozens.
    const bool is_huge =
        std::ranges::any_of(op_case.inputs, [](const auto& in) {
          return !in.shape.empty() && in.shape.num_elements() > 2000;
        });
    if (is_huge) continue;
    // Its channels are more than its images, rows and columns may be.
    const bool is_convolution = op_case.op == OpKind::Convolution2d;
    if (is_convolution && op_case.inputs[1].shape[0] > 6) continue;
    num_run += check(op_case, build(op_case), gpu);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(num_run, 500);
}

/// The largest tensor of the program of a case.
std::size_t largest_value(const Program& program) {
  std::size_t bytes = 4;
  for (const Value& value : program.values()) {
    if (!value.is_opaque) bytes = std::max(bytes, value.desc.size_bytes());
  }
  return bytes;
}

TEST(HardwareCases, MakeNoLargerTensorUnseen) {
  int num_run = 0, num_refused = 0;
  for (std::size_t i = 0; i < op_cases().size(); i += 5) {
    const OpCase& op_case = op_cases()[i];
    SCOPED_TRACE(describe(op_case));
    const CaseProgram built = build(op_case);
    const std::size_t most = largest_value(built.program);
    const auto gpu = metal::make_context(
        [&](auto& limits) { limits.max_tensor_bytes = most; });
    const Imitation imitation(
        {.max_tensor_bytes = static_cast<std::int64_t>(most)});
    const bool runs = check(op_case, built, gpu);
    num_run += runs;
    num_refused += !runs;
  }
  EXPECT_GT(num_run, 50);
  EXPECT_GT(num_refused, 0);
}

}  // namespace
}  // namespace traingraph::testing
