// SPDX-License-Identifier: MIT
// CompiledGraph: declaring, compiling, memory, and what is on the device.
#include "arrays.h"
#include "data_parallel.h"
#include "device.h"
#include "traingraph/training_graph.h"

namespace traingraph::python {
namespace {

using OptionalTensors = std::optional<TensorMap>;
using OptionalArrays = std::optional<ArrayDict>;

void bind_memory(py::module_& m) {
  using Plan = PlanMemory;
  BoundClass<Plan>(m, "PlanMemory", "One plan's arena, in bytes.")
      .def_readonly("arena_bytes", &Plan::arena_bytes,
                    "Bytes that the arena takes.")
      .def_readonly("live_peak_bytes", &Plan::live_peak_bytes,
                    "Largest number of bytes alive at one time.")
      .def_readonly("unplanned_bytes", &Plan::unplanned_bytes,
                    "The arena without any reuse.")
      .def_readonly("saved_bytes", &Plan::saved_bytes,
                    "Bytes that the forward keeps for the gradient.")
      .def_readonly("gradient_bytes", &Plan::gradient_bytes,
                    "All parameter gradients.")
      .def_readonly("workspace_bytes", &Plan::workspace_bytes)
      .def_readonly("is_allocated", &Plan::is_allocated);
  using Report = MemoryReport;
  BoundClass<Report>(m, "MemoryReport",
                     "Exact device bytes of a compiled graph, known before "
                     "anything is allocated.")
      .def_readonly("parameter_bytes", &Report::parameter_bytes)
      .def_readonly("statistics_bytes", &Report::statistics_bytes)
      .def_readonly("optimizer_bytes", &Report::optimizer_bytes)
      .def_readonly("input_bytes", &Report::input_bytes)
      .def_readonly("constant_bytes", &Report::constant_bytes)
      .def_readonly("accumulator_bytes", &Report::accumulator_bytes,
                    "Gradient accumulators: of linkable graphs, and of those "
                    "compiled with accumulate_gradients.")
      .def_readonly("staging_bytes", &Report::staging_bytes,
                    "Transfer buffers of executions in flight; not part of the "
                    "sums.")
      .def_readonly("shared_bytes", &Report::shared_bytes,
                    "Bytes that another graph on the device holds.")
      .def_readonly("step", &Report::step, "The plan of execute().")
      .def_readonly("phases", &Report::phases,
                    "The plan of execute_forward, execute_gradient and "
                    "execute_optimizer_update.")
      .def_readonly("inference", &Report::inference,
                    "The plan of forward_for_inference and inference graphs.")
      .def_readonly("persistent_bytes", &Report::persistent_bytes,
                    "Bytes that the first execution allocates, whatever it is.")
      .def_readonly(
          "predicted_bytes", &Report::predicted_bytes,
          "Bytes of the arenas that are allocated so far, as planned.")
      .def_readonly("engine_bytes", &Report::engine_bytes,
                    "What the device's engine (MPSGraph) holds besides our "
                    "buffers, for the whole process: measured now, not "
                    "knowable before a run.")
      .def_readonly("allocated_bytes", &Report::allocated_bytes,
                    "Bytes of these arenas, as the device counts them.")
      .def("total_bytes", &Report::total_bytes, py::arg("with_step"),
           py::arg("with_phases") = false, py::arg("with_inference") = false,
           "persistent_bytes plus the arenas that will be used.")
      .def("__str__", &Report::to_string);
}

/// What the device does otherwise than the precision says.
void warn_of_notes(const CompiledGraph& self) {
  const auto notes = without_gil([&] { return self.notes(); });
  for (const std::string& note : notes) {
    if (PyErr_WarnEx(PyExc_RuntimeWarning, note.c_str(), 1) != 0) {
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
          [](CompiledGraph& self, const TensorMap& inputs,
             const OptionalTensors& labels, const OptionalTensors& weights) {
            without_gil([&] {
              self.add_inputs(inputs, labels.value_or(TensorMap()),
                              weights.value_or(TensorMap()));
            });
          },
          py::arg("inputs"), py::arg("loss_labels") = py::none(),
          py::arg("loss_label_weights") = py::none(),
          "Declares what every execution needs data for, name -> tensor. "
          "Raises InvalidArgument for duplicate names and tensors that no node "
          "uses, StateError after compile.")
      .def("add_outputs", &CompiledGraph::add_outputs, py::arg("outputs"),
           "Declares what each execution returns, name -> tensor.")
      .def_property_readonly("inputs", &declared<&CompiledGraph::inputs>,
                             "The tensors that were declared, by name.")
      .def_property_readonly("loss_labels",
                             &declared<&CompiledGraph::loss_labels>,
                             "The tensors that were declared, by name.")
      .def_property_readonly("loss_label_weights",
                             &declared<&CompiledGraph::loss_label_weights>,
                             "The tensors that were declared, by name.")
      .def_property_readonly("outputs", &declared<&CompiledGraph::outputs>,
                             "The tensors that were declared, by name.")
      .def(
          "compile", &compile, py::arg("device") = "any", py::kw_only(),
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
          "Plans memory and creates everything the device needs; allocates "
          "nothing, but among ranks what they begin with and, where they share "
          "memory, what execute() needs.\n\n"
          "device: \"cpu\", \"gpu\", \"any\" or a Device. debug_layers: "
          "results and gradients of layers with is_debugging_enabled are "
          "readable. link_graphs: will be joined by link(). "
          "compute_all_gradients: also those of inputs. "
          "accumulate_gradients: memory for execute_gradient(accumulate=...), "
          "as many floats as the trained parameters have. precision: "
          "\"float32\", \"fast\" (products may round their operands), "
          "\"mixed_bfloat16\" or \"mixed_float16\" (products and what follows "
          "from them in 16 bits; parameters, optimizer buffers, statistics and "
          "losses stay float32). reuse_memory=False: "
          "every buffer has its own bytes. poison_memory: freed ranges are "
          "filled with NaN. max_gpu_ms: cuts GPU work into pieces of about "
          "that "
          "length (0: does not). batch_plans_bytes: memory of the host for "
          "plans of smaller batches than the compiled one; those that ran "
          "longest ago make room (report().batch_plans). verify: a second "
          "device that repeats every "
          "execution; DeviceError names the first tensor that differs by more "
          "than verify_tolerance (None: 1e-3, more where 16 bits are mixed in) "
          "times its largest magnitude. "
          "input_tensors(_data): inputs that never "
          "change. "
          "collective: trains together with other processes, each on its part "
          "of every batch: a Collective, a communicator of mpi4py or an object "
          "with the methods; then this waits for all of them, and they begin "
          "with the parameters, optimizer state and seed of rank 0. "
          "gradients_of_ranks: \"sum\", \"mean\" (each rank counts by its "
          "samples), or as the losses' reduction says. bucket_bytes: of "
          "gradients that are sent as one. shard_optimizer: each rank keeps "
          "and updates its share of the optimizer's buffers; save(), and "
          "state_dict(with_optimizer=True), then are calls of all ranks. "
          "reduce_losses: losses of "
          "training passes are those of all samples. "
          "synchronize_batch_norm: batch normalization has the mean and "
          "variance of all samples of all ranks; then execute_forward() of a "
          "training graph is a call of all ranks, too. "
          "collective_timeout: seconds until a "
          "wait for other ranks is DeviceError. on_bucket(index, values, "
          "names): called on a device thread before a bucket is sent; may "
          "change the values. "
          "Raises UnsupportedError naming the layer, StateError, "
          "InvalidArgument, DeviceError.");
}

}  // namespace

void bind_compiled_graph(py::module_& m) {
  bind_memory(m);
  Handle<CompiledGraph, Graph> graph(
      m, "CompiledGraph",
      "A graph that was made to run: TrainingGraph and InferenceGraph are "
      "two.");
  bind_declarations(graph);
  bind_insight(graph);
  bind_checkpoint(graph);
  bind_listing(graph);
  bind_export(graph);
  graph.def_property_readonly("is_compiled", &CompiledGraph::is_compiled)
      .def_property_readonly("compile_count", &CompiledGraph::compile_count,
                             "1 per compile(), 1 per new batch size.")
      .def_property_readonly(
          "batch_size", &CompiledGraph::batch_size,
          "The most samples of an execution, and of one without data: the "
          "smallest "
          "size on a batch axis of what was declared; 0: nothing varies with "
          "the batch. Raises StateError before compile.")
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
          "Binds copies of the data, in host memory, until they are bound "
          "anew; each execution that is not given data of its own has them on "
          "the device. Names are those of `inputs` (user gradients, say), or "
          "else of the declared inputs and labels. Bound samples, as many as "
          "the data has or batch_size says, serve batches of up to as many.")
      .def_property_readonly(
          "memory",
          [](const CompiledGraph& self) {
            return without_gil([&] { return self.memory(); });
          },
          "Exact bytes. Raises StateError before compile.")
      .def(
          "required_bytes",
          [](const CompiledGraph& self, std::int64_t batch_size) {
            return without_gil([&] { return self.required_bytes(batch_size); });
          },
          whole("batch_size") = 0,
          "Device bytes that this graph will have after a first execute() "
          "when it is compiled for batch_size, by its plan; 0: as it is "
          "compiled. Allocates nothing. Raises UnsupportedError when the "
          "graph cannot follow another batch size, ShapeError when there is "
          "no such memory, StateError before compile.")
      .def(
          "fits",
          [](const CompiledGraph& self, std::size_t device_bytes,
             std::int64_t batch_size) {
            return without_gil(
                [&] { return self.fits(device_bytes, batch_size); });
          },
          whole("device_bytes"), whole("batch_size") = 0,
          "Are required_bytes(batch_size) at most device_bytes?")
      .def(
          "largest_batch",
          [](const CompiledGraph& self, std::size_t device_bytes) {
            return without_gil(
                [&] { return self.largest_batch(device_bytes); });
          },
          whole("device_bytes"),
          "The largest batch size that fits, whatever the graph is compiled "
          "for; 0: none; none above 2**24 is looked for. The compiled one or "
          "none when the graph cannot follow another.")
      .def_property_readonly(
          "device_memory_size",
          [](const CompiledGraph& self) {
            return without_gil([&] { return self.device_memory_size(); });
          },
          "Bytes of intermediate tensors on the device; 0 before compile.")
      .def("synchronize", &CompiledGraph::synchronize,
           "Waits until every execution that was enqueued before is over.")
      .def("synchronize_updates", &CompiledGraph::synchronize_updates,
           "Copies all parameters and running statistics from the device to "
           "the host.")
      .def("plan_description", &CompiledGraph::plan_description,
           "The plans as text: units in order with offsets and lifetimes.");
}

}  // namespace traingraph::python
