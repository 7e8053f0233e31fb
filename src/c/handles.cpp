// SPDX-License-Identifier: MIT
#include "c/handles.h"

#include "traingraph/error.h"

namespace traingraph::c {
namespace {

[[noreturn]] void fail(const char* call, const void* handle, const char* kind) {
  throw InvalidArgument(
      ErrorInfo{.op = call,
                .what = handle ? "the handle was released, or is none"
                               : "the handle is null",
                .expected = std::string("a handle of ") + kind});
}

}  // namespace

// Handles may live until the process ends.
Handles<GraphHandle>& graphs() {
  static auto* all = new Handles<GraphHandle>;
  return *all;
}
Handles<ExecutionHandle>& executions() {
  static auto* all = new Handles<ExecutionHandle>;
  return *all;
}

TrainingGraph& GraphHandle::trained(const char* call) {
  if (training) return *training;
  throw UnsupportedError(ErrorInfo{.op = call,
                                   .what = "this is an inference graph",
                                   .expected = "a training graph"});
}

std::shared_ptr<GraphHandle> graph_of(const char* call, const tg_graph* graph) {
  if (auto found = graphs().find(graph)) return found;
  fail(call, graph, "a graph");
}

std::shared_ptr<ExecutionHandle> execution_of(const char* call,
                                              const tg_execution* execution) {
  if (auto found = executions().find(execution)) return found;
  fail(call, execution, "an execution");
}

}  // namespace traingraph::c
