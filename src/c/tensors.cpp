// SPDX-License-Identifier: MIT
// Tensors of the C interface, by name and as one array.
#include <algorithm>
#include <span>

#include "base/checked.h"
#include "c/handles.h"
#include "c/status.h"
#include "graph/stored_floats.h"

namespace traingraph::c {
namespace {

const std::vector<StateTensor>& list_of(const char* call,
                                        const GraphHandle& handle,
                                        tg_kind kind) {
  if (kind >= 0 && std::cmp_less(kind, handle.tensors.size())) {
    return handle.tensors[kind];
  }
  throw InvalidArgument(ErrorInfo{.op = call,
                                  .node = "kind",
                                  .what = "there is no such kind of tensors",
                                  .expected = "a tg_kind",
                                  .got = std::to_string(kind)});
}

void describe(const char* call, const StateTensor& tensor, tg_tensor* to) {
  sized(call, required(call, "tensor", to));
  tg_tensor result = empty<tg_tensor>();
  const TensorDescriptor& desc = tensor.descriptor;
  result.name = tensor.name.c_str();
  result.data_type = static_cast<tg_data_type>(desc.data_type);
  result.rank = desc.shape.rank();
  std::ranges::copy(desc.shape, result.shape);
  result.bytes = desc.size_bytes();
  give(result, to);
}

const StateTensor& find(
    const char* call,
    std::initializer_list<const std::vector<StateTensor>*> lists,
    const char* name) {
  required(call, "name", name);
  for (const auto* list : lists) {
    const auto it =
        std::ranges::find(*list, std::string_view(name), &StateTensor::name);
    if (it != list->end()) return *it;
  }
  throw InvalidArgument(ErrorInfo{.op = call,
                                  .node = name,
                                  .what = "there is no tensor of this name",
                                  .hint = "tg_tensor_at() lists them."});
}

void require_bytes(const char* call, const StateTensor& tensor,
                   std::size_t bytes) {
  const std::size_t expected = tensor.descriptor.size_bytes();
  if (bytes == expected) return;
  throw ShapeError(ErrorInfo{.op = call,
                             .node = tensor.name,
                             .what = "the memory has another size",
                             .expected = std::to_string(expected) + " bytes",
                             .got = std::to_string(bytes)});
}

const std::vector<StateTensor>& parameters_of(GraphHandle& handle,
                                              const char* call) {
  handle.trained(call);
  return list_of(call, handle, TG_PARAMETER);
}

std::size_t count_of(const StateTensor& tensor) {
  return static_cast<std::size_t>(tensor.descriptor.shape.num_elements());
}

std::size_t count_of(const std::vector<StateTensor>& tensors) {
  std::size_t count = 0;
  for (const StateTensor& tensor : tensors) count += count_of(tensor);
  return count;
}

/// A tensor's part of the caller's array.
template <class Float>
struct Part {
  const StateTensor& tensor;
  std::span<Float> values;

  DataType type() const { return tensor.descriptor.data_type; }
};

/// Gives each tensor its part, side by side in the caller's array.
template <class Float>
std::vector<Part<Float>> parts_of(const char* call,
                                  const std::vector<StateTensor>& tensors,
                                  Float* values, std::size_t count) {
  required(call, "values", values);
  const std::size_t expected = count_of(tensors);
  if (count != expected) {
    throw ShapeError(ErrorInfo{.op = call,
                               .node = "count",
                               .what = "the array has another size",
                               .expected = std::to_string(expected) + " floats",
                               .got = std::to_string(count)});
  }
  std::vector<Part<Float>> parts;
  for (const StateTensor& tensor : tensors) {
    parts.push_back({tensor, {values, count_of(tensor)}});
    values += count_of(tensor);
  }
  return parts;
}

/// The library reads or writes this: the caller's memory, or, of tensors that
/// are stored in fewer bits, memory beside it.
struct Beside {
  std::vector<std::vector<std::byte>> memory;
  std::vector<NamedData> list;

  template <class Float>
  explicit Beside(const std::vector<Part<Float>>& parts) {
    for (const Part<Float>& part : parts) {
      TensorData data(part.values.data(), part.values.size_bytes());
      memory.emplace_back();
      if (part.type() != DataType::Float32) {
        memory.back().resize(part.tensor.descriptor.size_bytes());
        data = TensorData(memory.back().data(), memory.back().size());
      }
      data.descriptor = part.tensor.descriptor;
      list.push_back({part.tensor.name, std::move(data)});
    }
  }
};

}  // namespace
}  // namespace traingraph::c

using namespace traingraph;
using namespace traingraph::c;

tg_status tg_count_tensors(tg_graph* graph, tg_kind kind, size_t* count) {
  return guarded([&] {
    constexpr const char* kCall = "tg_count_tensors";
    const auto handle = graph_of(kCall, graph);
    required(kCall, "count", count);
    *count = list_of(kCall, *handle, kind).size();
  });
}

tg_status tg_tensor_at(tg_graph* graph, tg_kind kind, size_t index,
                       tg_tensor* tensor) {
  return guarded([&] {
    constexpr const char* kCall = "tg_tensor_at";
    const auto handle = graph_of(kCall, graph);
    const auto& list = list_of(kCall, *handle, kind);
    if (index >= list.size()) {
      throw InvalidArgument(
          ErrorInfo{.op = kCall,
                    .node = "index",
                    .what = "there is no such tensor",
                    .expected = "below " + std::to_string(list.size()),
                    .got = std::to_string(index)});
    }
    describe(kCall, list[index], tensor);
  });
}

tg_status tg_find_tensor(tg_graph* graph, tg_kind kind, const char* name,
                         tg_tensor* tensor) {
  return guarded([&] {
    constexpr const char* kCall = "tg_find_tensor";
    const auto handle = graph_of(kCall, graph);
    const auto& list = list_of(kCall, *handle, kind);
    describe(kCall, find(kCall, {&list}, name), tensor);
  });
}

tg_status tg_read_tensor(tg_graph* graph, const char* name, void* data,
                         size_t bytes) {
  return guarded([&] {
    constexpr const char* kCall = "tg_read_tensor";
    const auto handle = graph_of(kCall, graph);
    const StateTensor& tensor =
        find(kCall,
             {&handle->tensors[TG_STATE], &handle->tensors[TG_OPTIMIZER_STATE]},
             name);
    require_bytes(kCall, tensor, bytes);
    handle->any().read_state_dict(
        {{tensor.name, TensorData(required(kCall, "data", data), bytes)}});
  });
}

tg_status tg_write_tensor(tg_graph* graph, const char* name, const void* data,
                          size_t bytes) {
  return guarded([&] {
    constexpr const char* kCall = "tg_write_tensor";
    const auto handle = graph_of(kCall, graph);
    const StateTensor& tensor =
        find(kCall,
             {&handle->tensors[TG_STATE], &handle->tensors[TG_OPTIMIZER_STATE]},
             name);
    require_bytes(kCall, tensor, bytes);
    handle->any().load_state_dict(
        {{tensor.name, TensorData(required(kCall, "data", data), bytes)}},
        /*strict=*/false);
  });
}

tg_status tg_count_parameters(tg_graph* graph, size_t* count) {
  return guarded([&] {
    constexpr const char* kCall = "tg_count_parameters";
    const auto handle = graph_of(kCall, graph);
    required(kCall, "count", count);
    *count = count_of(parameters_of(*handle, kCall));
  });
}

tg_status tg_read_parameters(tg_graph* graph, float* values, size_t count) {
  return guarded([&] {
    constexpr const char* kCall = "tg_read_parameters";
    const auto handle = graph_of(kCall, graph);
    const auto parts =
        parts_of(kCall, parameters_of(*handle, kCall), values, count);
    const Beside beside(parts);
    handle->any().read_state_dict(beside.list);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (beside.memory[i].empty()) continue;
      std::ranges::copy(upcast(beside.memory[i], parts[i].type()),
                        parts[i].values.begin());
    }
  });
}

tg_status tg_write_parameters(tg_graph* graph, const float* values,
                              size_t count) {
  return guarded([&] {
    constexpr const char* kCall = "tg_write_parameters";
    const auto handle = graph_of(kCall, graph);
    const auto parts =
        parts_of(kCall, parameters_of(*handle, kCall), values, count);
    Beside beside(parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (beside.memory[i].empty()) continue;
      store_floats(parts[i].values, parts[i].type(), beside.memory[i], kCall,
                   parts[i].tensor.name);
    }
    handle->any().load_state_dict(beside.list, /*strict=*/false);
  });
}

tg_status tg_read_gradients(tg_graph* graph, float* values, size_t count) {
  return guarded([&] {
    constexpr const char* kCall = "tg_read_gradients";
    const auto handle = graph_of(kCall, graph);
    const auto parts =
        parts_of(kCall, parameters_of(*handle, kCall), values, count);
    const TrainingGraph& training = handle->trained(kCall);
    const auto parameters = training.parameters();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::ranges::copy(training.gradient_data(parameters[i]),
                        parts[i].values.begin());
    }
  });
}

tg_status tg_write_gradients(tg_graph* graph, const float* values,
                             size_t count) {
  return guarded([&] {
    constexpr const char* kCall = "tg_write_gradients";
    const auto handle = graph_of(kCall, graph);
    parts_of(kCall, parameters_of(*handle, kCall), values, count);
    TrainingGraph& training = handle->trained(kCall);
    for (const Tensor& parameter : training.parameters()) {
      const auto size =
          static_cast<std::size_t>(parameter.shape().num_elements());
      training.set_gradient_data(parameter, {values, size});
      values += size;
    }
  });
}
