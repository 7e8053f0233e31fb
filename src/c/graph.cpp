// SPDX-License-Identifier: MIT
// Graphs of the C interface: files, memory, the optimizer's rate.
#include <algorithm>
#include <cstring>

#include "c/handles.h"
#include "c/status.h"
#include "runtime/session/session.h"
#include "traingraph/device.h"

namespace traingraph::c {
namespace {

Device device_of(const char* call, const tg_load_options& options) {
  const std::string name = options.device ? options.device : "any";
  if (options.threads != 0) {
    if (name != "cpu" && name != "any") {
      throw InvalidArgument(ErrorInfo{.op = call,
                                      .node = "threads",
                                      .what = "only a CPU device has threads",
                                      .expected = "\"cpu\"",
                                      .got = "\"" + name + "\""});
    }
    return Device::cpu(options.threads);
  }
  for (DeviceType type :
       {DeviceType::CPU, DeviceType::GPU, DeviceType::Any, DeviceType::Null}) {
    if (name == to_string(type)) return Device(type);
  }
  throw InvalidArgument(ErrorInfo{.op = call,
                                  .node = "device",
                                  .what = "there is no such device",
                                  .expected = "\"cpu\", \"gpu\" or \"any\"",
                                  .got = "\"" + name + "\""});
}

std::vector<StateTensor> listed(const MergedGraph::Names& names,
                                const Session& session) {
  std::vector<StateTensor> result;
  for (const auto& [name, tensor] : names) {
    result.push_back({name, session.objects.tensors[tensor].descriptor()});
  }
  return result;
}

/// Lists tensors in the order of tg_kind.
std::vector<std::vector<StateTensor>> tensors_of(const Session& session,
                                                 GraphHandle& handle) {
  const MergedGraph& graph = session.plan_cache->graph();
  std::vector<StateTensor> parameters;
  if (handle.training) {
    for (const Tensor& tensor : handle.training->parameters()) {
      parameters.push_back({tensor.name(), tensor.descriptor()});
    }
  }
  auto state = handle.any().state_tensors();
  auto slots = handle.any().state_tensors(/*with_optimizer=*/true);
  slots.erase(slots.begin(),
              slots.begin() + static_cast<std::ptrdiff_t>(state.size()));
  return {listed(graph.inputs, session),
          listed(graph.labels, session),
          listed(graph.label_weights, session),
          listed(graph.outputs, session),
          std::move(parameters),
          std::move(state),
          std::move(slots)};
}

tg_status load(const char* call, const char* path,
               const tg_load_options* options, tg_graph** graph,
               bool is_training) {
  return guarded([&] {
    required(call, "path", path);
    required(call, "graph", graph);
    const tg_load_options given = sized(call, options);
    const Device device = device_of(call, given);
    const LoadOptions load_options{.with_state = given.without_state == 0,
                                   .batch_size = given.batch_size};
    auto handle = std::make_shared<GraphHandle>();
    if (is_training) {
      handle->training.emplace(TrainingGraph::load(path, device, load_options));
      handle->tensors = tensors_of(handle->training->session(), *handle);
    } else {
      handle->inference.emplace(
          InferenceGraph::load(path, device, load_options));
      handle->tensors = tensors_of(handle->inference->session(), *handle);
    }
    *graph = static_cast<tg_graph*>(graphs().add(std::move(handle)));
  });
}

OptimizerPtr optimizer_of(const char* call, const tg_graph* graph) {
  auto optimizer = graph_of(call, graph)->trained(call).optimizer();
  if (optimizer) return optimizer;
  throw StateError(ErrorInfo{.op = call, .what = "the graph has no optimizer"});
}

}  // namespace
}  // namespace traingraph::c

using namespace traingraph;
using namespace traingraph::c;

tg_status tg_check_device(const char* device) {
  return guarded([&] {
    constexpr const char* kCall = "tg_check_device";
    tg_load_options options = empty<tg_load_options>();
    options.device = required(kCall, "device", device);
    device_of(kCall, options);
  });
}

tg_status tg_load_training(const char* path, const tg_load_options* options,
                           tg_graph** graph) {
  return load("tg_load_training", path, options, graph, /*is_training=*/true);
}

tg_status tg_load_inference(const char* path, const tg_load_options* options,
                            tg_graph** graph) {
  return load("tg_load_inference", path, options, graph,
              /*is_training=*/false);
}

tg_status tg_release_graph(tg_graph* graph) {
  return guarded([&] {
    if (!graph) return;
    graph_of("tg_release_graph", graph);
    graphs().take(graph);
  });
}

tg_status tg_device_name(tg_graph* graph, char* text, size_t room) {
  return guarded([&] {
    constexpr const char* kCall = "tg_device_name";
    const std::string name = graph_of(kCall, graph)->any().device()->name();
    required(kCall, "text", text);
    if (room == 0) {
      throw InvalidArgument(
          ErrorInfo{.op = kCall, .node = "room", .what = "there is no room"});
    }
    const std::size_t count = std::min(name.size(), room - 1);
    std::memcpy(text, name.data(), count);
    text[count] = '\0';
  });
}

tg_status tg_save(tg_graph* graph, const char* path) {
  return guarded([&] {
    const auto handle = graph_of("tg_save", graph);
    handle->any().save(required("tg_save", "path", path));
  });
}

tg_status tg_export_graph(tg_graph* graph, const char* path, int with_state) {
  return guarded([&] {
    const auto handle = graph_of("tg_export_graph", graph);
    handle->any().export_graph(required("tg_export_graph", "path", path),
                               {.with_state = with_state != 0});
  });
}

tg_status tg_restore(tg_graph* graph, const char* path) {
  return guarded([&] {
    const auto handle = graph_of("tg_restore", graph);
    handle->any().restore(required("tg_restore", "path", path));
  });
}

tg_status tg_synchronize(tg_graph* graph) {
  return guarded(
      [&] { graph_of("tg_synchronize", graph)->any().synchronize(); });
}

tg_status tg_learning_rate(tg_graph* graph, float* rate) {
  return guarded([&] {
    const auto optimizer = optimizer_of("tg_learning_rate", graph);
    *required("tg_learning_rate", "rate", rate) = optimizer->learning_rate();
  });
}

tg_status tg_set_learning_rate(tg_graph* graph, float rate) {
  return guarded([&] {
    optimizer_of("tg_set_learning_rate", graph)->set_learning_rate(rate);
  });
}

tg_status tg_memory(tg_graph* graph, tg_memory_report* report) {
  return guarded([&] {
    constexpr const char* kCall = "tg_memory";
    const MemoryReport memory = graph_of(kCall, graph)->any().memory();
    sized(kCall, required(kCall, "report", report));
    tg_memory_report result = empty<tg_memory_report>();
    result.parameter_bytes = memory.parameter_bytes;
    result.statistics_bytes = memory.statistics_bytes;
    result.optimizer_bytes = memory.optimizer_bytes;
    result.input_bytes = memory.input_bytes;
    result.constant_bytes = memory.constant_bytes;
    result.step_bytes = memory.step.arena_bytes;
    result.phases_bytes = memory.phases.arena_bytes;
    result.inference_bytes = memory.inference.arena_bytes;
    result.allocated_bytes = memory.allocated_bytes;
    give(result, report);
  });
}

tg_status tg_required_bytes(tg_graph* graph, int64_t batch_size,
                            size_t* bytes) {
  return guarded([&] {
    constexpr const char* kCall = "tg_required_bytes";
    const auto handle = graph_of(kCall, graph);
    *required(kCall, "bytes", bytes) = handle->any().required_bytes(batch_size);
  });
}
