// SPDX-License-Identifier: MIT
// TrainingGraph and InferenceGraph.
#include "device.h"
#include "execute.h"
#include "loss_like.h"
#include "named_tensors.h"
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

constexpr const char* kExecuteDoc = R"pbdoc(
        A whole step: forward, loss, gradient and, with an optimizer, update.

        It returns when the work is enqueued. Data is copied and checked before
        that, and counts for this call alone.

        Args:
            inputs_data: arrays by name, of the declared shapes or with fewer
                samples, as many in all of them: NumPy's with any strides and
                byte order, lists, data frames, tensors of other libraries.
                Other types than the declared ones convert as docs/data.md says.
                None, and for names that are missing: what bind_and_write_data()
                bound last, or what the tensors hold.
            loss_labels_data: labels, likewise.
            loss_label_weights_data: label weights, likewise.
            batch_size: samples of this run, the first ones of the data; 0: as
                many as the data has, and the compiled number without data.
            skip_writing_input_data_to_device: ignores the data of this call.
            synchronous: returns when the work is over, and raises its error.
            profiling: measures ExecutionResult.execution_time.
            forward_for_inference: runs forward and loss in inference form, and
                trains nothing.
            per_layer_profiling: measures layer_times and what profile() tells.
            completion_handler: called with the Execution when it is over, on a
                thread of the device.
            outputs_data: writable arrays by the names of declared outputs,
                which receive them; keep them until the end.

        Returns:
            The Execution. Its result() waits, and has the loss and outputs.

        Raises:
            InvalidArgument: a name that is not declared, data that is missing,
                a batch size out of range.
            ShapeError: an array of another shape, or of other samples.
            DTypeError: a type that does not convert.
            StateError: the graph is not compiled.

        Example:
            >>> result = training.execute({"x": points}, {"y": targets}).result()
            >>> result.outputs["h"].shape
            (8, 2)
            >>> half = training.execute({"x": points[:4]}, {"y": targets[:4]})
            >>> half.result().outputs["h"].shape
            (4, 2)
      )pbdoc";
constexpr const char* kForwardDoc = R"pbdoc(
        The forward pass and the losses; execute_gradient() comes next.

        Args:
            inputs_data: arrays by name, as execute() takes them.
            loss_labels_data: labels, likewise.
            loss_label_weights_data: label weights, likewise.
            batch_size: samples of this run; 0: as many as the data has.
            synchronous: returns when the work is over, and raises its error.
            profiling: measures ExecutionResult.execution_time.
            forward_for_inference: dropout is off and normalizations take their
                running statistics; no gradient pass can follow. Bound labels
                count when the call is given no data at all.
            per_layer_profiling: measures layer_times and what profile() tells.
            completion_handler: called with the Execution when it is over.
            outputs_data: writable arrays that receive declared outputs.

        Returns:
            The Execution; its result() has the loss and outputs.

        Raises:
            InvalidArgument: a name that is not declared, data that is missing,
                a batch size out of range.
            ShapeError: an array of another shape, or of other samples.
            DTypeError: a type that does not convert.
            StateError: the graph is not compiled.

        Example:
            >>> forward = training.execute_forward({"x": points}, {"y": targets})
            >>> forward.result().has_loss
            True
      )pbdoc";
constexpr const char* kGradientDoc = R"pbdoc(
        The gradient pass of the last forward pass.

        Afterwards gradients can be read and changed: see gradient(), gradients
        and set_gradient_data().

        Args:
            accumulate: what happens to gradients that wait for the update.
                False: they are replaced. "sum": these are added. "mean": their
                mean, each pass counting by its samples. True: "sum" or "mean",
                as the losses' reduction says, so that the update is that of one
                batch of all samples. The first pass after an update always
                replaces. For graphs with compile(accumulate_gradients=True).
            batch_size: samples; 0: those of the forward pass.
            synchronous: returns when the work is over, and raises its error.
            profiling: measures ExecutionResult.execution_time.
            per_layer_profiling: measures layer_times and what profile() tells.
            completion_handler: called with the Execution when it is over.
            outputs_data: writable arrays that receive declared outputs.

        Returns:
            The Execution.

        Raises:
            StateError: no forward pass waits for it; the graph is not compiled.
            InvalidArgument: accumulate is True and the losses have no one
                reduction; the graph has no room for it.

        Example:
            >>> training.compile("cpu", accumulate_gradients=True)
            >>> for half in (slice(4), slice(4, 8)):
            ...     batch = {"x": points[half]}, {"y": targets[half]}
            ...     forward = training.execute_forward(*batch)
            ...     gradient = training.execute_gradient(accumulate=True)
            >>> update = training.execute_optimizer_update()
      )pbdoc";
constexpr const char* kUpdateDoc = R"pbdoc(
        The optimizer's update with the gradients of the last gradient pass.

        Args:
            synchronous: returns when the work is over, and raises its error.
            profiling: measures ExecutionResult.execution_time.
            per_layer_profiling: measures layer_times and what profile() tells.
            completion_handler: called with the Execution when it is over.

        Returns:
            The Execution.

        Raises:
            StateError: there are no gradients, or no optimizer.

        Example:
            >>> forward = training.execute_forward({"x": points}, {"y": targets})
            >>> gradient = training.execute_gradient()
            >>> training.gradients[:] *= 0.5
            >>> update = training.execute_optimizer_update()
      )pbdoc";

Execution execute_step(TrainingGraph& self, const Arrays& inputs_data,
                       const Arrays& labels_data, const Arrays& weights_data,
                       std::int64_t batch_size, bool skip_writing,
                       bool synchronous, bool profiling, bool for_inference,
                       bool per_layer, const StepHandler& handler,
                       const Outputs& outputs_data) {
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
      .def("execute", &execute_step, inputs, labels, weights, py::kw_only(),
           batch, skip, synchronous, profiling, inference, per_layer, handler,
           outputs, kExecuteDoc)
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

/// What `training.gradients *= 0.5` ends with.
void set_gradients(const TrainingGraph& self, const py::object& values) {
  gradients(self)[py::ellipsis()] = values;
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
          R"pbdoc(
        The gradient of an input, which its numpy() reads after a run.

        Args:
            input: an input of the graph.

        Returns:
            A tensor of its shape; None when it is not computed, as without
            compile(compute_all_gradients=True).

        Raises:
            StateError: the graph is not compiled.

        Example:
            >>> training.compile("cpu", compute_all_gradients=True)
            >>> forward = training.execute_forward({"x": points}, {"y": targets})
            >>> gradient = training.execute_gradient()
            >>> training.gradient_tensor(x).numpy().shape
            (8, 4)
      )pbdoc")
      .def("incoming_gradients", &TrainingGraph::incoming_gradients,
           py::arg("layer"),
           R"pbdoc(
        Gradients of a layer's results, which its gradient reads.

        Args:
            layer: a layer of the graph.

        Returns:
            Those that can be read after a run, in the order of its results.
            With compile(debug_layers=True) those of layers that have
            is_debugging_enabled can.

        Raises:
            StateError: the graph is not compiled.

        Example:
            >>> dense = graph.layers[0]
            >>> dense.is_debugging_enabled = True
            >>> training.compile("cpu", debug_layers=True)
            >>> [tensor.shape for tensor in training.incoming_gradients(dense)]
            [(8, 2)]
      )pbdoc")
      .def("outgoing_gradients", &TrainingGraph::outgoing_gradients,
           py::arg("layer"),
           R"pbdoc(
        Gradients of a layer's sources, which its gradient writes.

        Args:
            layer: a layer of the graph.

        Returns:
            Those that can be read after a run, in the order of its sources; see
            incoming_gradients() and compile(compute_all_gradients=True).

        Raises:
            StateError: the graph is not compiled.

        Example:
            >>> training.compile("cpu", compute_all_gradients=True)
            >>> dense = graph.layers[0]
            >>> [tensor.shape for tensor in training.outgoing_gradients(dense)]
            [(8, 4)]
      )pbdoc")
      .def("source_gradient_tensors", &TrainingGraph::source_gradient_tensors,
           py::arg("layer"),
           R"pbdoc(
        ML Compute's name of incoming_gradients(): the gradient's sources.

        Args:
            layer: a layer of the graph.

        Raises:
            StateError: the graph is not compiled.

        Example:
            >>> training.source_gradient_tensors(graph.layers[0])
            []
      )pbdoc")
      .def("result_gradient_tensors", &TrainingGraph::result_gradient_tensors,
           py::arg("layer"),
           R"pbdoc(
        ML Compute's name of outgoing_gradients(): the gradient's results.

        Args:
            layer: a layer of the graph.

        Raises:
            StateError: the graph is not compiled.

        Example:
            >>> training.result_gradient_tensors(graph.layers[0])
            []
      )pbdoc")
      .def("gradient", &gradient, py::arg("parameter"),
           R"pbdoc(
        The gradient of a parameter on the device, to be read and changed.

        Between execute_gradient() and execute_optimizer_update(), that is.
        Waits for work in flight.

        Args:
            parameter: one of the trained parameters.

        Returns:
            A writable view of its shape, valid until the next gradient pass.

        Raises:
            StateError: execute_forward() and execute_gradient() did not run.
            InvalidArgument: it is not trained by this graph.
            UnsupportedError: the host does not see the device's memory:
                gradient_data() copies.

        Example:
            >>> forward = training.execute_forward({"x": points}, {"y": targets})
            >>> gradient = training.execute_gradient()
            >>> weights = training.tensor("fc.weights")
            >>> training.gradient(weights).clip(-1, 1).shape
            (2, 4)
      )pbdoc")
      .def_property("gradients", &gradients, &set_gradients,
                    R"pbdoc(
        All gradients of parameters as one writable vector on the device, in the
        order of `parameters`; each starts at a multiple of 64 bytes, and zeros
        are between them. Raises StateError unless execute_forward() and
        execute_gradient() ran, UnsupportedError for graphs that are linked.
      )pbdoc")
      .def("gradient_data", &gradient_data, py::arg("parameter"),
           py::arg("layer") = py::none(),
           R"pbdoc(
        A copy of the gradient of a parameter, on any device.

        Args:
            parameter: one of the trained parameters.
            layer: a layer that has to have it, as in ML Compute; None: any.

        Returns:
            A float32 array of its shape.

        Raises:
            StateError: execute_forward() and execute_gradient() did not run.
            InvalidArgument: it is not trained by this graph, or of another
                layer.

        Example:
            >>> forward = training.execute_forward({"x": points}, {"y": targets})
            >>> gradient = training.execute_gradient()
            >>> training.gradient_data(training.tensor("fc.biases")).shape
            (2,)
      )pbdoc")
      .def("set_gradient_data", &set_gradient_data, py::arg("parameter"),
           py::arg("values"),
           R"pbdoc(
        Replaces the gradient of a parameter, on any device.

        Between execute_gradient() and execute_optimizer_update(), that is.

        Args:
            parameter: one of the trained parameters.
            values: an array of its shape; it becomes float32.

        Raises:
            StateError: execute_forward() and execute_gradient() did not run.
            InvalidArgument: it is not trained by this graph.
            ShapeError: the array has another shape.

        Example:
            >>> forward = training.execute_forward({"x": points}, {"y": targets})
            >>> gradient = training.execute_gradient()
            >>> biases = training.tensor("fc.biases")
            >>> training.set_gradient_data(biases, [0, 0])
            >>> training.gradient_data(biases)
            array([0., 0.], dtype=float32)
      )pbdoc")
      .def_property_readonly("parameters", &TrainingGraph::parameters,
                             R"pbdoc(
        The trained parameters, in the order of `gradients`. Raises StateError
        before compile.
      )pbdoc");
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
          R"pbdoc(
        The optimizer that the graph has; None where none was given.
      )pbdoc")
      .def("stop_gradient", &TrainingGraph::stop_gradient, py::arg("tensors"),
           R"pbdoc(
        No gradient goes through these tensors; layers before them do not train.

        Args:
            tensors: results of nodes, or inputs, of the graph.

        Raises:
            InvalidArgument: a tensor of no node of the graph.
            StateError: the graph is compiled.

        Example:
            >>> graph = tg.Graph()
            >>> frozen = graph.node(tg.layers.FullyConnected(3), x)
            >>> h = graph.node(tg.layers.FullyConnected(2, name="head"), frozen)
            >>> training = tg.TrainingGraph([graph], h.mean())
            >>> training.add_inputs({"x": x})
            >>> training.stop_gradient([frozen])
            >>> training.compile("cpu")
            >>> [parameter.name for parameter in training.parameters]
            ['head.weights', 'head.biases']
      )pbdoc")
      .def("set_training_tensor_parameters",
           &TrainingGraph::set_training_tensor_parameters,
           py::arg("parameters"),
           R"pbdoc(
        Input tensors that the optimizer trains as well.

        Args:
            parameters: TensorParameters of tensors that hold values; they are
                not declared as inputs.

        Raises:
            StateError: the graph is compiled.

        Example:
            >>> image = tg.Tensor((8, 4), fill=0, name="image", batch_axis=None)
            >>> graph = tg.Graph()
            >>> h = graph.node(tg.layers.FullyConnected(2), image)
            >>> sgd = tg.optimizers.SGD(0.1)
            >>> training = tg.TrainingGraph([graph], h.mean(), sgd)
            >>> trained = tg.mlcompute.TensorParameter(image)
            >>> training.set_training_tensor_parameters([trained])
            >>> training.compile("cpu")
            >>> "image" in [parameter.name for parameter in training.parameters]
            True
      )pbdoc")
      .def("set_parameter_groups", &TrainingGraph::set_parameter_groups,
           py::arg("groups"),
           R"pbdoc(
        What the optimizer does differently for some parameters.

        Args:
            groups: ParameterGroups, which replace those that were set before.
                Of several with one parameter the last one counts. Whichever
                optimizer is compiled has them.

        Raises:
            InvalidArgument: a number out of range.
            StateError: the graph is compiled.

        Example:
            >>> graph = tg.Graph()
            >>> h = graph.node(tg.layers.FullyConnected(2), x)
            >>> biases = tg.parameters_of(graph, lambda _, p: len(p.shape) == 1)
            >>> adam = tg.optimizers.AdamW(1e-3, regularization_scale=0.01)
            >>> training = tg.TrainingGraph([graph], h.mean(), adam)
            >>> training.set_parameter_groups(
            ...     [tg.ParameterGroup(biases, weight_decay=0)]
            ... )
      )pbdoc")
      .def("set_gradient", &TrainingGraph::set_gradient, py::arg("parameter"),
           py::arg("gradient"),
           R"pbdoc(
        Replaces what autodiff finds as the gradient of a parameter.

        Args:
            parameter: a parameter that a node of the graph reads.
            gradient: a result of a node of the graph, of its shape.

        Raises:
            InvalidArgument: another tensor.
            ShapeError: the shapes differ.
            StateError: the graph is compiled.

        Example:
            >>> graph = tg.Graph()
            >>> dense = tg.layers.FullyConnected(2)
            >>> h = graph.node(dense, x)
            >>> training = tg.TrainingGraph([graph], h.mean())
            >>> training.set_gradient(dense.biases, h.max(axis=0))
      )pbdoc")
      .def("allocate_user_gradient", &TrainingGraph::allocate_user_gradient,
           py::arg("tensor"),
           R"pbdoc(
        A tensor to write the gradient of a result into.

        It is added to what the losses of the graph contribute; a graph without
        a loss trains by these alone. bind_and_write_data() writes it.

        Args:
            tensor: a result of a node of the graph.

        Returns:
            A tensor of its shape.

        Raises:
            InvalidArgument: no result of a node.
            StateError: the graph is compiled.

        Example:
            >>> graph = tg.Graph()
            >>> h = graph.node(tg.layers.FullyConnected(2), x)
            >>> training = tg.TrainingGraph([graph], optimizer=tg.optimizers.SGD(1))
            >>> training.add_inputs({"x": x})
            >>> slope = training.allocate_user_gradient(h)
            >>> training.compile("cpu")
            >>> training.bind_and_write_data({"h": targets}, {"h": slope})
      )pbdoc")
      .def("compile_optimizer", &compile_optimizer,
           py::arg("optimizer").none(false),
           R"pbdoc(
        Adds an optimizer to a compiled graph, or replaces the one it has.

        Args:
            optimizer: its buffers begin with zeros, or with what
                Tensor.synchronize_optimizer_data() has kept.

        Raises:
            StateError: the graph is not compiled, or linked.
            InvalidArgument: there is nothing that it could train.

        Example:
            >>> training.compile_optimizer(tg.optimizers.SGD(0.1))
            >>> training.optimizer
            <SGD learning_rate=0.1>
      )pbdoc")
      .def("link", &link<TrainingGraph>, py::arg("graphs"),
           R"pbdoc(
        Joins graphs that read each other's results, this one being the first.

        A graph's forward pass comes after those of the graphs it reads, its
        gradient pass after those of the graphs that read it; else StateError.
        Tensors in several of them share one buffer. Graphs that read results of
        others run the compiled batch size only.

        Args:
            graphs: the others, in forward order.

        Raises:
            StateError: one was not compiled with link_graphs.
            InvalidArgument: one is listed twice, they do not go together.

        Example:
            >>> first, second = tg.Graph(), tg.Graph()
            >>> h = first.node(tg.layers.FullyConnected(3), x)
            >>> z = second.node(tg.layers.FullyConnected(2), h)
            >>> front = tg.TrainingGraph([first])
            >>> back = tg.TrainingGraph([second], z.mean())
            >>> front.add_inputs({"x": x})
            >>> back.add_inputs({"h": h})
            >>> for part in (front, back):
            ...     part.compile("cpu", link_graphs=True)
            >>> front.link([back])
      )pbdoc")
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
          py::arg("device_data") = py::none(),
          R"pbdoc(
        Gives the optimizer's buffers of a parameter new values.

        Args:
            data: one array for each buffer, in the optimizer's order; it does
                not count with device_data.
            parameter: one of the trained parameters.
            device_data: buffers of a parameter of the same size, which are
                copied on the device after the work enqueued so far; None: data.

        Raises:
            InvalidArgument: the optimizer does not train it, another number of
                buffers.
            ShapeError: another size.
            DTypeError: a type that does not convert.
            StateError: the graph is not compiled.

        Example:
            >>> weights = training.tensor("fc.weights")
            >>> zeros = [np.zeros((2, 4)) for _ in weights.optimizer_data]
            >>> training.bind_optimizer_data(zeros, weights)
      )pbdoc");
}

/// What the constructor is given.
void declare(CompiledGraph& graph, const Declared& declared,
             const TensorMap& outputs) {
  without_gil([&] {
    if (!declared.inputs.empty() || !declared.loss_labels.empty()) {
      graph.add_inputs(declared.inputs, declared.loss_labels,
                       declared.loss_label_weights);
    }
    if (!outputs.empty()) graph.add_outputs(outputs);
  });
}

}  // namespace

void bind_training(py::module_& m) {
  Training training(m, "TrainingGraph",
                    R"pbdoc(
        A graph that compiles for a device and trains.

        In the order of use:

        - declare: add_inputs(), add_outputs(), stop_gradient(),
          set_parameter_groups(), set_training_tensor_parameters()
        - compile(), then memory, report(), largest_batch()
        - train: tg.fit(), or execute(); or its phases, execute_forward(),
          execute_gradient() and execute_optimizer_update(), between which
          gradient() and `gradients` are readable and writable
        - measure: execute(per_layer_profiling=True), profile()
        - keep: save(), restore(), state_dict(), load_state_dict(),
          export_graph(), load()

        Args:
            graph_objects: graphs, whose parameters it shares with other graphs
                that are made of them.
            loss: a layer of tg.losses, which is applied to the last result of
                the last graph; or scalar results that are minimized: one, a
                list, or a mapping by names. None: losses are nodes of the
                graphs, or gradients come from allocate_user_gradient().
            optimizer: one of tg.optimizers; None: compile_optimizer() may add
                it.
            inputs: as those of add_inputs(), which may declare more.
            loss_labels: likewise.
            loss_label_weights: likewise.
            outputs: as those of add_outputs().

        Raises:
            InvalidArgument: a loss that is no result of these graphs; what
                add_inputs() and add_outputs() raise.
            DTypeError: a loss that is not of floats.

        Example:
            >>> graph = tg.Graph()
            >>> h = graph.node(tg.layers.FullyConnected(2, name="fc"), x)
            >>> training = tg.TrainingGraph(
            ...     [graph],
            ...     tg.losses.MeanSquaredError(),
            ...     tg.optimizers.Adam(0.01),
            ...     inputs=x,
            ...     loss_labels=y,
            ...     outputs={"h": h},
            ... )
            >>> training.compile("cpu")
            >>> loss = training.execute({"x": points}, {"y": targets}).result().loss
      )pbdoc");
  training.def(
      py::init([](const std::vector<Graph>& graphs,
                  const std::optional<LossLike>& loss,
                  const std::optional<OptimizerPtr>& optimizer,
                  const NamedTensors& inputs, const NamedTensors& labels,
                  const NamedTensors& weights, const NamedTensors& outputs) {
        TrainingGraph graph(graphs, to_losses(loss),
                            optimizer.value_or(nullptr));
        declare(graph, to_declared(inputs, labels, weights, "TrainingGraph"),
                to_map(outputs, {"TrainingGraph", "outputs"}));
        return graph;
      }),
      py::arg("graph_objects"), py::arg("loss") = py::none(),
      py::arg("optimizer") = py::none(), py::kw_only(),
      py::arg("inputs") = py::none(), py::arg("loss_labels") = py::none(),
      py::arg("loss_label_weights") = py::none(),
      py::arg("outputs") = py::none());
  bind_execute(training);
  bind_gradients(training);
  bind_optimizer_methods(training);
  bind_training_state(training);
  bind_load(training);
  Inference inference(m, "InferenceGraph",
                      R"pbdoc(
        A graph that compiles for a device and runs forward, in inference form:
        dropout is off, normalizations take their running statistics.

        It shares parameters with training graphs of the same graph objects on
        the same device, and so runs with what they have learnt last.

        Args:
            graph_objects: the graphs.
            inputs: as those of add_inputs(), which may declare more.
            outputs: as those of add_outputs().

        Raises:
            CallError: no list of graphs.
            InvalidArgument: what add_inputs() and add_outputs() raise.

        Example:
            >>> inference = tg.InferenceGraph([graph], inputs=x, outputs={"h": h})
            >>> inference.compile("cpu")
            >>> inference.execute({"x": points}).result().outputs["h"].shape
            (8, 2)
      )pbdoc");
  bind_load(inference);
  inference
      .def(
          py::init([](const std::vector<Graph>& graphs,
                      const NamedTensors& inputs, const NamedTensors& outputs) {
            InferenceGraph graph(graphs);
            declare(graph, {to_map(inputs, {"InferenceGraph", "inputs"})},
                    to_map(outputs, {"InferenceGraph", "outputs"}));
            return graph;
          }),
          py::arg("graph_objects"), py::kw_only(),
          py::arg("inputs") = py::none(), py::arg("outputs") = py::none())
      .def("link", &link<InferenceGraph>, py::arg("graphs"),
           R"pbdoc(
        Joins graphs that read each other's results, this one being the first.

        Args:
            graphs: the others, in forward order.

        Raises:
            StateError: one was not compiled with link_graphs.
            InvalidArgument: one is listed twice, they do not go together.

        Example:
            >>> first, second = tg.Graph(), tg.Graph()
            >>> h = first.node(tg.layers.ReLU(), x)
            >>> z = second.node(tg.layers.Tanh(), h)
            >>> front, back = tg.InferenceGraph([first]), tg.InferenceGraph([second])
            >>> front.add_inputs({"x": x})
            >>> back.add_inputs({"h": h})
            >>> for part in (front, back):
            ...     part.compile("cpu", link_graphs=True)
            >>> front.link([back])
      )pbdoc")
      .def("execute", &infer, py::arg("inputs_data") = py::none(),
           py::arg("loss_labels_data") = py::none(),
           py::arg("loss_label_weights_data") = py::none(), py::kw_only(),
           whole("batch_size") = 0,
           py::arg("skip_writing_input_data_to_device") = false,
           py::arg("synchronous") = false, py::arg("profiling") = false,
           py::arg("per_layer_profiling") = false,
           py::arg("completion_handler") = py::none(),
           py::arg("outputs_data") = py::none(),
           R"pbdoc(
        The forward pass, in inference form.

        It returns when the work is enqueued. Data is copied and checked before
        that, and counts for this call alone.

        Args:
            inputs_data: arrays by name, as TrainingGraph.execute() takes them.
            loss_labels_data: labels of losses that are nodes of the graph.
            loss_label_weights_data: label weights, likewise.
            batch_size: samples of this run, the first ones of the data; 0: as
                many as the data has, and the compiled number without data.
            skip_writing_input_data_to_device: ignores the data of this call.
            synchronous: returns when the work is over, and raises its error.
            profiling: measures ExecutionResult.execution_time.
            per_layer_profiling: measures layer_times and what profile() tells.
            completion_handler: called with the Execution when it is over, on a
                thread of the device.
            outputs_data: writable arrays by the names of declared outputs,
                which receive them; keep them until the end.

        Returns:
            The Execution. Its result() waits, and has the outputs.

        Raises:
            InvalidArgument: a name that is not declared, data that is missing,
                a batch size out of range.
            ShapeError: an array of another shape, or of other samples.
            DTypeError: a type that does not convert.
            StateError: the graph is not compiled.

        Example:
            >>> h = np.empty((8, 2), np.float32)
            >>> execution = inference.execute({"x": points}, outputs_data={"h": h})
            >>> execution.result().outputs["h"].shape
            (8, 2)
      )pbdoc");
}

}  // namespace traingraph::python
