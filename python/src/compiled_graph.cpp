// SPDX-License-Identifier: MIT
// CompiledGraph: declaring, compiling, memory, and what is on the device.
#include "arrays.h"
#include "data_parallel.h"
#include "device.h"
#include "named_tensors.h"
#include "traingraph/training_graph.h"

namespace traingraph::python {
namespace {

using OptionalTensors = std::optional<TensorMap>;
using OptionalArrays = std::optional<ArrayDict>;

void bind_memory(py::module_& m) {
  using Plan = PlanMemory;
  BoundClass<Plan>(m, "PlanMemory",
                   R"pbdoc(
        Bytes of one plan: of execute(), of the phases, or of inference.

        The parts overlap in time, so they do not add up to arena_bytes, which
        is what is allocated. See CompiledGraph.memory.

        Example:
            >>> step = training.memory.step
            >>> step.live_peak_bytes <= step.arena_bytes <= step.unplanned_bytes
            True
      )pbdoc")
      .def_readonly("arena_bytes", &Plan::arena_bytes, "Bytes of the arena.")
      .def_readonly("live_peak_bytes", &Plan::live_peak_bytes,
                    R"pbdoc(
        The most bytes that are alive at one time; no plan can be smaller.
      )pbdoc")
      .def_readonly("unplanned_bytes", &Plan::unplanned_bytes,
                    "Bytes that the arena would have without any reuse.")
      .def_readonly("saved_bytes", &Plan::saved_bytes,
                    "Bytes that the forward pass keeps for the gradient pass.")
      .def_readonly("gradient_bytes", &Plan::gradient_bytes,
                    "Bytes of all gradients of parameters.")
      .def_readonly("workspace_bytes", &Plan::workspace_bytes,
                    "Scratch memory of single units.")
      .def_readonly("is_allocated", &Plan::is_allocated,
                    "Did an execution allocate the arena?");
  using Report = MemoryReport;
  BoundClass<Report>(m, "MemoryReport",
                     R"pbdoc(
        Device bytes of a compiled graph, to the byte, known before anything is
        allocated. Prints as a table. See CompiledGraph.memory.

        Example:
            >>> memory = training.memory
            >>> memory.parameter_bytes  # weights and biases: 64 bytes each
            128
            >>> memory.optimizer_bytes  # two buffers for each, of Adam
            256
      )pbdoc")
      .def_readonly("parameter_bytes", &Report::parameter_bytes,
                    "Bytes of parameters that this graph brings.")
      .def_readonly("statistics_bytes", &Report::statistics_bytes,
                    "Bytes of running statistics that this graph brings.")
      .def_readonly("optimizer_bytes", &Report::optimizer_bytes,
                    "Bytes of the optimizer's buffers.")
      .def_readonly("input_bytes", &Report::input_bytes,
                    "Bytes of inputs, labels and label weights.")
      .def_readonly("constant_bytes", &Report::constant_bytes,
                    "Bytes of constants.")
      .def_readonly("accumulator_bytes", &Report::accumulator_bytes,
                    R"pbdoc(
        Bytes of gradient accumulators: of graphs that are linked, and of those
        compiled with accumulate_gradients.
      )pbdoc")
      .def_readonly("staging_bytes", &Report::staging_bytes,
                    R"pbdoc(
        Bytes of transfer buffers of executions in flight; not part of the sums.
      )pbdoc")
      .def_readonly("shared_bytes", &Report::shared_bytes,
                    R"pbdoc(
        Bytes of parameters that another graph on the device holds already.
      )pbdoc")
      .def_readonly("step", &Report::step, "The plan of execute().")
      .def_readonly("phases", &Report::phases,
                    R"pbdoc(
        The plan of execute_forward(), execute_gradient() and
        execute_optimizer_update().
      )pbdoc")
      .def_readonly(
          "inference", &Report::inference,
          "The plan of forward_for_inference, and of inference graphs.")
      .def_readonly("persistent_bytes", &Report::persistent_bytes,
                    "Bytes that the first execution allocates, whatever it is.")
      .def_readonly(
          "predicted_bytes", &Report::predicted_bytes,
          "Bytes of the arenas that are allocated so far, as planned.")
      .def_readonly("engine_bytes", &Report::engine_bytes,
                    R"pbdoc(
        Bytes that the device's engine (MPSGraph) holds besides, for all graphs
        of the process: measured now; 0 on the CPU.
      )pbdoc")
      .def_readonly("allocated_bytes", &Report::allocated_bytes,
                    R"pbdoc(
        Bytes of the arenas that are allocated so far, as the device counts
        them.
      )pbdoc")
      .def("total_bytes", &Report::total_bytes, py::arg("with_step"),
           py::arg("with_phases") = false, py::arg("with_inference") = false,
           R"pbdoc(
        The bytes of a graph that is used so: persistent_bytes plus its arenas.

        Args:
            with_step: does it run execute()?
            with_phases: does it run execute_forward(), execute_gradient() and
                execute_optimizer_update()?
            with_inference: does it run in inference form?

        Returns:
            Bytes on the device.

        Raises:
            CallError: an argument of another type.

        Example:
            >>> memory = training.memory
            >>> memory.total_bytes(with_step=True) == (
            ...     memory.persistent_bytes + memory.step.arena_bytes
            ... )
            True
      )pbdoc")
      .def("__str__", &Report::to_string);
}

/// What the device does otherwise than the precision says.
void warn_of_notes(const CompiledGraph& self) {
  const auto notes = without_gil([&] { return self.notes(); });
  for (const std::string& note : notes) {
    const py::str text(note);  // a name may have a NUL
    if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "%U", text.ptr()) != 0) {
      throw py::error_already_set();
    }
  }
}

void compile(CompiledGraph& self, const DeviceLike& device, bool debug_layers,
             bool disable_layer_fusion, bool link_graphs,
             bool compute_all_gradients, bool accumulate_gradients,
             Precision precision, bool reuse_memory, bool poison_memory,
             double max_gpu_ms, std::size_t batch_plans_bytes,
             const std::optional<DeviceLike>& verify,
             std::optional<double> verify_tolerance,
             const OptionalTensors& input_tensors,
             const OptionalArrays& input_tensors_data,
             const std::optional<CollectiveLike>& collective,
             const RankGradients& gradients_of_ranks, std::size_t bucket_bytes,
             bool shard_optimizer, bool reduce_losses,
             bool synchronize_batch_norm, double collective_timeout,
             const std::optional<BucketHook>& on_bucket) {
  const Device target = to_device(device);
  NamedArrays constants(input_tensors_data, "compile", "input_tensors_data");
  if (input_tensors) constants.convert_to(*input_tensors);
  std::optional<Device> reference;
  if (verify) reference = to_device(*verify);
  const CompileOptions options{
      .debug_layers = debug_layers,
      .disable_layer_fusion = disable_layer_fusion,
      .link_graphs = link_graphs,
      .compute_all_gradients = compute_all_gradients,
      .accumulate_gradients = accumulate_gradients,
      .precision = precision,
      .reuse_memory = reuse_memory,
      .poison_memory = poison_memory,
      .max_gpu_ms = max_gpu_ms,
      .batch_plans_bytes = batch_plans_bytes,
      .verify = std::move(reference),
      .verify_tolerance = verify_tolerance,
      .data_parallel = to_data_parallel({collective, gradients_of_ranks,
                                         bucket_bytes, shard_optimizer,
                                         reduce_losses, synchronize_batch_norm,
                                         collective_timeout, on_bucket})};
  without_gil([&] {
    self.synchronize();  // holding no lock: signal handlers may use the graph
    self.compile(target, options, input_tensors.value_or(TensorMap()),
                 constants.list());
  });
  if (precision == Precision::Float32) return;
  warn_of_notes(self);
}

template <TensorMap (CompiledGraph::*kMap)() const>
TensorMap declared(const CompiledGraph& self) {
  return without_gil([&] { return (self.*kMap)(); });
}

void bind_declarations(Handle<CompiledGraph, Graph>& graph) {
  graph
      .def(
          "add_inputs",
          [](CompiledGraph& self, const NamedTensors& inputs,
             const NamedTensors& labels, const NamedTensors& weights) {
            const Declared all =
                to_declared(inputs, labels, weights, "add_inputs");
            without_gil([&] {
              self.add_inputs(all.inputs, all.loss_labels,
                              all.loss_label_weights);
            });
          },
          py::arg("inputs"), py::arg("loss_labels") = py::none(),
          py::arg("loss_label_weights") = py::none(),
          R"pbdoc(
        Declares what every execution is given data for.

        Args:
            inputs: tensors by the names of their data; or a tensor or several,
                whose own names they are.
            loss_labels: labels of the losses, likewise; None: there are none.
            loss_label_weights: what each label counts, likewise; None: all 1.

        Raises:
            InvalidArgument: a name comes twice, a tensor that is given without
                one has none. compile() raises it for a tensor that no node
                reads.
            StateError: the graph is compiled.

        Example:
            >>> graph = tg.Graph()
            >>> h = graph.node(tg.layers.FullyConnected(2), x)
            >>> training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError())
            >>> training.add_inputs({"x": x}, {"y": y})
            >>> list(training.inputs), list(training.loss_labels)
            (['x'], ['y'])
      )pbdoc")
      .def(
          "add_outputs",
          [](CompiledGraph& self, const NamedTensors& outputs) {
            const Context context{"add_outputs", "outputs"};
            if (!outputs)
              refuse(context, "there are no outputs",
                     "tensors, or a mapping of names to tensors", "None",
                     "add_outputs({\"y\": y})");
            const TensorMap map = to_map(outputs, context);
            without_gil([&] { self.add_outputs(map); });
          },
          py::arg("outputs"),
          R"pbdoc(
        Declares what each execution returns.

        Args:
            outputs: tensors by the names that ExecutionResult.outputs has them
                by; or a tensor or several, whose own names they are.

        Raises:
            InvalidArgument: a name comes twice, a tensor is of no node.
            StateError: the graph is compiled.

        Example:
            >>> graph = tg.Graph()
            >>> h = graph.node(tg.layers.FullyConnected(2), x)
            >>> inference = tg.InferenceGraph([graph])
            >>> inference.add_outputs({"h": h, "largest": h.max(axis=1)})
            >>> list(inference.outputs)
            ['h', 'largest']
      )pbdoc")
      .def_property_readonly(
          "layers", [](const CompiledGraph& self) { return layers_of(self); },
          "Every layer of the graph objects and of own nodes once, in the "
          "order "
          "of its first node; a graph that was loaded has none.")
      .def_property_readonly("inputs", &declared<&CompiledGraph::inputs>,
                             "The declared inputs by name.")
      .def_property_readonly("loss_labels",
                             &declared<&CompiledGraph::loss_labels>,
                             "The declared labels by name.")
      .def_property_readonly("loss_label_weights",
                             &declared<&CompiledGraph::loss_label_weights>,
                             "The declared label weights by name.")
      .def_property_readonly("outputs", &declared<&CompiledGraph::outputs>,
                             "The declared outputs by name.")
      .def("compile", &compile, py::arg("device") = "any", py::kw_only(),
           py::arg("debug_layers") = false,
           py::arg("disable_layer_fusion") = false,
           py::arg("link_graphs") = false,
           py::arg("compute_all_gradients") = false,
           py::arg("accumulate_gradients") = false,
           py::arg("precision") = Precision::Float32,
           py::arg("reuse_memory") = true, py::arg("poison_memory") = false,
           py::arg("max_gpu_ms") = CompileOptions{}.max_gpu_ms,
           whole("batch_plans_bytes") = CompileOptions{}.batch_plans_bytes,
           py::arg("verify") = py::none(),
           py::arg("verify_tolerance") = py::none(),
           py::arg("input_tensors") = py::none(),
           py::arg("input_tensors_data") = py::none(),
           py::arg("collective") = py::none(),
           py::arg("gradients_of_ranks") = "by_loss",
           whole("bucket_bytes") = DataParallel{}.bucket_bytes,
           py::arg("shard_optimizer") = false, py::arg("reduce_losses") = false,
           py::arg("synchronize_batch_norm") = false,
           py::arg("collective_timeout") = DataParallel{}.collective_timeout,
           py::arg("on_bucket") = py::none(),
           R"pbdoc(
        Plans memory and makes the graph ready to run; allocates nothing yet.

        Among ranks it waits for all of them, and allocates what they begin
        with. A graph may be compiled again, with other options.

        Args:
            device: "cpu", "gpu", "any" (the GPU when there is one, else the
                CPU) or a Device.
            debug_layers: keeps results and gradients of layers that have
                is_debugging_enabled, so that they can be read after each run;
                implies disable_layer_fusion.
            disable_layer_fusion: runs each layer by itself.
            link_graphs: the graph will be joined with others by link().
            compute_all_gradients: computes gradients of inputs, too, for
                gradient_tensor().
            accumulate_gradients: makes room for
                execute_gradient(accumulate=...): as many floats as the trained
                parameters have.
            precision: "float32"; "fast": products may round their operands;
                "mixed_bfloat16" or "mixed_float16": products and what follows
                from them are in 16 bits, while parameters, optimizer buffers,
                statistics and losses stay float32.
            reuse_memory: lets buffers that are not alive at one time share
                bytes.
            poison_memory: fills what is freed with NaN; slow, finds reads of
                it.
            max_gpu_ms: GPU work is cut into pieces of about so many
                milliseconds, so that the display goes on; 0: it is not cut.
            batch_plans_bytes: bytes of the host for plans of smaller batches
                than the compiled one; those that ran longest ago make room.
            verify: a second device that repeats every op; an execution fails
                with a DeviceError that names the first tensor that differs.
                Slow.
            verify_tolerance: by how much, as a share of the tensor's largest
                magnitude; None: 1e-3, and more where 16 bits are mixed in.
            input_tensors: inputs that never change, by name.
            input_tensors_data: their data, by the same names; None: what the
                tensors hold.
            collective: trains together with other processes, each on its part
                of every batch: a Collective, a communicator of mpi4py, or an
                object with a Collective's methods. All begin with the
                parameters, optimizer state and seed of rank 0.
            gradients_of_ranks: "by_loss": as the reduction of the losses says;
                "sum"; "mean": each rank counts by its samples.
            bucket_bytes: gradients are sent in buckets of so many bytes.
            shard_optimizer: each rank keeps and updates its share of the
                optimizer's buffers. Then save(), and
                state_dict(with_optimizer=True), are calls of all ranks.
            reduce_losses: losses of training passes are those of all ranks.
            synchronize_batch_norm: batch normalization has the mean and
                variance of all ranks. Then execute_forward() of a training
                graph is a call of all ranks.
            collective_timeout: seconds until a wait for other ranks fails, with
                a DeviceError.
            on_bucket: on_bucket(index, values, names) is called before a bucket
                is sent, on a device thread; it may change the values.

        Raises:
            InvalidArgument: an option out of range, options that exclude each
                other, a declared tensor that no node reads, a loss layer and
                two results that nothing reads.
            UnsupportedError: the device cannot run a layer, which it names.
            DeviceError: the device is not available, a rank is gone.
            StateError: the graph has no nodes, or was loaded.

        Example:
            >>> training.compile("cpu", accumulate_gradients=True)
            >>> training.is_compiled, training.batch_size
            (True, 8)
      )pbdoc");
}

}  // namespace

void bind_compiled_graph(py::module_& m) {
  bind_memory(m);
  Handle<CompiledGraph, Graph> graph(m, "CompiledGraph",
                                     R"pbdoc(
        What TrainingGraph and InferenceGraph have in common: declaring,
        compiling, memory, reports, and the state in files and arrays.
      )pbdoc");
  bind_declarations(graph);
  bind_insight(graph);
  bind_checkpoint(graph);
  bind_listing(graph);
  bind_export(graph);
  graph
      .def_property_readonly("is_compiled", &CompiledGraph::is_compiled,
                             "Was compile() called, or the graph loaded?")
      .def_property_readonly("compile_count", &CompiledGraph::compile_count,
                             R"pbdoc(
        1 for each compile(), and 1 for each batch size that was new.
      )pbdoc")
      .def_property_readonly("batch_size", &CompiledGraph::batch_size,
                             R"pbdoc(
        Samples of the largest batch, and of a run without data: the smallest
        size on a batch axis of what was declared; 0: nothing varies with the
        batch. Raises StateError before compile.
      )pbdoc")
      .def(
          "bind_and_write_data",
          [](CompiledGraph& self, const ArrayDict& inputs_data,
             const OptionalTensors& inputs, std::int64_t batch_size,
             bool synchronous) {
            NamedArrays data(inputs_data, "bind_and_write_data", "inputs_data");
            with_conversion({&data}, [&] {
              without_gil([&] {
                self.bind_and_write_data(data.list(),
                                         inputs.value_or(TensorMap()),
                                         batch_size, synchronous);
              });
            });
          },
          py::arg("inputs_data"), py::arg("inputs") = py::none(), py::kw_only(),
          whole("batch_size") = 0, py::arg("synchronous") = false,
          R"pbdoc(
        Binds data for all executions that are given none of their own.

        It is copied to memory of the host at once, and stays until something
        else is bound.

        Args:
            inputs_data: arrays by name, of the declared shapes, or with fewer
                samples.
            inputs: the tensors that the names mean, such as those of
                allocate_user_gradient(); None: the declared inputs and labels.
            batch_size: how many samples of the data count; 0: all. They serve
                batches of up to as many.
            synchronous: waits until the device has the data.

        Raises:
            InvalidArgument: a name that is not declared, a batch size out of
                range.
            ShapeError: an array of another shape.
            DTypeError: an array of a type that does not convert.
            StateError: the graph is not compiled.

        Example:
            >>> training.bind_and_write_data({"x": points, "y": targets})
            >>> losses = [training.execute().result().loss for _ in range(3)]
            >>> losses[2] < losses[0]
            True
      )pbdoc")
      .def_property_readonly(
          "memory",
          [](const CompiledGraph& self) {
            return without_gil([&] { return self.memory(); });
          },
          R"pbdoc(
        Bytes of the device by what they hold. Raises StateError before compile.
      )pbdoc")
      .def(
          "required_bytes",
          [](const CompiledGraph& self, std::int64_t batch_size) {
            return without_gil([&] { return self.required_bytes(batch_size); });
          },
          whole("batch_size") = 0,
          R"pbdoc(
        Bytes of the device that the graph has after its first execute().

        It plans, and allocates nothing.

        Args:
            batch_size: as if it was compiled for so many samples; 0: as it is.

        Returns:
            Bytes.

        Raises:
            StateError: the graph is not compiled.
            InvalidArgument: a batch size below 0.
            UnsupportedError: the graph cannot follow another batch size.
            ShapeError: there is no such memory.

        Example:
            >>> training.required_bytes(64) > training.required_bytes()
            True
      )pbdoc")
      .def(
          "fits",
          [](const CompiledGraph& self, std::size_t device_bytes,
             std::int64_t batch_size) {
            return without_gil(
                [&] { return self.fits(device_bytes, batch_size); });
          },
          whole("device_bytes"), whole("batch_size") = 0,
          R"pbdoc(
        Are required_bytes(batch_size) at most device_bytes?

        Args:
            device_bytes: bytes that there are.
            batch_size: samples; 0: as compiled.

        Raises:
            StateError: the graph is not compiled.
            CallError: an argument below 0 or of another type.
            UnsupportedError: the graph cannot follow another batch size.

        Example:
            >>> training.fits(1 << 20, batch_size=64)
            True
      )pbdoc")
      .def(
          "largest_batch",
          [](const CompiledGraph& self, std::size_t device_bytes) {
            return without_gil(
                [&] { return self.largest_batch(device_bytes); });
          },
          whole("device_bytes"),
          R"pbdoc(
        The largest batch size that fits into so many bytes.

        Args:
            device_bytes: bytes that there are.

        Returns:
            Samples, at most 2**24, whatever the graph is compiled for; 0 when
            none fits. A graph that cannot follow another batch size has the
            compiled one or 0.

        Raises:
            StateError: the graph is not compiled.
            CallError: an argument below 0 or of another type.

        Example:
            >>> size = training.largest_batch(1 << 20)
            >>> training.fits(1 << 20, size), training.fits(1 << 20, size + 1)
            (True, False)
      )pbdoc")
      .def_property_readonly(
          "device_memory_size",
          [](const CompiledGraph& self) {
            return without_gil([&] { return self.device_memory_size(); });
          },
          R"pbdoc(
        Bytes of intermediate tensors on the device; 0 before compile.
      )pbdoc")
      .def("synchronize", &CompiledGraph::synchronize,
           R"pbdoc(
        Waits until every execution that was enqueued before is over.

        Errors of executions are not raised here, but where their results are
        read.

        Example:
            >>> execution = training.execute({"x": points}, {"y": targets})
            >>> training.synchronize()
            >>> execution.done()
            True
      )pbdoc")
      .def("synchronize_updates", &CompiledGraph::synchronize_updates,
           R"pbdoc(
        Copies parameters and running statistics from the device to the host.

        Tensor.numpy() and state_dict() read the newest values without it.

        Raises:
            StateError: the graph is not compiled.

        Example:
            >>> training.synchronize_updates()
      )pbdoc")
      .def("plan_description", &CompiledGraph::plan_description,
           R"pbdoc(
        The plans as text: units in order, with offsets and lifetimes of what
        they write.

        Returns:
            A paragraph for each plan (step, phases, inference). report() has
            the same as data.

        Raises:
            StateError: the graph is not compiled.

        Example:
            >>> training.plan_description().startswith("step: arena ")
            True
      )pbdoc");
}

}  // namespace traingraph::python
