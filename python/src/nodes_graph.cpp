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

constexpr const char* kNodeGraphDoc = R"pbdoc(
    Everything that some images depend on, as it is now, compiled for a device.

    Nodes may change or go afterwards. Weights are read from the data sources
    once. A run computes all images; then each data source with training style
    "gpu" has its weights updated on the device, and each with "cpu" by its
    update(), by gradients that are sums over the batch. The next run has the
    new weights. Runs are in the order of calls, which may come from any thread.

    Args:
        device: "cpu", "gpu" or a Device.
        result_images: What a run returns.
        batch_size: The most images of a run.
        results_are_needed: One for each result image: what only an image that
            is not needed depends on is left out, updates of weights stay. None:
            all are.
        uses_mpsnn: On Metal, MPSNN runs the filters that it has; False: all
            run as ops of MPSGraph. Other devices have one way.

    Raises:
        InvalidArgument: for images without a source, two of one handle, and
            data sources that have no weights or no way to be updated.
        UnsupportedError: for what the device cannot run; names the node.
        DeviceError: where there is no such device.

    Example:
        >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
        >>> relu = tg.nodes.ReLUNode(image, name="relu")
        >>> graph = tg.nodes.Graph("cpu", [relu.result_image], batch_size=2)
        >>> run = graph.execute({"image": -np.ones((2, 4, 8, 8))})
        >>> run.result().output("relu").max()
        np.float32(0.0)
)pbdoc";

constexpr const char* kNodeExecuteDoc = R"pbdoc(
    Enqueues a run.

    Where data sources are updated on the host the call waits for the run and
    the updates, raises their errors, and then calls the completion handler.

    Args:
        source_images: Arrays (batch, channels, height, width), by handle.
        batch_size: How many images there are; 0: as many as the arrays have.
        synchronous: Waits for the run.
        profiling: The result has device times.
        per_layer_profiling: And those of each filter.
        completion_handler: Is called with the result, or the error.
        outputs_data: Arrays that results are written into, by name.

    Returns:
        Execution: The run; result() waits for it.

    Raises:
        InvalidArgument: for arrays that are missing or unknown.
        ShapeError: for data of another shape.
        DTypeError: for data of a type that does not convert.

    Example:
        >>> image = tg.nodes.ImageNode("image", (1, 2, 2))
        >>> double = tg.nodes.LinearNode(image, 2.0, name="double")
        >>> graph = tg.nodes.Graph("cpu", [double.result_image])
        >>> run = graph.execute({"image": np.ones((1, 1, 2, 2))})
        >>> run.result().output("double").tolist()
        [[[[2.0, 2.0], [2.0, 2.0]]]]
)pbdoc";

constexpr const char* kReloadDoc = R"pbdoc(
    Reads all data sources again; waits for the runs in flight.

    Raises:
        InvalidArgument: for data sources that have no weights any more.

    Example:
        >>> image = tg.nodes.ImageNode("image", (1, 2, 2))
        >>> data = tg.nodes.ConvolutionData(np.zeros((1, 1, 1, 1)))
        >>> node = tg.nodes.ConvolutionNode(image, data)
        >>> graph = tg.nodes.Graph("cpu", [node.result_image])
        >>> data.weights[...] = 3.0
        >>> graph.reload_from_data_sources()
        >>> graph.weights(data)["weights"].item()
        3.0
)pbdoc";

constexpr const char* kNodeWeightsDoc = R"pbdoc(
    Copies of a filter's weights as they are on the device, after the runs in
    flight.

    Args:
        data_source: The object that a convolution or fully connected node of
            the graph was made with.

    Returns:
        dict[str, numpy.ndarray]: "weights", (out, height, width, in / groups),
        and, where the data source has some, "biases", (out).

    Raises:
        InvalidArgument: when the graph does not have the data source.

    Example:
        >>> image = tg.nodes.ImageNode("image", (1, 8, 8))
        >>> data = tg.nodes.ConvolutionData(np.zeros((4, 3, 3, 1)))
        >>> node = tg.nodes.ConvolutionNode(image, data)
        >>> graph = tg.nodes.Graph("cpu", [node.result_image])
        >>> graph.weights(data)["weights"].shape
        (4, 3, 3, 1)
)pbdoc";

constexpr const char* kNodeParametersDoc = R"pbdoc(
    Copies of a normalization's parameters as they are on the device, after the
    runs in flight.

    Args:
        data_source: The object that a normalization of the graph was made with.

    Returns:
        dict[str, numpy.ndarray]: One number for each channel: "gamma" and
        "beta" where the data source has them, of batch normalization "mean" and
        "variance". Empty when the graph does not have the data source.

    Example:
        >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
        >>> data = tg.nodes.NormalizationData(4)
        >>> node = tg.nodes.BatchNormalizationNode(image, data)
        >>> graph = tg.nodes.Graph("cpu", [node.result_image])
        >>> sorted(graph.parameters(data))
        ['mean', 'variance']
)pbdoc";

constexpr const char* kDotDoc = R"pbdoc(
    Graphviz text of everything that some images depend on.

    Boxes are filters, round ones gradient filters; dashed edges lead from a
    filter to its gradient.

    Args:
        result_images: The images.

    Returns:
        str: A digraph.

    Example:
        >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
        >>> relu = tg.nodes.ReLUNode(image)
        >>> text = tg.nodes.summarized_dot_description([relu.result_image])
        >>> text.splitlines()[0]
        'digraph nodes {'
)pbdoc";

}  // namespace

void bind_node_graph(py::module_& m) {
  Handle<nodes::Graph>(m, "NodeGraph", kNodeGraphDoc)
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
           py::arg("outputs_data") = py::none(), kNodeExecuteDoc)
      .def("reload_from_data_sources", &nodes::Graph::reload_from_data_sources,
           kReloadDoc)
      .def("weights", &weights, py::arg("data_source"), kNodeWeightsDoc)
      .def("parameters", &parameters, py::arg("data_source"),
           kNodeParametersDoc)
      .def_property_readonly(
          "compiled",
          [](const nodes::Graph& self) {
            return without_gil([&] { return TrainingGraph(self.compiled()); });
          },
          "The graph as the device sees it: memory, reports, profiles, "
          "pictures.");
  m.def("summarized_dot_description", &nodes::summarized_dot_description,
        py::arg("result_images"), kDotDoc);
}

}  // namespace traingraph::python
