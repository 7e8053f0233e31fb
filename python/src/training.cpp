// SPDX-License-Identifier: MIT
// TrainingGraph and InferenceGraph.
#include "device.h"
#include "execute.h"
#include "loss_like.h"
#include "signature.h"
#include "traingraph/training_graph.h"
#include "training_state.h"

namespace traingraph::python {
namespace {

using Arrays = std::optional<ArrayDict>;
using Outputs = std::optional<OutputDict>;
using StepHandler = std::optional<CompletionCallback>;
using Accumulate = Named<"bool | typing.Literal['sum', 'mean']">;
using Training = Handle<TrainingGraph, CompiledGraph>;
using Inference = Handle<InferenceGraph, CompiledGraph>;

// Before calls that wait while they hold the graph's lock, synchronize() waits
// without it: signal handlers run within a wait and may use the graph.

constexpr const char* kExecuteDoc =
    "Forward, loss, gradient and, with an optimizer, update.\n\n"
    "Data is name -> array of the declared shape, or of fewer samples on the "
    "batch axis, of all arrays as many: arrays with any strides and byte "
    "order, lists, data frames. "
    "Other types than the declared one convert as docs/data.md says, or are "
    "DTypeError. It is copied, and checked before anything is enqueued; it "
    "counts for this call alone; what is not given is what "
    "bind_and_write_data() bound last, or the tensor's host data, else "
    "InvalidArgument. skip_writing_input_data_to_device: ignores the data of "
    "this call. "
    "batch_size 0 is that of the data; the compiled one, when no data is "
    "given. outputs_data: writable arrays that "
    "receive declared outputs. synchronous: waits and raises the run's error. "
    "Raises ShapeError, DTypeError, InvalidArgument, StateError.";
constexpr const char* kForwardDoc =
    "Forward only; without data, on what is bound. forward_for_inference: "
    "dropout off, running statistics; bound labels count when the call is "
    "given "
    "no data at all. Otherwise as execute().";
constexpr const char* kGradientDoc =
    "Gradients of the last forward. Raises StateError without one.\n\n"
    "accumulate: joins those that wait for the update, with "
    "compile(accumulate_gradients=True). True: so that the update is that of "
    "one batch of all samples, as the losses' reduction says; InvalidArgument "
    "where that is neither of the others. \"sum\": adds them. \"mean\": has "
    "their mean, each pass counting by its samples. The first pass after an "
    "update replaces, as each does without.";
constexpr const char* kUpdateDoc =
    "Applies the gradients. Raises StateError without gradients or optimizer.";

Execution execute(TrainingGraph& self, const Arrays& inputs_data,
                  const Arrays& labels_data, const Arrays& weights_data,
                  std::int64_t batch_size, bool skip_writing, bool synchronous,
                  bool profiling, bool for_inference, bool per_layer,
                  const StepHandler& handler, const Outputs& outputs_data) {
  const auto used = [&](const Arrays& data) {
    return skip_writing ? Arrays() : data;
  };
  NamedArrays inputs(used(inputs_data), "execute", "inputs_data");
  NamedArrays labels(used(labels_data), "execute", "loss_labels_data");
  NamedArrays weights(used(weights_data), "execute", "loss_label_weights_data");
  return run("execute",
             {batch_size, skip_writing, synchronous, profiling, for_inference,
              per_layer, handler, outputs_data},
             {&inputs, &labels, &weights}, [&](const ExecuteOptions& options) {
               return self.execute(inputs.list(), labels.list(), weights.list(),
                                   options);
             });
}

Execution execute_forward(TrainingGraph& self, const Arrays& inputs_data,
                          const Arrays& labels_data, const Arrays& weights_data,
                          std::int64_t batch_size, bool synchronous,
                          bool profiling, bool for_inference, bool per_layer,
                          const StepHandler& handler,
                          const Outputs& outputs_data) {
  NamedArrays inputs(inputs_data, "execute_forward", "inputs_data");
  NamedArrays labels(labels_data, "execute_forward", "loss_labels_data");
  NamedArrays weights(weights_data, "execute_forward",
                      "loss_label_weights_data");
  const bool has_data = inputs_data || labels_data || weights_data;
  return run("execute_forward",
             {batch_size, false, synchronous, profiling, for_inference,
              per_layer, handler, outputs_data},
             {&inputs, &labels, &weights}, [&](const ExecuteOptions& options) {
               if (!has_data) return self.execute_forward(options);
               return self.execute_forward(inputs.list(), labels.list(),
                                           weights.list(), options);
             });
}

/// True is what the losses say.
GradientAccumulation to_accumulation(const Accumulate& value) {
  if (value.is(py::bool_(false))) return GradientAccumulation::None;
  if (value.is(py::bool_(true))) return GradientAccumulation::ByLoss;
  if (py::isinstance<py::str>(value)) {
    const auto name = value.cast<std::string>();
    if (name == "sum") return GradientAccumulation::Sum;
    if (name == "mean") return GradientAccumulation::Mean;
  }
  throw InvalidArgument(
      ErrorInfo{.op = "execute_gradient",
                .node = "accumulate",
                .what = "no way to add gradients up",
                .expected = "False, True, \"sum\" or \"mean\"",
                .got = py::repr(value).cast<std::string>(),
                .hint = {}});
}

Execution execute_gradient(TrainingGraph& self, const Accumulate& accumulate,
                           std::int64_t batch_size, bool synchronous,
                           bool profiling, bool per_layer,
                           const StepHandler& handler,
                           const Outputs& outputs_data) {
  return run("execute_gradient",
             {batch_size, false, synchronous, profiling, false, per_layer,
              handler, outputs_data, to_accumulation(accumulate)},
             {}, [&](const ExecuteOptions& options) {
               return self.execute_gradient(options);
             });
}

Execution execute_update(TrainingGraph& self, bool synchronous, bool profiling,
                         bool per_layer, const StepHandler& handler) {
  const Outputs no_outputs;
  return run(
      "execute_optimizer_update",
      {0, false, synchronous, profiling, false, per_layer, handler, no_outputs},
      {}, [&](const ExecuteOptions& options) {
        return self.execute_optimizer_update(options);
      });
}

Execution infer(InferenceGraph& self, const Arrays& inputs_data,
                const Arrays& labels_data, const Arrays& weights_data,
                std::int64_t batch_size, bool skip_writing, bool synchronous,
                bool profiling, bool per_layer, const StepHandler& handler,
                const Outputs& outputs_data) {
  const auto used = [&](const Arrays& data) {
    return skip_writing ? Arrays() : data;
  };
  NamedArrays inputs(used(inputs_data), "execute", "inputs_data");
  NamedArrays labels(used(labels_data), "execute", "loss_labels_data");
  NamedArrays weights(used(weights_data), "execute", "loss_label_weights_data");
  const bool has_labels = labels_data || weights_data;
  return run("execute",
             {batch_size, skip_writing, synchronous, profiling, false,
              per_layer, handler, outputs_data},
             {&inputs, &labels, &weights}, [&](const ExecuteOptions& options) {
               if (!has_labels) return self.execute(inputs.list(), options);
               return self.execute(inputs.list(), labels.list(), weights.list(),
                                   options);
             });
}

void bind_execute(Training& graph) {
  const py::arg_v synchronous = py::arg("synchronous") = false;
  const py::arg_v profiling = py::arg("profiling") = false;
  const py::arg_v per_layer = py::arg("per_layer_profiling") = false;
  const py::arg_v handler = py::arg("completion_handler") = py::none();
  const py::arg_v outputs = py::arg("outputs_data") = py::none();
  const py::arg_v batch = whole("batch_size") = 0;
  const py::arg_v inputs = py::arg("inputs_data") = py::none();
  const py::arg_v labels = py::arg("loss_labels_data") = py::none();
  const py::arg_v weights = py::arg("loss_label_weights_data") = py::none();
  const py::arg_v inference = py::arg("forward_for_inference") = false;
  const py::arg_v skip = py::arg("skip_writing_input_data_to_device") = false;
  graph
      .def("execute", &execute, inputs, labels, weights, py::kw_only(), batch,
           skip, synchronous, profiling, inference, per_layer, handler, outputs,
           kExecuteDoc)
      .def("execute_forward", &execute_forward, inputs, labels, weights,
           py::kw_only(), batch, synchronous, profiling, inference, per_layer,
           handler, outputs, kForwardDoc)
      .def("execute_gradient", &execute_gradient, py::kw_only(),
           py::arg("accumulate") = false, batch, synchronous, profiling,
           per_layer, handler, outputs, kGradientDoc)
      .def("execute_optimizer_update", &execute_update, py::kw_only(),
           synchronous, profiling, per_layer, handler, kUpdateDoc);
}

std::optional<Tensor> optional(const Tensor& tensor) {
  return tensor ? std::optional(tensor) : std::nullopt;
}

Array array_of(GradientView gradient) {
  return view(gradient.data, gradient.descriptor,
              holder_of(std::move(gradient.owner)), /*is_writable=*/true);
}

Array gradient(const TrainingGraph& self, const Tensor& parameter) {
  return array_of(without_gil([&] {
    self.synchronize();
    return self.gradient_view(parameter);
  }));
}

Array gradients(const TrainingGraph& self) {
  return array_of(without_gil([&] {
    self.synchronize();
    return self.gradients_view();
  }));
}

Array gradient_data(const TrainingGraph& self, const Tensor& parameter,
                    std::optional<const Layer*> layer) {
  const std::vector<float> values = without_gil([&] {
    self.synchronize();
    return layer ? self.gradient_data(parameter, **layer)
                 : self.gradient_data(parameter);
  });
  Array array = new_array({parameter.shape(), DataType::Float32});
  std::ranges::copy(std::as_bytes(std::span(values)), bytes_of(array).begin());
  return array;
}

void set_gradient_data(TrainingGraph& self, const Tensor& parameter,
                       const ArrayLike& values) {
  const Context context{"set_gradient_data", name_of(parameter)};
  const py::array array = converted(values, DataType::Float32, context);
  const TensorData data = read_only_data(array, context);
  require_descriptor(data, {parameter.shape(), DataType::Float32}, context);
  without_gil([&] {
    self.synchronize();
    self.set_gradient_data(parameter,
                           {reinterpret_cast<const float*>(data.bytes),
                            data.length / sizeof(float)});
  });
}

void bind_gradients(Training& graph) {
  graph
      .def(
          "gradient_tensor",
          [](const TrainingGraph& self, const Tensor& input) {
            return optional(
                without_gil([&] { return self.gradient_tensor(input); }));
          },
          py::arg("input"),
          "Gradient of an input tensor, or None when it is not computed. "
          "Read it with numpy().")
      .def("incoming_gradients", &TrainingGraph::incoming_gradients,
           py::arg("layer"),
           "Gradients of the layer's results, which its gradient reads.")
      .def("outgoing_gradients", &TrainingGraph::outgoing_gradients,
           py::arg("layer"),
           "Gradients of the layer's sources, which its gradient writes.")
      .def("source_gradient_tensors", &TrainingGraph::source_gradient_tensors,
           py::arg("layer"),
           "ML Compute's name of incoming_gradients: the sources of the "
           "gradient.")
      .def("result_gradient_tensors", &TrainingGraph::result_gradient_tensors,
           py::arg("layer"),
           "ML Compute's name of outgoing_gradients: the results of the "
           "gradient.")
      .def("gradient", &gradient, py::arg("parameter"),
           "The raw gradient of a parameter on the device: a writable view, to "
           "be edited between execute_gradient and execute_optimizer_update. "
           "Waits for work in flight. Valid until the next gradient pass.")
      .def_property_readonly("gradients", &gradients,
                             "All parameter gradients as one writable vector, "
                             "in the order of `parameters`; each starts at a "
                             "multiple of 64 bytes.")
      .def("gradient_data", &gradient_data, py::arg("parameter"),
           py::arg("layer") = py::none(),
           "A copy of the raw gradient of a parameter, on any device; with "
           "`layer`, of a parameter of that layer.")
      .def("set_gradient_data", &set_gradient_data, py::arg("parameter"),
           py::arg("values"),
           "Copies float32 values to the raw gradient of a parameter, on any "
           "device: between execute_gradient and execute_optimizer_update.")
      .def_property_readonly("parameters", &TrainingGraph::parameters,
                             "Trained parameters in order.");
}

void compile_optimizer(TrainingGraph& self, const OptimizerPtr& optimizer) {
  without_gil([&] {
    self.synchronize();
    self.compile_optimizer(optimizer);
  });
}

template <class Type>
void link(Type& self, const std::vector<Type>& graphs) {
  without_gil([&] {
    self.synchronize();
    for (const Type& graph : graphs) graph.synchronize();
    self.link(graphs);
  });
}

/// As typeshed has what is None in few programs: checkers know the properties,
/// and ask nobody to rule None out.
using OptimizerOrNone = Named<"traingraph._core.Optimizer | typing.Any">;

void bind_optimizer_methods(Training& graph) {
  graph
      .def_property_readonly(
          "optimizer",
          [](const TrainingGraph& self) {
            const OptimizerPtr optimizer =
                without_gil([&] { return self.optimizer(); });
            return OptimizerOrNone(optimizer ? py::cast(optimizer)
                                             : py::object(py::none()));
          },
          "The optimizer that the graph has; None where none was given.")
      .def("stop_gradient", &TrainingGraph::stop_gradient, py::arg("tensors"))
      .def("set_training_tensor_parameters",
           &TrainingGraph::set_training_tensor_parameters,
           py::arg("parameters"),
           "Input tensors that the optimizer trains as well.")
      .def("set_parameter_groups", &TrainingGraph::set_parameter_groups,
           py::arg("groups"),
           "What the optimizer does differently for some parameters; replaces "
           "the groups. Of several groups with one parameter the last one "
           "counts. Whichever optimizer is compiled has them. Raises "
           "InvalidArgument, StateError after compile.")
      .def("set_gradient", &TrainingGraph::set_gradient, py::arg("parameter"),
           py::arg("gradient"),
           "The gradient of `parameter` is `gradient`, a result of this shape "
           "of a node of the graph, and not what autodiff finds. Raises "
           "InvalidArgument, ShapeError; StateError after compile.")
      .def("allocate_user_gradient", &TrainingGraph::allocate_user_gradient,
           py::arg("tensor"),
           "A tensor to write the gradient of a layer's result into; it is "
           "added to what the graph itself contributes.")
      .def("compile_optimizer", &compile_optimizer,
           py::arg("optimizer").none(false),
           "Adds or replaces the optimizer; its buffers start with zeros.")
      .def("link", &link<TrainingGraph>, py::arg("graphs"),
           "Joins sub-graphs compiled with link_graphs, this one being the "
           "first in forward order. Graphs that read results of others run the "
           "compiled batch size only. A graph's forward comes after those of "
           "the graphs it reads, its gradient pass after those of the graphs "
           "that read it; else StateError.")
      .def(
          "bind_optimizer_data",
          [](TrainingGraph& self, const std::vector<DataLike>& data,
             const Tensor& parameter, const DeviceBuffers& device_data) {
            const ReadList list(data,
                                {"bind_optimizer_data", name_of(parameter)});
            without_gil([&] {
              self.synchronize();
              self.bind_optimizer_data(list.data, parameter,
                                       to_buffers(device_data));
            });
          },
          py::arg("data"), py::arg("parameter"), py::kw_only(),
          py::arg("device_data") = py::none(), kBindOptimizerDataDoc);
}

}  // namespace

void bind_training(py::module_& m) {
  Training training(m, "TrainingGraph",
                    "A graph that compiles for a device and trains.");
  training.def(
      py::init([](const std::vector<Graph>& graphs,
                  const std::optional<LossLike>& loss,
                  const std::optional<OptimizerPtr>& optimizer) {
        return TrainingGraph(graphs, to_losses(loss),
                             optimizer.value_or(nullptr));
      }),
      py::arg("graph_objects"), py::arg("loss") = py::none(),
      py::arg("optimizer") = py::none(),
      "loss: a layer, which is applied to the last result of the last graph "
      "object, or results that are to be minimized, by themselves or under "
      "names; without it, losses are nodes or gradients come from the user.");
  bind_execute(training);
  bind_gradients(training);
  bind_optimizer_methods(training);
  bind_training_state(training);
  bind_load(training);
  Inference inference(m, "InferenceGraph",
                      "A graph that compiles and runs forward.");
  bind_load(inference);
  inference.def(py::init<std::vector<Graph>>(), py::arg("graph_objects"))
      .def("link", &link<InferenceGraph>, py::arg("graphs"))
      .def("execute", &infer, py::arg("inputs_data") = py::none(),
           py::arg("loss_labels_data") = py::none(),
           py::arg("loss_label_weights_data") = py::none(), py::kw_only(),
           whole("batch_size") = 0,
           py::arg("skip_writing_input_data_to_device") = false,
           py::arg("synchronous") = false, py::arg("profiling") = false,
           py::arg("per_layer_profiling") = false,
           py::arg("completion_handler") = py::none(),
           py::arg("outputs_data") = py::none(),
           "Forward in inference form. Arguments as "
           "TrainingGraph.execute().");
}

}  // namespace traingraph::python
