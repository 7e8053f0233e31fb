// SPDX-License-Identifier: MIT
#include "runtime/execution/check_outputs.h"

#include <algorithm>

#include "graph/require_fits.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

std::string expected_names(const OutputPlan& plan) {
  std::string names;
  for (const OutputPlan::Entry& entry : plan.outputs) {
    names += names.empty() ? "one of \"" : ", \"";
    names += entry.name;
    names += '"';
  }
  return names.empty() ? "no names" : names;
}

const OutputPlan::Entry& require_computed(const char* call,
                                          const NamedData& item,
                                          const OutputPlan& plan,
                                          const MergedGraph& graph) {
  const auto it =
      std::ranges::find(plan.outputs, item.name, &OutputPlan::Entry::name);
  if (it != plan.outputs.end()) return *it;
  const bool is_declared = std::ranges::any_of(
      graph.outputs,
      [&](const auto& output) { return output.first == item.name; });
  throw InvalidArgument(
      ErrorInfo{.op = call,
                .node = std::string(item.name),
                .what = "this call computes no such output",
                .expected = expected_names(plan),
                .got = "\"" + std::string(item.name) + "\"",
                .hint = is_declared ? "Give it to the call that computes it: "
                                      "layers' outputs to the forward pass."
                                    : "Declare it with add_outputs."});
}

void require_writable(const char* call, const NamedData& item) {
  if (!item.data.is_immutable) return;
  throw InvalidArgument(ErrorInfo{.op = call,
                                  .node = std::string(item.name),
                                  .what = "the output buffer is read-only",
                                  .expected = "writable memory"});
}

}  // namespace

void check_outputs(const char* call, DataList outputs_data,
                   const OutputPlan& plan, const MergedGraph& graph) {
  for (const NamedData& item : outputs_data) {
    const TensorDescriptor& want =
        require_computed(call, item, plan, graph).desc;
    require_writable(call, item);
    require_fits(call, item.name, item.data,
                 {.desc = want, .name = "the output buffer"});
  }
}

}  // namespace traingraph
