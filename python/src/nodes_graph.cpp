// SPDX-License-Identifier: MIT
// Graphs of filter nodes.
#include "data_source.h"
#include "device.h"
#include "execute.h"
#include "nodes.h"

namespace traingraph::python {
namespace {

using nodes::ImageNode;
using ArraysByName = py::typing::Dict<py::str, Array>;

nodes::Graph make_graph(const DeviceLike& device,
                        const std::vector<ImageNode>& images,
                        std::int64_t batch_size,
                        const std::optional<std::vector<bool>>& needed,
                        bool uses_mpsnn) {
  const Device on = to_device(device);
  const nodes::GraphOptions options{
      .batch_size = batch_size,
      .results_are_needed = needed.value_or(std::vector<bool>()),
      .uses_mpsnn = uses_mpsnn};
  return without_gil([&] { return nodes::Graph(on, images, options); });
}

Execution execute(nodes::Graph& self,
                  const std::optional<ArrayDict>& source_images,
                  std::int64_t batch_size, bool synchronous, bool profiling,
                  bool per_layer,
                  const std::optional<CompletionCallback>& handler,
                  const std::optional<OutputDict>& outputs_data) {
  NamedArrays images(source_images, "execute", "source_images");
  return run("execute",
             {batch_size, false, synchronous, profiling, false, per_layer,
              handler, outputs_data},
             {&images}, [&](const ExecuteOptions& options) {
               return self.execute(images.list(), options);
             });
}

void add(ArraysByName& arrays, const char* name,
         const std::vector<float>& values, const Shape& shape) {
  if (values.empty()) return;
  Array array = new_array({shape, DataType::Float32});
  std::ranges::copy(std::as_bytes(std::span(values)), bytes_of(array).begin());
  arrays[py::str(name)] = array;
}

[[noreturn]] void fail_source(const char* op, const std::string& name) {
  throw InvalidArgument(
      ErrorInfo{.op = op,
                .node = name,
                .what = "no filter of the graph has this data source",
                .expected = "the object that a node was made with",
                .got = "another one",
                .hint = {}});
}

ArraysByName weights(const nodes::Graph& self,
                     const SourceObject& data_source) {
  const auto source = to_convolution_source(data_source);
  const auto values = without_gil([&] { return self.weights(*source); });
  if (values.weights.empty()) fail_source("weights", source->name());
  const nodes::ConvolutionDescriptor d = source->descriptor();
  const std::int64_t groups =
      d.is_depthwise ? d.input_feature_channels : d.groups;
  ArraysByName arrays;
  add(arrays, "weights", values.weights,
      {d.output_feature_channels, d.kernel_size[0], d.kernel_size[1],
       d.input_feature_channels / groups});
  add(arrays, "biases", values.biases, {d.output_feature_channels});
  return arrays;
}

ArraysByName parameters(const nodes::Graph& self,
                        const SourceObject& data_source) {
  const auto source = to_normalization_source(data_source);
  const auto values = without_gil([&] { return self.parameters(*source); });
  const Shape shape{source->feature_channels()};
  ArraysByName arrays;
  add(arrays, "gamma", values.gamma, shape);
  add(arrays, "beta", values.beta, shape);
  add(arrays, "mean", values.mean, shape);
  add(arrays, "variance", values.variance, shape);
  return arrays;
}

}  // namespace

void bind_node_graph(py::module_& m) {
  Handle<nodes::Graph>(
      m, "NodeGraph",
      "Everything that `result_images` depend on, as it is now, compiled for a "
      "device; nodes may change or go afterwards. Weights are read from the "
      "data sources once.\n\n"
      "A run computes all images, then each data source with training style "
      "\"gpu\" has its weights updated on the device, and each with \"cpu\" by "
      "its update(), by gradients that are sums over the batch. The next run "
      "has the new weights. Runs are in the order of calls, which may come "
      "from any thread.\n\n"
      "batch_size: the most images of a run. results_are_needed, by result "
      "image: what only an image that is not needed depends on is left out, "
      "updates of weights stay. uses_mpsnn: on Metal, MPSNN runs the filters "
      "that it has; False: MPSGraph runs all, as ops; other devices have one "
      "way. Raises InvalidArgument for images without a "
      "source, two of one handle, and data sources that have no weights or no "
      "way to be updated, UnsupportedError naming the node, DeviceError, and "
      "what data sources raise.")
      .def(py::init(&make_graph), py::arg("device"), py::arg("result_images"),
           py::kw_only(), whole("batch_size") = 1,
           py::arg("results_are_needed") = py::none(),
           py::arg("uses_mpsnn") = true)
      .def_property_readonly("source_image_handles",
                             never_waits(&nodes::Graph::source_image_handles),
                             "Handles of what a run is given, in the order in "
                             "which nodes were made.")
      .def_property_readonly(
          "result_handles", never_waits(&nodes::Graph::result_handles),
          "Names of what a run returns: result images first, then exported "
          "images and states. An image has its handle, else the name of its "
          "filter; a state's are \"name.weights\" and \"name.biases\", or "
          "\"name.gamma\" and \"name.beta\".")
      .def("execute", &execute, py::arg("source_images") = py::none(),
           py::kw_only(), whole("batch_size") = 0,
           py::arg("synchronous") = false, py::arg("profiling") = false,
           py::arg("per_layer_profiling") = false,
           py::arg("completion_handler") = py::none(),
           py::arg("outputs_data") = py::none(),
           "Enqueues a run on arrays (batch, channels, height, width), by "
           "handle. Where data sources are updated on the host the call waits "
           "for "
           "the run and the updates, raises their errors, and then calls the "
           "completion handler. Raises InvalidArgument, ShapeError, DTypeError "
           "for data that do not fit.")
      .def("reload_from_data_sources", &nodes::Graph::reload_from_data_sources,
           "Reads all data sources again; waits for the runs in flight.")
      .def("weights", &weights, py::arg("data_source"),
           "Copies of \"weights\" (out, height, width, in / groups) and, where "
           "the data source has some, \"biases\" as they are on the device, "
           "waiting for the runs in flight. Raises InvalidArgument when the "
           "graph does not have the data source.")
      .def("parameters", &parameters, py::arg("data_source"),
           "The same of a normalization: \"gamma\" and \"beta\" where the data "
           "source has them, of batch normalization \"mean\" and \"variance\". "
           "Empty when the graph does not have the data source.")
      .def_property_readonly(
          "compiled",
          [](const nodes::Graph& self) {
            return without_gil([&] { return TrainingGraph(self.compiled()); });
          },
          "The graph as the device sees it: memory, reports, profiles, "
          "pictures.");
  m.def("summarized_dot_description", &nodes::summarized_dot_description,
        py::arg("result_images"),
        "Graphviz text of everything that the images depend on: boxes are "
        "filters, round ones gradient filters, dashed edges lead from a filter "
        "to its gradient.");
}

}  // namespace traingraph::python
