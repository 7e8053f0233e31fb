// SPDX-License-Identifier: MIT
// Layers that look up by indices.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

constexpr const char* kGatherDoc = R"pbdoc(
    The elements of a source that indices name along an axis.

    Sources are the source and indices, int32 or int64. Indices of the source's rank name
    one element each, as numpy.take_along_axis: the result has their shape. Indices of
    one axis, for a source of more, name whole slices, as numpy.take: source (N, C, W)
    and indices (M) give (N, M, W) for axis 1. To pick one element of each sample of
    (N, C), labels (N) are reshaped to (N, 1) first.

    Args:
        axis: The axis, a negative one from the end.

    Raises:
        InvalidArgument: for indices out of 0 to size - 1, which names the tensor, the
            element and the range: from the call for data, from the execution for what
            the graph computes. There a GPU, which cannot, makes the result NaN.
        ShapeError: from node(), for indices whose shape does not fit.

    Example:
        >>> g = tg.Graph()
        >>> x = tg.Tensor((8, 128, 64))
        >>> steps = tg.Tensor((3,), "int32", data=[0, 5, 127])
        >>> g.node(tg.layers.Gather(axis=1), [x, steps]).shape
        (8, 3, 64)
)pbdoc";

constexpr const char* kScatterDoc = R"pbdoc(
    A copy of a tensor in which indices along an axis name elements to replace.

    Sources are the source, indices (int32 or int64) and copy_from, which is copied.
    Indices are as Gather's; the source has the shape of what Gather would take from
    copy_from, and the result that of copy_from. Where several elements meet, "none"
    keeps the last of them; "sum" adds them up in their order on the CPU, in any order on
    the GPU.

    Args:
        axis: The axis, a negative one from the end.
        reduction_type: "none": elements are replaced. "sum": the source's are added.

    Raises:
        InvalidArgument: for another reduction_type, and for indices as Gather does.
        ShapeError: from node(), for sources that do not fit.

    Example:
        >>> g = tg.Graph()
        >>> rows, base = tg.Tensor((8, 3, 64)), tg.Tensor((8, 128, 64))
        >>> steps = tg.Tensor((3,), "int32", data=[0, 5, 127])
        >>> g.node(tg.layers.Scatter(axis=1), [rows, steps, base]).shape
        (8, 128, 64)
)pbdoc";

constexpr const char* kEmbeddingDescriptorDoc = R"pbdoc(
    The options of Embedding, as ML Compute has them.

    Raises:
        InvalidArgument: for sizes below 1, a padding_index that is no row, and norms that
            are not above 0.
)pbdoc";

constexpr const char* kEmbeddingDoc = R"pbdoc(
    Rows of a table that is trained, by their indices.

    Indices (...), int32 or int64, of any shape of up to 7 axes -> (...,
    embedding_dimension). Weights are (embedding_count, embedding_dimension), with axes
    of size 1 besides, or any shape of as many elements, which costs a copy a step and
    excludes maximum_norm. Weights of two axes need no sizes besides.

    Raises:
        InvalidArgument: for sizes below 1, and indices out of 0 to embedding_count - 1,
            as Gather does.
        ShapeError: for weights of other sizes.
        DTypeError: for weights that are not float32.

    Example:
        >>> g, words = tg.Graph(), tg.Tensor((8, 128), "int32")
        >>> embedding = tg.layers.Embedding(1000, 64, padding_index=0)
        >>> g.node(embedding, words).shape, embedding.weights.shape
        ((8, 128, 64), (1000, 64))
)pbdoc";

/// Calls def(the rows of the descriptor behind the sizes).
template <class Def>
void with_embedding_rows(Def def) {
  def(row("padding_index", &EmbeddingDescriptor::padding_index,
          "A row whose gradient is zero; it starts as zeros where the layer "
          "creates the weights. None: no such row."),
      row("maximum_norm", &EmbeddingDescriptor::maximum_norm,
          "Rows that training looks up and whose norm is larger are scaled to "
          "it, where they are stored, before they are read; no gradient passes "
          "that change, and inference scales what it reads. None: no limit."),
      row("p_norm", &EmbeddingDescriptor::p_norm,
          "The order of that norm; math.inf, too."),
      row("scales_gradient_by_frequency",
          &EmbeddingDescriptor::scales_gradient_by_frequency,
          "Is the gradient of a row divided by how often the execution looked "
          "it up?"));
}

/// Those that are not given are the weights' own.
struct Sizes {
  std::optional<std::int64_t> count, dimension;
};

void bind_gather(py::module_& m) {
  using layers::Gather;
  SimpleLayer<Gather, Layer, std::int64_t>::bind(m, "Gather", kGatherDoc,
                                                 whole("axis"))
      .def_property_readonly("axis", &Gather::axis);
  using layers::Scatter;
  SimpleLayer<Scatter, Layer, std::int64_t, ReductionType>::bind(
      m, "Scatter", kScatterDoc, whole("axis"),
      py::arg("reduction_type") = "none")
      .def_property_readonly("axis", &Scatter::axis)
      .def_property_readonly("reduction_type", &Scatter::reduction_type);
}

void bind_embedding(py::module_& m) {
  using Class = layers::Embedding;
  using Options = EmbeddingOptions;
  BoundClass<Class, Layer, std::shared_ptr<Class>> type(m, "Embedding",
                                                        kEmbeddingDoc);
  const auto weights =
      row("weights", &Options::weights,
          "An array or a tensor; None: created by `initializer`.");
  const auto initializer = row("initializer", &Options::initializer,
                               "How weights that are not given are created, "
                               "such as \"uniform\"; None: normal, N(0, 1).");
  def_layer<Options>(
      type, "Embedding",
      plain<EmbeddingDescriptor>(
          "descriptor",
          "An EmbeddingDescriptor, in place of sizes and options."),
      weights, py::kw_only(), initializer);
  const auto build = [](const std::string& name, const Sizes& sizes,
                        EmbeddingDescriptor descriptor,
                        const Options& options) {
    const auto own = [&] {
      return EmbeddingDescriptor::of_weights(options.weights);
    };
    descriptor.embedding_count =
        sizes.count ? *sizes.count : own().embedding_count;
    descriptor.embedding_dimension =
        sizes.dimension ? *sizes.dimension : own().embedding_dimension;
    descriptor.validate();
    return make_layer<Class>(name, descriptor, options);
  };
  with_embedding_rows([&](const auto&... rows) {
    def_named<Sizes, EmbeddingDescriptor, Options>(
        type, "Embedding", build,
        row("embedding_count", &Sizes::count,
            "The number of rows; None: that of the weights."),
        row("embedding_dimension", &Sizes::dimension,
            "The width of each row; None: that of the weights."),
        rows..., py::kw_only(), weights, initializer);
  });
  type.def_property_readonly("descriptor", &Class::descriptor,
                             "The options of the layer.")
      .def_property_readonly("weights", copied(&Class::weights),
                             "The table; trained.")
      .def_property_readonly("weights_parameter", &Class::weights_parameter,
                             "weights with their state in training.");
}

}  // namespace

void bind_gather_layers(py::module_& m) {
  bind_gather(m);
  with_embedding_rows([&](const auto&... rows) {
    bind_descriptor<EmbeddingDescriptor>(
        m, "EmbeddingDescriptor", kEmbeddingDescriptorDoc,
        required("embedding_count", &EmbeddingDescriptor::embedding_count,
                 "The number of rows."),
        required("embedding_dimension",
                 &EmbeddingDescriptor::embedding_dimension,
                 "The width of each row."),
        rows...);
  });
  bind_embedding(m);
}

}  // namespace traingraph::python
