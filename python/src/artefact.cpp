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

constexpr const char* kLoadDoc =
    "Makes a graph from what export_graph() wrote, compiled for `device` "
    "(any), with nothing of the code that built it: it runs, saves, restores, "
    "reports, links (when it was compiled with link_graphs), and is exported "
    "again. Tensors are known by name: tensor(). with_state=False: begins as "
    "it was built. batch_size: to compile for; 0: as it was exported. tensors: "
    "some to have instead of new ones, by name, so that graphs share them. "
    "Raises FileError for what is no such file, UnsupportedError for ops that "
    "only a later version has.";

}  // namespace

void bind_export(Handle<CompiledGraph, Graph>& graph) {
  graph
      .def("export_graph", &export_graph, py::arg("path"), py::kw_only(),
           py::arg("with_state") = true, py::arg("metadata") = py::none(),
           "Writes one safetensors file with the graph, what it was compiled "
           "with and its state; load() needs nothing else. with_state=False: "
           "the graph alone; what is loaded begins as it was built. Otherwise "
           "as save(). Raises StateError before compile, UnsupportedError, "
           "InvalidArgument, FileError.")
      .def(
          "tensor",
          [](const CompiledGraph& self, const std::string& name) {
            return without_gil([&] { return self.tensor(name); });
          },
          py::arg("name"),
          "A tensor by its name (\"fc.weights\"), as state_dict() has it, or "
          "as it was declared. Raises InvalidArgument, listing names that are "
          "near, StateError before compile.");
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
      kLoadDoc);
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
      py::arg("tensors") = py::none(), kLoadDoc);
}

}  // namespace traingraph::python
