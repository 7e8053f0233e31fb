// SPDX-License-Identifier: MIT
// Of libcuda: graphs.
#include <span>

#include "driver/launch.h"

namespace traingraph::cuda {
using namespace cuda_emulator;

namespace {

/// Adds a node that follows others, or nothing.
Result add_node(Graph& graph, GraphNode* handle, Node node,
                std::span<const GraphNode> dependencies, int& index) {
  for (const GraphNode before : dependencies) {
    if (graph.find(before) < 0) return Result::InvalidValue;
  }
  *handle = static_cast<GraphNode>(Handles<Graph>::new_handle());
  index = graph.add(std::move(node), *handle);
  for (const GraphNode before : dependencies) {
    if (!graph.connect(graph.find(before), index, false)) {
      return Result::InvalidValue;
    }
  }
  return Result::Success;
}

}  // namespace

Result cuGraphCreate(GraphHandle* handle, unsigned flags) {
  EMULATED_CALL();
  if (flags != 0) return Result::InvalidValue;
  *handle =
      static_cast<GraphHandle>(state().graphs.add(std::make_shared<Graph>()));
  return Result::Success;
}

Result cuGraphDestroy(GraphHandle handle) {
  EMULATED_CALL();
  return state().graphs.remove(handle) ? Result::Success : kInvalidHandle;
}

Result cuGraphAddKernelNode_v2(GraphNode* handle, GraphHandle of,
                               const GraphNode* dependencies, std::size_t count,
                               const KernelNodeParams* params) {
  EMULATED_CALL();
  const auto graph = state().graphs.find(of);
  if (graph == nullptr) return kInvalidHandle;
  Node node;
  const Result result = make_kernel_node(*params, node);
  if (result != Result::Success) return result;
  int index;
  return add_node(*graph, handle, std::move(node), {dependencies, count},
                  index);
}

Result cuGraphAddChildGraphNode(GraphNode* handle, GraphHandle of,
                                const GraphNode* dependencies,
                                std::size_t count, GraphHandle child) {
  EMULATED_CALL();
  const auto graph = state().graphs.find(of);
  const auto inner = state().graphs.find(child);
  if (graph == nullptr || inner == nullptr) return kInvalidHandle;
  int index;
  const Result result =
      add_node(*graph, handle, {}, {dependencies, count}, index);
  if (result == Result::Success) {
    graph->children[index] = std::make_shared<Graph>(*inner);
  }
  return result;
}

Result cuGraphAddDependencies_v2(GraphHandle handle, const GraphNode* from,
                                 const GraphNode* to, const EdgeData* data,
                                 std::size_t count) {
  EMULATED_CALL();
  const auto graph = state().graphs.find(handle);
  if (graph == nullptr) return kInvalidHandle;
  for (std::size_t i = 0; i < count; ++i) {
    const EdgeData edge = data == nullptr ? EdgeData() : data[i];
    const bool is_programmatic = edge.type == 1;
    const bool is_known = edge.type <= 1 && edge.to_port == 0 &&
                          edge.from_port <= (is_programmatic ? 2 : 0);
    if (!is_known || !graph->connect(graph->find(from[i]), graph->find(to[i]),
                                     is_programmatic)) {
      return Result::InvalidValue;
    }
  }
  return Result::Success;
}

Result cuGraphInstantiateWithFlags(GraphExec* handle, GraphHandle of,
                                   unsigned long long flags) {
  EMULATED_CALL();
  const auto graph = state().graphs.find(of);
  if (graph == nullptr) return kInvalidHandle;
  if (flags != 0 || graph->has_cycle()) return Result::InvalidValue;
  auto executable = std::make_shared<Executable>();
  executable->nodes = std::make_shared<std::vector<Node>>(flattened(*graph));
  executable->by_handle = graph->by_handle;
  executable->graph = graph;
  executable->card = call.card();
  *handle =
      static_cast<GraphExec>(state().executables.add(std::move(executable)));
  return Result::Success;
}

/// Of launches from now on: those before have their own.
Result cuGraphExecKernelNodeSetParams_v2(GraphExec handle, GraphNode node,
                                         const KernelNodeParams* params) {
  EMULATED_CALL();
  const auto executable = state().executables.find(handle);
  if (executable == nullptr) return kInvalidHandle;
  const auto found = executable->by_handle.find(node);
  // The graph must live as long as its nodes are named.
  if (executable->graph.expired() || found == executable->by_handle.end()) {
    return Result::InvalidValue;
  }
  Node changed;
  const Result result = make_kernel_node(*params, changed);
  if (result != Result::Success) return result;
  if (executable->nodes.use_count() > 1) {
    executable->nodes = std::make_shared<std::vector<Node>>(*executable->nodes);
  }
  Node& kernel = (*executable->nodes)[static_cast<std::size_t>(found->second)];
  if (!kernel.kernel) return Result::InvalidValue;
  kernel.kernel = std::move(changed.kernel);
  return Result::Success;
}

Result cuGraphExecDestroy(GraphExec handle) {
  EMULATED_CALL();
  return state().executables.remove(handle) ? Result::Success : kInvalidHandle;
}

Result cuGraphUpload(GraphExec handle, StreamHandle to) {
  EMULATED_CALL();
  const auto executable = state().executables.find(handle);
  const auto stream = state().streams.find(to);
  if (executable == nullptr || stream == nullptr) return kInvalidHandle;
  return Result::Success;
}

/// Launches of one executable follow each other, whatever their streams.
Result cuGraphLaunch(GraphExec handle, StreamHandle to) {
  EMULATED_CALL();
  const auto executable = state().executables.find(handle);
  const auto stream = state().streams.find(to);
  if (executable == nullptr || stream == nullptr) return kInvalidHandle;
  if (stream->captured) return kCaptureUnsupported;
  if (executable->card != stream->card || uses_unloaded(*executable->nodes)) {
    return Result::InvalidValue;
  }
  Task task;
  task.run = runner(executable->nodes, take_next_launch_fault());
  task.after = std::exchange(executable->last, task.over);
  submit(stream, std::move(task));
  return Result::Success;
}

}  // namespace traingraph::cuda
