// SPDX-License-Identifier: MIT
// Executions of the C interface.
#include <algorithm>

#include "c/handles.h"
#include "c/status.h"

namespace traingraph::c {
namespace {

bool is_type(tg_data_type type) {
  return std::ranges::count(kDataTypes, static_cast<DataType>(type)) > 0;
}

std::optional<TensorDescriptor> descriptor_of(const char* call,
                                              const tg_data& data) {
  if (data.data_type == 0) return std::nullopt;
  if (!is_type(data.data_type)) {
    throw DTypeError(ErrorInfo{.op = call,
                               .node = data.name,
                               .what = "there is no such data type",
                               .expected = "a tg_data_type",
                               .got = std::to_string(data.data_type)});
  }
  if (data.rank < 1 || data.rank > TG_MAX_RANK) {
    throw ShapeError(ErrorInfo{.op = call,
                               .node = data.name,
                               .what = "data with a type has a shape, too",
                               .expected = "a rank of 1 to 8",
                               .got = std::to_string(data.rank)});
  }
  return TensorDescriptor{
      Shape(std::span(data.shape, static_cast<std::size_t>(data.rank))),
      static_cast<DataType>(data.data_type)};
}

std::vector<NamedData> list_of(const char* call, const char* name,
                               const tg_data* data, std::size_t count,
                               bool is_written) {
  std::vector<NamedData> list;
  if (count > 0) required(call, name, data);
  for (std::size_t i = 0; i < count; ++i) {
    required(call, name, data[i].name);
    required(call, data[i].name, data[i].data);
    TensorData bytes =
        is_written
            ? TensorData(data[i].data, data[i].bytes)
            : TensorData(static_cast<const void*>(data[i].data), data[i].bytes);
    bytes.descriptor = descriptor_of(call, data[i]);
    list.push_back({data[i].name, std::move(bytes)});
  }
  return list;
}

CompletionHandler handler_of(const tg_run& run) {
  if (!run.completion_handler) return {};
  return [callback = run.completion_handler,
          context = run.context](const Execution& execution) {
    Failure failure;
    if (const auto error = execution.exception()) failure = failure_of(error);
    callback(context, failure.status, failure.text.c_str());
  };
}

/// Options and data of one call.
struct Run {
  Run(const char* call, const tg_run* given) : run(sized(call, given)) {
    inputs = list_of(call, "inputs", run.inputs, run.num_inputs, false);
    labels = list_of(call, "labels", run.labels, run.num_labels, false);
    weights = list_of(call, "label_weights", run.label_weights,
                      run.num_label_weights, false);
    outputs = list_of(call, "outputs", run.outputs, run.num_outputs, true);
  }
  ExecuteOptions options() const {
    return {.batch_size = run.batch_size,
            .synchronous = run.synchronous != 0,
            .forward_for_inference = run.forward_for_inference != 0,
            .completion_handler = handler_of(run),
            .outputs_data = outputs};
  }
  bool has_data() const {
    return !inputs.empty() || !labels.empty() || !weights.empty();
  }

  /// Passes that use what the forward pass was given have these options.
  ExecuteOptions options_without_data(const char* call) const {
    if (has_data()) {
      throw InvalidArgument(ErrorInfo{
          .op = call,
          .what = "the pass takes no data",
          .expected = "inputs, labels and label_weights with the forward pass",
          .hint = "It uses those that tg_execute_forward was given."});
    }
    return options();
  }

  tg_run run;
  std::vector<NamedData> inputs, labels, weights, outputs;
};

/// `to` may be null: what is enqueued runs without a handle.
template <class Start>
tg_status start(const char* call, tg_graph* graph, const tg_run* given,
                tg_execution** to, const Start& enqueue) {
  return guarded([&] {
    const auto handle = graph_of(call, graph);
    const Run run(call, given);
    Execution execution = enqueue(*handle, run);
    if (!to) return;
    auto made = std::make_shared<ExecutionHandle>(std::move(execution));
    *to = static_cast<tg_execution*>(executions().add(std::move(made)));
  });
}

}  // namespace
}  // namespace traingraph::c

using namespace traingraph;
using namespace traingraph::c;

tg_status tg_execute(tg_graph* graph, const tg_run* run,
                     tg_execution** execution) {
  constexpr const char* kCall = "tg_execute";
  return start(kCall, graph, run, execution,
               [](GraphHandle& handle, const Run& r) {
                 if (handle.training) {
                   return handle.training->execute(r.inputs, r.labels,
                                                   r.weights, r.options());
                 }
                 if (r.labels.empty() && r.weights.empty()) {
                   return handle.inference->execute(r.inputs, r.options());
                 }
                 return handle.inference->execute(r.inputs, r.labels, r.weights,
                                                  r.options());
               });
}

tg_status tg_execute_forward(tg_graph* graph, const tg_run* run,
                             tg_execution** execution) {
  constexpr const char* kCall = "tg_execute_forward";
  return start(kCall, graph, run, execution,
               [](GraphHandle& handle, const Run& r) {
                 TrainingGraph& graph = handle.trained(kCall);
                 if (!r.has_data()) return graph.execute_forward(r.options());
                 return graph.execute_forward(r.inputs, r.labels, r.weights,
                                              r.options());
               });
}

tg_status tg_execute_gradient(tg_graph* graph, const tg_run* run,
                              tg_execution** execution) {
  constexpr const char* kCall = "tg_execute_gradient";
  return start(kCall, graph, run, execution,
               [](GraphHandle& handle, const Run& r) {
                 return handle.trained(kCall).execute_gradient(
                     r.options_without_data(kCall));
               });
}

tg_status tg_execute_optimizer_update(tg_graph* graph, const tg_run* run,
                                      tg_execution** execution) {
  constexpr const char* kCall = "tg_execute_optimizer_update";
  return start(kCall, graph, run, execution,
               [](GraphHandle& handle, const Run& r) {
                 return handle.trained(kCall).execute_optimizer_update(
                     r.options_without_data(kCall));
               });
}

tg_status tg_wait(tg_execution* execution) {
  return guarded([&] { execution_of("tg_wait", execution)->execution.wait(); });
}

tg_status tg_is_done(tg_execution* execution, int* is_done) {
  return guarded([&] {
    const auto handle = execution_of("tg_is_done", execution);
    *required("tg_is_done", "is_done", is_done) =
        handle->execution.done() ? 1 : 0;
  });
}

tg_status tg_loss(tg_execution* execution, float* loss) {
  return guarded([&] {
    const auto handle = execution_of("tg_loss", execution);
    required("tg_loss", "loss", loss);
    *loss = handle->execution.result().loss();
  });
}

tg_status tg_release_execution(tg_execution* execution) {
  return guarded([&] {
    if (!execution) return;
    execution_of("tg_release_execution", execution);
    executions().take(execution);
  });
}
