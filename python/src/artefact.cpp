// SPDX-License-Identifier: MIT
// A graph with its state in one file.
#include "traingraph/artefact.h"

#include "arrays.h"
#include "device.h"
#include "files.h"
#include "traingraph/training_graph.h"

namespace traingraph::python {
namespace {

using Tensors = std::optional<TensorMap>;

void export_graph(const CompiledGraph& self, const Path& path, bool with_state,
                  const std::optional<MetadataMapping>& metadata) {
  const auto to = to_path(path, "export_graph");
  const ExportOptions options{
      .with_state = with_state,
      .metadata = to_metadata("export_graph", metadata)};
  without_gil([&] {
    self.synchronize();  // holding no lock: signal handlers may use the graph
    self.export_graph(to, options);
  });
}

template <class Type>
Type load(const Path& path, const std::optional<DeviceLike>& device,
          const LoadOptions& options) {
  const auto from = to_path(path, "load");
  std::optional<Device> target;
  if (device) target = to_device(*device);
  return without_gil(
      [&] { return Type::load(from, target ? *target : Device(), options); });
}

}  // namespace

void bind_export(Handle<CompiledGraph, Graph>& graph) {
  graph
      .def("export_graph", &export_graph, py::arg("path"), py::kw_only(),
           py::arg("with_state") = true, py::arg("metadata") = py::none(),
           R"pbdoc(
        Writes one safetensors file that load() makes the graph from.

        It has the graph, what it was compiled with and its state; whatever
        happens, the path is the old file or the new one.

        Args:
            path: the file.
            with_state: False: the graph alone; what is loaded begins as it was
                built.
            metadata: text of your own by names, for read_metadata(); None:
                none.

        Raises:
            StateError: the graph is not compiled.
            UnsupportedError: something that a file cannot have, which it names.
            InvalidArgument: metadata that is no text, names that a file cannot
                have.
            FileError: the file cannot be written.

        Example:
            >>> training.export_graph("graph.safetensors")
            >>> loaded = tg.TrainingGraph.load("graph.safetensors", "cpu")
            >>> loaded.tensor("fc.weights").shape
            (2, 4)
      )pbdoc")
      .def(
          "tensor",
          [](const CompiledGraph& self, const std::string& name) {
            return without_gil([&] { return self.tensor(name); });
          },
          py::arg("name"),
          R"pbdoc(
        A tensor by its name.

        Args:
            name: as state_dict() has it ("fc.weights"), or as it was declared.

        Raises:
            InvalidArgument: there is none; it lists names that are near.
            StateError: the graph is not compiled.

        Example:
            >>> training.tensor("fc.weights").shape
            (2, 4)
      )pbdoc");
}

void bind_load(Handle<TrainingGraph, CompiledGraph>& graph) {
  graph.def_static(
      "load",
      [](const Path& path, const std::optional<DeviceLike>& device,
         bool with_state, std::int64_t batch_size, const Tensors& tensors,
         const std::optional<OptimizerPtr>& optimizer) {
        return load<TrainingGraph>(path, device,
                                   {.with_state = with_state,
                                    .batch_size = batch_size,
                                    .tensors = tensors.value_or(TensorMap()),
                                    .optimizer = optimizer.value_or(nullptr)});
      },
      py::arg("path"), py::arg("device") = py::none(), py::kw_only(),
      py::arg("with_state") = true, whole("batch_size") = 0,
      py::arg("tensors") = py::none(), py::arg("optimizer") = py::none(),
      R"pbdoc(
        Makes a graph from a file of export_graph(), compiled, with nothing of
        the code that built it.

        It runs, saves, restores, reports, links (when it was compiled with
        link_graphs) and is exported again. Training goes on bit for bit.

        Args:
            path: the file.
            device: "cpu", "gpu", "any" or a Device; None: "any".
            with_state: False: begins as it was built.
            batch_size: samples to compile for; 0: as it was exported.
            tensors: some to have instead of new ones, by their names in the
                file, so that graphs share them; they get the values of the
                file.
            optimizer: has to agree with the file's settings, and gets its rate
                and step: graphs that are linked have one; None: a new one.

        Raises:
            FileError: the file cannot be read, or is no such file.
            InvalidArgument: tensors of names that the file does not have, an
                optimizer that does not agree with it.
            ShapeError: one of the tensors has another shape.
            DTypeError: one of the tensors has another type.
            UnsupportedError: it has ops that only a later version has, or that
                the device does not run.
            DeviceError: the device is not available.

        Example:
            >>> training.export_graph("graph.safetensors")
            >>> loaded = tg.TrainingGraph.load("graph.safetensors", "cpu")
            >>> data = {"x": points}, {"y": targets}
            >>> loaded.execute(*data).result().loss == (
            ...     training.execute(*data).result().loss
            ... )
            True
      )pbdoc");
}

void bind_load(Handle<InferenceGraph, CompiledGraph>& graph) {
  graph.def_static(
      "load",
      [](const Path& path, const std::optional<DeviceLike>& device,
         bool with_state, std::int64_t batch_size, const Tensors& tensors) {
        return load<InferenceGraph>(path, device,
                                    {.with_state = with_state,
                                     .batch_size = batch_size,
                                     .tensors = tensors.value_or(TensorMap())});
      },
      py::arg("path"), py::arg("device") = py::none(), py::kw_only(),
      py::arg("with_state") = true, whole("batch_size") = 0,
      py::arg("tensors") = py::none(),
      R"pbdoc(
        Makes a graph from a file of export_graph(), compiled, with nothing of
        the code that built it.

        The file may be of a training graph, of which it takes the forward pass.

        Args:
            path: the file.
            device: "cpu", "gpu", "any" or a Device; None: "any".
            with_state: False: begins as it was built.
            batch_size: samples to compile for; 0: as it was exported.
            tensors: some to have instead of new ones, by their names in the
                file, so that graphs share them; they get the values of the
                file.

        Raises:
            FileError: the file cannot be read, or is no such file.
            InvalidArgument: tensors of names that the file does not have.
            ShapeError: one of the tensors has another shape.
            DTypeError: one of the tensors has another type.
            UnsupportedError: it has ops that only a later version has, or that
                the device does not run.
            DeviceError: the device is not available.

        Example:
            >>> training.export_graph("graph.safetensors")
            >>> loaded = tg.InferenceGraph.load("graph.safetensors", "cpu")
            >>> loaded.execute({"x": points}).result().outputs["h"].shape
            (8, 2)
      )pbdoc");
}

}  // namespace traingraph::python
