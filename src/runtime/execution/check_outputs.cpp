// SPDX-License-Identifier: MIT
#include "runtime/execution/check_outputs.h"

#include <algorithm>

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

void require_descriptor(const char* call, const NamedData& item,
                        const TensorDescriptor& want) {
  if (item.data.type() && *item.data.type() != want.data_type) {
    throw DTypeError(
        ErrorInfo{.op = call,
                  .node = std::string(item.name),
                  .what = "the output buffer has the wrong type",
                  .expected = std::string(to_string(want.data_type)),
                  .got = std::string(to_string(*item.data.type()))});
  }
  if (!item.data.descriptor) return;
  const TensorDescriptor& got = *item.data.descriptor;
  if (got.shape == want.shape) return;
  throw ShapeError(ErrorInfo{.op = call,
                             .node = std::string(item.name),
                             .what = "the output buffer has the wrong shape",
                             .expected = want.shape.to_string(),
                             .got = got.shape.to_string()});
}

void require_room(const char* call, const NamedData& item,
                  const TensorDescriptor& want) {
  if (item.data.is_immutable) {
    throw InvalidArgument(ErrorInfo{.op = call,
                                    .node = std::string(item.name),
                                    .what = "the output buffer is read-only",
                                    .expected = "writable memory"});
  }
  if (item.data.bytes && item.data.length >= want.size_bytes()) return;
  throw ShapeError(ErrorInfo{.op = call,
                             .node = std::string(item.name),
                             .what = "the output buffer is too small",
                             .expected = std::to_string(want.size_bytes()) +
                                         " bytes, " + want.to_string(),
                             .got = std::to_string(item.data.length)});
}

}  // namespace

void check_outputs(const char* call, DataList outputs_data,
                   const OutputPlan& plan, const MergedGraph& graph) {
  for (const NamedData& item : outputs_data) {
    const TensorDescriptor& want =
        require_computed(call, item, plan, graph).desc;
    require_descriptor(call, item, want);
    require_room(call, item, want);
  }
}

}  // namespace traingraph
