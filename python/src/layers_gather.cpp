// SPDX-License-Identifier: MIT
// Layers that look up by indices.
#include <pybind11/stl.h>

#include "arrays.h"
#include "layers.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

using OptionalIndex = std::optional<std::int64_t>;
using OptionalFloat = std::optional<float>;
using Given = std::optional<TensorOrArray>;
using OptionalInitializer = std::optional<RandomInitializerType>;

constexpr const char* kGatherDoc =
    "Sources `source` and `indices` (int32 or int64): the elements of the "
    "source that the indices name along axis `dimension`.\n\n"
    "Indices of the source's rank name one element each "
    "(numpy.take_along_axis), indices of one axis whole slices (numpy.take): "
    "source (N, C, W), dimension 1, indices (M) give (N, M, W). They are 0 to "
    "size - 1. InvalidArgument names the tensor, the element and the range: "
    "from the call for data, from the execution for what the graph computes; "
    "there a GPU, which cannot, makes the result NaN.";

constexpr const char* kScatterDoc =
    "Sources `source`, `indices` (int32 or int64) and `copy_from`: a copy of "
    "copy_from in which the elements that the indices name along axis "
    "`dimension` are those of the source (\"none\") or have them added "
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

EmbeddingDescriptor embedding_descriptor(std::int64_t count,
                                         std::int64_t dimension,
                                         OptionalIndex padding_index,
                                         OptionalFloat maximum_norm,
                                         float p_norm,
                                         bool scales_gradient_by_frequency) {
  EmbeddingDescriptor descriptor{
      .embedding_count = count,
      .embedding_dimension = dimension,
      .padding_index = padding_index,
      .maximum_norm = maximum_norm,
      .p_norm = p_norm,
      .scales_gradient_by_frequency = scales_gradient_by_frequency};
  descriptor.validate();
  return descriptor;
}

/// Calls def(the keywords of the descriptor behind the sizes).
template <class Def>
void with_descriptor_arguments(Def def) {
  def(py::arg("padding_index") = py::none(),
      py::arg("maximum_norm") = py::none(), py::arg("p_norm") = 2.0,
      py::arg("scales_gradient_by_frequency") = false);
}

/// Those that are not given are the weights' own.
Shape sizes_of(const Tensor& weights, OptionalIndex count,
               OptionalIndex dimension) {
  const auto own = EmbeddingDescriptor::of_weights(weights);
  return {count.value_or(own.embedding_count),
          dimension.value_or(own.embedding_dimension)};
}

void bind_gather(py::module_& m) {
  using layers::Gather;
  BoundClass<Gather, Layer, std::shared_ptr<Gather>>(m, "Gather", kGatherDoc)
      .def(py::init([](std::int64_t dimension, const std::string& label) {
             return make_layer<Gather>(label, dimension);
           }),
           whole("dimension"), py::kw_only(), py::arg("label") = "")
      .def_property_readonly("dimension", &Gather::dimension);
  using layers::Scatter;
  BoundClass<Scatter, Layer, std::shared_ptr<Scatter>>(m, "Scatter",
                                                       kScatterDoc)
      .def(py::init([](std::int64_t dimension, ReductionType type,
                       const std::string& label) {
             return make_layer<Scatter>(label, dimension, type);
           }),
           whole("dimension"), py::arg("reduction_type") = "none",
           py::kw_only(), py::arg("label") = "")
      .def_property_readonly("dimension", &Scatter::dimension)
      .def_property_readonly("reduction_type", &Scatter::reduction_type);
}

void bind_embedding_descriptor(py::module_& m) {
  using Descriptor = EmbeddingDescriptor;
  BoundClass<Descriptor> type(m, "EmbeddingDescriptor", kDescriptorDoc);
  with_descriptor_arguments([&](const auto&... arguments) {
    type.def(py::init(&embedding_descriptor), whole("embedding_count"),
             whole("embedding_dimension"), arguments...);
  });
  type.def_readonly("embedding_count", &Descriptor::embedding_count)
      .def_readonly("embedding_dimension", &Descriptor::embedding_dimension)
      .def_readonly("padding_index", &Descriptor::padding_index)
      .def_readonly("maximum_norm", &Descriptor::maximum_norm)
      .def_readonly("p_norm", &Descriptor::p_norm)
      .def_readonly("scales_gradient_by_frequency",
                    &Descriptor::scales_gradient_by_frequency);
  bind_value(type);
}

void bind_embedding(py::module_& m) {
  using Class = layers::Embedding;
  BoundClass<Class, Layer, std::shared_ptr<Class>> type(m, "Embedding",
                                                        kEmbeddingDoc);
  type.def(
      py::init([](const EmbeddingDescriptor& descriptor, const Given& weights,
                  OptionalInitializer initializer, const std::string& label) {
        return make_layer<Class>(
            label, descriptor,
            EmbeddingOptions{.weights = to_tensor(weights, "weights"),
                             .initializer = initializer});
      }),
      py::arg("descriptor"), py::arg("weights") = py::none(), py::kw_only(),
      py::arg("initializer") = py::none(), py::arg("label") = "");
  with_descriptor_arguments([&](const auto&... arguments) {
    type.def(
        py::init([](OptionalIndex count, OptionalIndex dimension,
                    OptionalIndex padding_index, OptionalFloat maximum_norm,
                    float p_norm, bool scales_gradient_by_frequency,
                    const Given& weights, OptionalInitializer initializer,
                    const std::string& label) {
          const EmbeddingOptions options{
              .weights = to_tensor(weights, "weights"),
              .initializer = initializer};
          const Shape shape = sizes_of(options.weights, count, dimension);
          return make_layer<Class>(
              label,
              embedding_descriptor(shape[0], shape[1], padding_index,
                                   maximum_norm, p_norm,
                                   scales_gradient_by_frequency),
              options);
        }),
        whole("embedding_count") = py::none(),
        whole("embedding_dimension") = py::none(), arguments..., py::kw_only(),
        py::arg("weights") = py::none(), py::arg("initializer") = py::none(),
        py::arg("label") = "");
  });
  type.def_property_readonly("descriptor", &Class::descriptor)
      .def_property_readonly("weights",
                             [](const Class& self) { return self.weights(); })
      .def_property_readonly("weights_parameter", &Class::weights_parameter);
}

}  // namespace

void bind_gather_layers(py::module_& m) {
  bind_gather(m);
  bind_embedding_descriptor(m);
  bind_embedding(m);
}

}  // namespace traingraph::python
