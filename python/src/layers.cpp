// SPDX-License-Identifier: MIT
// Layers without weights but activations, and the base of all layers.
#include "traingraph/layers.h"

#include "layers.h"
#include "rows.h"

namespace traingraph::python {
namespace {

constexpr const char* kLayerDoc = R"pbdoc(
    Base of everything that Graph.node() takes.

    A layer belongs to one graph; several nodes of it share its parameters.
)pbdoc";

constexpr const char* kSupportsDataTypeDoc = R"pbdoc(
    May a source of a layer of this class have this type on this device? Layer answers
    for all: may a source of any layer?

    Args:
        data_type: The type of the source, such as "float16" or numpy.int32.
        device: The device, or its name.

    Returns:
        True, if it may.

    Example:
        >>> tg.layers.Softmax.supports_data_type("float32", "cpu")
        True
)pbdoc";

constexpr const char* kArithmeticDoc = R"pbdoc(
    Arithmetic by element, with NumPy's broadcasting.

    Sources are x and y, or x alone for unary operations; y and x have one data type.
    ``x + y``, ``-x``, ``x.exp()`` are the same for results of a graph.

    Args:
        operation: Such as "add", "multiply", "max" or "sqrt".

    Raises:
        InvalidArgument: for an unknown operation.
        ShapeError: from node(), for shapes that do not broadcast.

    Example:
        >>> g, x, y = tg.Graph(), tg.Tensor((64, 16)), tg.Tensor((64, 1))
        >>> g.node(tg.layers.Arithmetic("max"), [x, y]).shape
        (64, 16)
)pbdoc";

constexpr const char* kComparisonDoc = R"pbdoc(
    Comparison by element, with NumPy's broadcasting; the result is Boolean.

    Sources are x and y, or x alone for "logical_not". No gradient passes. ``x < y`` is
    the same for results of a graph.

    Args:
        operation: Such as "less", "equal" or "logical_and".

    Raises:
        InvalidArgument: for an unknown operation.
        ShapeError: from node(), for shapes that do not broadcast.

    Example:
        >>> g, x, y = tg.Graph(), tg.Tensor((64, 16)), tg.Tensor((64, 1))
        >>> less = g.node(tg.layers.Comparison("less"), [x, y])
        >>> less.shape, str(less.data_type)
        ((64, 16), 'boolean')
)pbdoc";

constexpr const char* kSelectionDoc = R"pbdoc(
    ``condition ? x : y`` by element, with NumPy's broadcasting.

    Sources are the condition (Boolean), x and y. The condition has no gradient.

    Raises:
        DTypeError: from node(), for a condition that is not Boolean.
        ShapeError: from node(), for shapes that do not broadcast.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((64, 16))
        >>> mask = tg.Tensor((64, 16), "boolean")
        >>> g.node(tg.layers.Selection(), [mask, x, tg.Tensor((64, 1))]).shape
        (64, 16)
)pbdoc";

constexpr const char* kDropoutDoc = R"pbdoc(
    Drops elements in training: they are 0, and the others divided by 1 - rate.

    Any shape -> the same shape. Inference passes everything on. The mask depends on the
    seed, the node and the number of the training step; the gradient has the same mask.

    Args:
        rate: The probability that an element is dropped, in [0, 1).
        seed: Of the masks; 0: the platform's.

    Raises:
        InvalidArgument: for a rate outside of [0, 1).

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((64, 16))
        >>> g.sequence(x, tg.layers.FullyConnected(32), tg.layers.Dropout(0.5)).shape
        (64, 32)
)pbdoc";

constexpr const char* kSoftmaxDoc = R"pbdoc(
    Numbers that are positive and add up to 1 along an axis: ``exp(x) / sum(exp(x))``.

    Any shape -> the same shape. SoftmaxCrossEntropy has a softmax of its own: train
    without this layer before it.

    Args:
        operation: "softmax", or "log_softmax" for its logarithm.
        axis: The axis, a negative one from the end; 1 are the classes of (N, C, ...).

    Raises:
        InvalidArgument: for an unknown operation; from node(), for an axis that the source
            does not have.

    Example:
        >>> g, scores = tg.Graph(), tg.Tensor((64, 10))
        >>> g.node(tg.layers.Softmax(), scores).shape
        (64, 10)
)pbdoc";

constexpr const char* kReshapeDoc = R"pbdoc(
    The same elements in another shape; ``x.reshape(...)`` of results.

    Args:
        shape: The sizes, of which one may be -1: what remains. The first is the batch.

    Raises:
        ShapeError: from node(), for another number of elements.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((64, 28, 16))
        >>> g.node(tg.layers.Reshape((64, -1)), x).shape
        (64, 448)
)pbdoc";

constexpr const char* kFlattenDoc = R"pbdoc(
    (N, ...) -> (N, the number of elements of a sample), as FullyConnected wants images.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((64, 3, 8, 8))
        >>> g.node(tg.layers.Flatten(), image).shape
        (64, 192)
)pbdoc";

constexpr const char* kTransposeDoc = R"pbdoc(
    The axes in another order; ``x.transpose(...)`` of results.

    Args:
        axes: Axis k of the result is axis axes[k] of the source.

    Raises:
        InvalidArgument: for axes that are not all axes once, from node() for another
            number of them.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((8, 128, 4, 16))
        >>> g.node(tg.layers.Transpose((0, 2, 1, 3)), x).shape
        (8, 4, 128, 16)
)pbdoc";

constexpr const char* kUpsampleDoc = R"pbdoc(
    Images or sequences at another resolution, at any ratio, below 1 too.

    (N, C, H, W) -> (N, C, H', W'), or the last axis of (N, C, W) or (N, C, H, W) alone.
    Element i of an axis is taken at ::

        (i + 1/2) * in / out - 1/2      or  i * (in - 1) / (out - 1), aligned

    where "nearest" reads the element there, the later one half way between two, and
    "linear" adds up the two around, by their distances. Positions outside are those of
    the ends. Elements between those that are read have no influence.

    Args:
        shape: (H', W'), or (W',).
        sample_mode: "nearest" or "linear".
        aligns_corners: Are the first and the last elements those of the source? Else the
            edges of the image are. For "linear".

    Raises:
        InvalidArgument: for sizes below 1, other numbers of them, and aligned corners
            with "nearest".

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((8, 16, 32, 32))
        >>> g.node(tg.layers.Upsample((64, 64), "linear"), image).shape
        (8, 16, 64, 64)
)pbdoc";

constexpr const char* kConcatenationDoc = R"pbdoc(
    Sources behind each other along an axis.

    Args:
        axis: The axis, a negative one from the end. Sources have equal sizes but on it.

    Raises:
        ShapeError: from node(), for sources of other sizes.

    Example:
        >>> g, x, y = tg.Graph(), tg.Tensor((64, 16)), tg.Tensor((64, 8))
        >>> g.node(tg.layers.Concatenation(), [x, y]).shape
        (64, 24)
)pbdoc";

constexpr const char* kSplitDoc = R"pbdoc(
    Parts of a source along an axis.

    node() returns the first, Graph.result_tensors() all of them.

    Args:
        split_count: How many parts there are, of ceil(size / split_count) each; the last
            one may be smaller, and there are fewer when the size is used up before.
        split_section_lengths: Their sizes, in place of that, which add up to the axis.
        axis: The axis, a negative one from the end.
        name: Names the layer in its graph; see Layer.name.

    Raises:
        InvalidArgument: for a count or a size below 1.
        ShapeError: from node(), for sizes that do not add up.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((64, 24))
        >>> split = tg.layers.Split([16, 8], axis=1)
        >>> first = g.node(split, x)
        >>> [part.shape for part in g.result_tensors(split)]
        [(64, 16), (64, 8)]
)pbdoc";

constexpr const char* kSliceDoc = R"pbdoc(
    A part of each axis; ``x[:, 2:10]`` of results.

    Args:
        start: The first index of each axis.
        end: Behind the last index of each axis.
        stride: The steps, above 0; (): 1 on each axis.

    Raises:
        InvalidArgument: for other numbers of axes; from node(), for ranges that the source
            does not have, and steps below 1.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((64, 16))
        >>> g.node(tg.layers.Slice(start=(0, 2), end=(64, 10), stride=(1, 2)), x).shape
        (64, 4)
)pbdoc";

constexpr const char* kPaddingSizesExample = R"pbdoc(
    (..., H, W) -> (..., top + H + bottom, left + W + right).

    Args:
        padding: Sizes of all sides, of (left, right) or of (top, bottom, left, right);
            one integer is that of all sides.
        name: Names the layer in its graph; see Layer.name.

    Raises:
        InvalidArgument: for sizes below 0, and other numbers of them; from node(), for more
            than there are elements to mirror.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((8, 3, 32, 32))
        >>> g.node(tg.layers.{0}(2), image).shape
        (8, 3, 36, 36)
)pbdoc";

constexpr const char* kPaddingLayerDoc = R"pbdoc(
    Adds elements around the last two axes: (..., H, W) -> (..., top + H + bottom, left +
    W + right).

    Args:
        padding_type: "zero", "constant", "reflect" (without the border element),
            "symmetric" (with it) or "replicate" (nothing but it).
        padding: Sizes of all sides, of (left, right) or of (top, bottom, left, right).
        constant_value: What is added, for "constant".
        name: Names the layer in its graph; see Layer.name.

    Raises:
        InvalidArgument: for an unknown type, sizes below 0, and other numbers of them;
            from node(), for more than there are elements to mirror.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((8, 3, 32, 32))
        >>> g.node(tg.layers.Padding("reflect", (1, 1, 2, 2)), image).shape
        (8, 3, 34, 36)
)pbdoc";

constexpr const char* kConstantPaddingDoc = R"pbdoc(
    Adds a number around the last two axes: (..., H, W) -> (..., top + H + bottom, left +
    W + right).

    Args:
        padding: Sizes of all sides, of (left, right) or of (top, bottom, left, right).
        constant_value: What is added.
        name: Names the layer in its graph; see Layer.name.

    Raises:
        InvalidArgument: for sizes below 0, and other numbers of them.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((8, 3, 32, 32))
        >>> g.node(tg.layers.ConstantPadding((1, 1), constant_value=-1), image).shape
        (8, 3, 32, 34)
)pbdoc";

constexpr const char* kReductionDoc = R"pbdoc(
    Sums, means or extremes over axes, which stay with size 1.

    Args:
        reduction_type: "sum", "mean", "max", "min", "arg_max", "arg_min", "l1_norm", "any"
            or "all".
        axes: The axes, negative ones from the end; (): all of them.

    Raises:
        InvalidArgument: for an unknown type; from node(), for axes that the source does
            not have.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((64, 28, 16))
        >>> g.node(tg.layers.Reduction("mean", (1,)), x).shape
        (64, 1, 16)
)pbdoc";

void bind_layer(py::module_& m) {
  BoundClass<Layer, std::shared_ptr<Layer>>(m, "Layer", kLayerDoc)
      .def_property_readonly("layer_id", &Layer::layer_id,
                             "Unique in the process.")
      .def_property(
          "name", [](const Layer& self) { return self.name(); },
          py::cpp_function(&Layer::set_name, py::call_guard<WithoutGil>()),
          "Unique in its graph; errors, reports and pictures use it, and "
          "parameters are named after it: \"fc.weights\". Without one a layer "
          "gets its class's with its first node: \"fully_connected_2\". Cannot "
          "be set after that.")
      .def_readwrite("is_debugging_enabled", &Layer::is_debugging_enabled,
                     "Are results and gradients readable, with "
                     "compile(debug_layers=True), after each execution.")
      .def_property("compute_type", &Layer::compute_type,
                    &Layer::set_compute_type,
                    "The float type that this layer computes in and gives its "
                    "results in, whatever compile(precision=) says; None: "
                    "what that says. Losses stay float32. Read by compile().")
      .def_property(
          "uses_inference_form", &Layer::uses_inference_form,
          [](const Layer& self, bool uses) { self.use_inference_form(uses); },
          "Does the layer compute in a training graph, too, as in an inference "
          "graph? Dropout then passes its source on, a normalization takes its "
          "running statistics and leaves them; parameters train as they would. "
          "Read by compile(). Default: False.\n\n"
          "Example:\n"
          "    >>> image = tg.Tensor((8, 3, 4, 4), name=\"image\")\n"
          "    >>> graph = tg.Graph()\n"
          "    >>> norm = tg.layers.BatchNormalization()\n"
          "    >>> h = graph.sequence(image, norm, tg.layers.Flatten())\n"
          "    >>> for layer in graph.layers:\n"
          "    ...     if isinstance(layer, tg.layers.BatchNormalization):\n"
          "    ...         layer.uses_inference_form = True")
      .def_property_readonly(
          "device_type", &Layer::device_type,
          "The type of the device that the last compile was for; None before.")
      .def_property_readonly("parameters", &Layer::parameters,
                             "What an optimizer may train, in a fixed order. "
                             "Raises StateError until the layer is built.")
      .def_property_readonly(
          "statistics", &Layer::statistics,
          "Running statistics, which training moves: mean and variance.")
      .def_property_readonly("is_loss", &Layer::is_loss, "Is it a loss?")
      .def_property_readonly("is_built", &Layer::is_built,
                             "Has it its parameters? Those of a layer without "
                             "all sizes are made by its first node; what has "
                             "or lists them raises StateError before.")
      .def_property_readonly("extra_sources", &Layer::extra_sources,
                             "Sources that the layer itself brings: the "
                             "weights of a loss.")
      .def("__repr__", [](const py::object& self) {
        return "<" +
               py::str(py::type::of(self).attr("__name__"))
                   .cast<std::string>() +
               " \"" + self.attr("name").cast<std::string>() + "\">";
      });
}

void bind_elementwise(py::module_& m) {
  using namespace layers;
  SimpleLayer<Arithmetic, Layer, ArithmeticOperation>::bind(
      m, "Arithmetic", kArithmeticDoc, py::arg("operation"))
      .def_property_readonly("operation", &Arithmetic::operation);
  SimpleLayer<Comparison, Layer, ComparisonOperation>::bind(
      m, "Comparison", kComparisonDoc, py::arg("operation"))
      .def_property_readonly("operation", &Comparison::operation);
  SimpleLayer<Selection, Layer>::bind(m, "Selection", kSelectionDoc);
  SimpleLayer<Dropout, Layer, float, std::int64_t>::bind(
      m, "Dropout", kDropoutDoc, py::arg("rate"), whole("seed") = 0)
      .def_property_readonly("rate", &Dropout::rate)
      .def_property_readonly("seed", &Dropout::seed);
  SimpleLayer<Softmax, Layer, SoftmaxOperation, std::int64_t>::bind(
      m, "Softmax", kSoftmaxDoc, py::arg("operation") = "softmax",
      whole("axis") = 1)
      .def_property_readonly("operation", &Softmax::operation)
      .def_property_readonly("axis", &Softmax::axis);
}

void bind_layout(py::module_& m) {
  using namespace layers;
  SimpleLayer<Reshape, Layer, Shape>::bind(m, "Reshape", kReshapeDoc,
                                           py::arg("shape"))
      .def_property_readonly("shape", &Reshape::shape);
  SimpleLayer<Flatten, Layer>::bind(m, "Flatten", kFlattenDoc);
  SimpleLayer<Transpose, Layer, Shape>::bind(m, "Transpose", kTransposeDoc,
                                             py::arg("axes"))
      .def_property_readonly("axes", &Transpose::axes);
  SimpleLayer<Upsample, Layer, Shape, SampleMode, bool>::bind(
      m, "Upsample", kUpsampleDoc, py::arg("shape"),
      py::arg("sample_mode") = "nearest", py::arg("aligns_corners") = false)
      .def_property_readonly("shape", &Upsample::shape)
      .def_property_readonly("sample_mode", &Upsample::sample_mode)
      .def_property_readonly("aligns_corners", &Upsample::aligns_corners);
  SimpleLayer<Concatenation, Layer, std::int64_t>::bind(
      m, "Concatenation", kConcatenationDoc, whole("axis") = 1)
      .def_property_readonly("axis", &Concatenation::axis);
  SimpleLayer<Split, Layer, std::int64_t, std::int64_t>::bind(
      m, "Split", kSplitDoc, whole("split_count"), whole("axis"))
      .def(py::init([](const py::typing::List<py::int_>& lengths,
                       std::int64_t axis, const std::string& name) {
             return make_layer<Split>(name, lengths.cast<Shape>(), axis);
           }),
           py::arg("split_section_lengths"), whole("axis"), py::kw_only(),
           py::arg("name") = "")
      .def_property_readonly("axis", &Split::axis)
      .def_property_readonly("split_count", &Split::split_count)
      .def_property_readonly("split_section_lengths",
                             &Split::split_section_lengths);
  SimpleLayer<Slice, Layer, Shape, Shape, Shape>::bind(
      m, "Slice", kSliceDoc, py::arg("start"), py::arg("end"),
      py::arg("stride") = py::tuple())
      .def_property_readonly("start", &Slice::start)
      .def_property_readonly("end", &Slice::end)
      .def_property_readonly("stride", &Slice::stride);
}

std::vector<std::int64_t> list_of(const Shape& sizes) {
  return {sizes.begin(), sizes.end()};
}

template <class Class>
void bind_padding_of(py::module_& m, const char* name, const char* summary) {
  std::string doc = py::module_::import("inspect")
                        .attr("cleandoc")(kPaddingSizesExample)
                        .cast<std::string>();
  doc.replace(doc.find("{0}"), 3, name);
  doc = std::string(summary) + "\n\n" + doc;
  BoundClass<Class, layers::Padding, std::shared_ptr<Class>>(m, name,
                                                             doc.c_str())
      .def(py::init([](const Shape& padding, const std::string& name) {
             return make_layer<Class>(name, list_of(padding));
           }),
           py::arg("padding"), py::kw_only(), py::arg("name") = "");
}

void bind_padding(py::module_& m) {
  using Class = layers::Padding;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(m, "Padding",
                                                   kPaddingLayerDoc)
      .def(py::init([](PaddingType type, const Shape& padding, float value,
                       const std::string& name) {
             return make_layer<Class>(name, type, list_of(padding), value);
           }),
           py::arg("padding_type"), py::arg("padding"),
           py::arg("constant_value") = 0.0, py::kw_only(), py::arg("name") = "")
      .def_property_readonly("padding_type", &Class::padding_type)
      .def_property_readonly("padding_top", &Class::padding_top,
                             "Elements that are added above.")
      .def_property_readonly("padding_bottom", &Class::padding_bottom,
                             "Elements that are added below.")
      .def_property_readonly("padding_left", &Class::padding_left,
                             "Elements that are added on the left.")
      .def_property_readonly("padding_right", &Class::padding_right,
                             "Elements that are added on the right.")
      .def_property_readonly("constant_value", &Class::constant_value);
  bind_padding_of<layers::ZeroPadding>(m, "ZeroPadding",
                                       "Adds zeros around the last two axes.");
  bind_padding_of<layers::ReflectionPadding>(
      m, "ReflectionPadding",
      "Mirrors the last two axes at their ends, without the border element.");
  bind_padding_of<layers::SymmetricPadding>(
      m, "SymmetricPadding",
      "Mirrors the last two axes at their ends, with the border element.");
  bind_padding_of<layers::ReplicationPadding>(
      m, "ReplicationPadding",
      "Repeats the border elements of the last two axes.");
  using Constant = layers::ConstantPadding;
  BoundClass<Constant, Class, std::shared_ptr<Constant>>(m, "ConstantPadding",
                                                         kConstantPaddingDoc)
      .def(py::init(
               [](const Shape& padding, float value, const std::string& name) {
                 return make_layer<Constant>(name, list_of(padding), value);
               }),
           py::arg("padding"), py::arg("constant_value"), py::kw_only(),
           py::arg("name") = "");
}

void bind_reduction(py::module_& m) {
  using Class = layers::Reduction;
  SimpleLayer<Class, Layer, ReductionType, Shape>::bind(
      m, "Reduction", kReductionDoc, py::arg("reduction_type"),
      py::arg("axes") = py::tuple())
      .def_property_readonly("reduction_type", &Class::reduction_type)
      .def_property_readonly("axes", &Class::axes);
}

template <class Class>
void bind_data_types_of() {
  const py::type type = py::type::of<Class>();
  type.attr("supports_data_type") = py::staticmethod(py::cpp_function(
      [](DataType data_type, const DeviceLike& device) {
        return Class::supports_data_type(data_type, to_device(device));
      },
      py::name("supports_data_type"), py::scope(type), py::arg("data_type"),
      py::arg("device"), kSupportsDataTypeDoc));
}

template <class... Classes>
void bind_data_types() {
  (bind_data_types_of<Classes>(), ...);
}

}  // namespace

void bind_layers(py::module_& m) {
  bind_layer(m);
  bind_activation_layers(m);
  bind_elementwise(m);
  bind_layout(m);
  bind_padding(m);
  bind_reduction(m);
  bind_window_layers(m);
  bind_weighted_layers(m);
  bind_gather_layers(m);
  bind_recurrent_layers(m);
  bind_attention_layers(m);
  bind_normalization_layers(m);
  bind_sequential(m);
  using namespace layers;
  bind_data_types<Layer, Activation, Arithmetic, BatchNormalization, Comparison,
                  Concatenation, Convolution, Dropout, Embedding, Flatten,
                  FullyConnected, Gather, GramMatrix, GroupNormalization,
                  InstanceNormalization, LayerNormalization, LSTM, MatMul,
                  MultiheadAttention, layers::Padding, Pooling, PReLU,
                  Reduction, Reshape, Scatter, Selection, Slice, Softmax, Split,
                  Transpose, Upsample>();
}

}  // namespace traingraph::python
