// SPDX-License-Identifier: MIT
// Layers that look up by indices.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

constexpr const char* kGatherDoc =
    "Sources `source` and `indices` (int32 or int64): the elements of the "
    "source that the indices name along `axis`.\n\n"
    "Indices of the source's rank name one element each "
    "(numpy.take_along_axis), indices of one axis whole slices (numpy.take): "
    "source (N, C, W), axis 1, indices (M) give (N, M, W). They are 0 to "
    "size - 1. InvalidArgument names the tensor, the element and the range: "
    "from the call for data, from the execution for what the graph computes; "
    "there a GPU, which cannot, makes the result NaN.";

constexpr const char* kScatterDoc =
    "Sources `source`, `indices` (int32 or int64) and `copy_from`: a copy of "
    "copy_from in which the elements that the indices name along axis "
    "`axis` are those of the source (\"none\") or have them added "
    "(\"sum\").\n\n"
    "Indices are as Gather's; the source has the shape of what Gather would "
    "take from copy_from. Where several sources meet, \"none\" keeps the last "
    "of them; \"sum\" adds them up in their order on the CPU, in any order on "
    "the GPU.";

constexpr const char* kDescriptorDoc =
    "embedding_count rows of embedding_dimension numbers.\n\n"
    "padding_index: a row whose gradient is zero; it starts as zeros where the "
    "layer creates the weights. maximum_norm: rows that training looks up and "
    "whose norm of order p_norm (2; math.inf too) is larger are scaled to it, "
    "where they are stored, before they are read; no gradient passes that "
    "change, and inference scales what it reads. scales_gradient_by_frequency: "
    "the gradient of a row is divided by how often the execution looked it "
    "up. Raises InvalidArgument.";

constexpr const char* kEmbeddingDoc =
    "(S) -> (S, embedding_dimension) for indices, int32 or int64, of any shape "
    "S of up to 7 axes; see Gather for those out of range.\n\n"
    "Weights are (embedding_count, embedding_dimension), have axes of size 1 "
    "besides, or are any other shape of as many elements, which costs a copy a "
    "step and excludes maximum_norm. Those not given are created: N(0, 1), or "
    "as `initializer` says. Weights of two axes, (count, dimension), need no "
    "sizes besides. The options are EmbeddingDescriptor's. Raises "
    "InvalidArgument, ShapeError or DTypeError.";

/// Calls def(the rows of the descriptor behind the sizes).
template <class Def>
void with_embedding_rows(Def def) {
  def(row("padding_index", &EmbeddingDescriptor::padding_index),
      row("maximum_norm", &EmbeddingDescriptor::maximum_norm),
      row("p_norm", &EmbeddingDescriptor::p_norm),
      row("scales_gradient_by_frequency",
          &EmbeddingDescriptor::scales_gradient_by_frequency));
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
  const auto weights = row("weights", &Options::weights);
  const auto initializer = row("initializer", &Options::initializer);
  def_layer<Options>(type, "Embedding",
                     plain<EmbeddingDescriptor>("descriptor"), weights,
                     py::kw_only(), initializer);
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
        type, "Embedding", build, row("embedding_count", &Sizes::count),
        row("embedding_dimension", &Sizes::dimension), rows..., py::kw_only(),
        weights, initializer);
  });
  type.def_property_readonly("descriptor", &Class::descriptor)
      .def_property_readonly("weights", copied(&Class::weights))
      .def_property_readonly("weights_parameter", &Class::weights_parameter);
}

}  // namespace

void bind_gather_layers(py::module_& m) {
  bind_gather(m);
  with_embedding_rows([&](const auto&... rows) {
    bind_descriptor<EmbeddingDescriptor>(
        m, "EmbeddingDescriptor", kDescriptorDoc,
        required("embedding_count", &EmbeddingDescriptor::embedding_count),
        required("embedding_dimension",
                 &EmbeddingDescriptor::embedding_dimension),
        rows...);
  });
  bind_embedding(m);
}

}  // namespace traingraph::python
