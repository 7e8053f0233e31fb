// SPDX-License-Identifier: MIT
#import "metal/mpsnn/compile_image_graph.h"

#import "metal/compile_graph.h"
#import "metal/guard.h"
#import "metal/mpsnn/filter_nodes.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

/// Stands for the parameters of filters that have no memory yet.
class NoParameters final : public FilterParameters {
 public:
  std::string label() const override { return {}; }
  float* host(const char*) const override { return nullptr; }
};

/// Makes all nodes once, to see what MPSNN refuses. They are made again when
/// the weights have memory.
void require_nodes(const ImageGraphPlan& plan) {
  NoParameters none;
  FilterNodes nodes(plan, [&none](int) { return &none; });
  FilterNodes* to_make = &nodes;
  const auto refused = run_guarded(^{
    to_make->make();
  });
  if (!refused) return;
  const int current = nodes.current();
  const bool is_known = current >= 0;
  throw UnsupportedError(
      ErrorInfo{.op = is_known ? plan.filter(current).class_name : "compile",
                .node = is_known ? plan.filter(current).label : plan.label,
                .what = "MPSNN refused this filter",
                .expected = {},
                .got = *refused,
                .hint = "Compile for device \"cpu\"."});
}

}  // namespace

std::unique_ptr<ImageGraphCode> compile_image_graph(const GpuDevice& device,
                                                    const Program& program,
                                                    const GpuUnit& unit,
                                                    const UnitArgs& args) {
  auto code = std::make_unique<ImageGraphCode>(
      device, plan_image_graph(program, unit, args));
  require_nodes(code->plan);
  for (std::size_t i = 0; i < unit.updates.size(); ++i) {
    const GpuUnit& update = unit.updates[i];
    code->updates.push_back(
        {update.updates_filter,
         compile_graph(device, program, update, args.updates[i]),
         write_backs(program, update, args.updates[i])});
  }
  return code;
}

}  // namespace traingraph::metal
