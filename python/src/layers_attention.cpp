// SPDX-License-Identifier: MIT
// Multi-head attention and its descriptor.
#include <pybind11/stl.h>

#include <vector>

#include "arrays.h"
#include "layers.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

using Class = layers::MultiheadAttention;
using GivenList = std::optional<std::vector<TensorOrArray>>;

MultiheadAttentionDescriptor attention_descriptor(
    std::int64_t model_dimension, std::int64_t head_count,
    std::optional<std::int64_t> key_dimension,
    std::optional<std::int64_t> value_dimension, float dropout, bool has_biases,
    bool has_attention_biases, bool adds_zero_attention) {
  return MultiheadAttentionDescriptor{
      .model_dimension = model_dimension,
      .head_count = head_count,
      .key_dimension = key_dimension.value_or(model_dimension),
      .value_dimension = value_dimension.value_or(model_dimension),
      .dropout = dropout,
      .has_biases = has_biases,
      .has_attention_biases = has_attention_biases,
      .adds_zero_attention = adds_zero_attention}
      .resolved();
}

// What the descriptor and the layer without one take.
#define TRAINGRAPH_ATTENTION_DESCRIPTOR                       \
  whole("model_dimension"), whole("head_count"),              \
      py::arg("key_dimension").noconvert() = py::none(),      \
      py::arg("value_dimension").noconvert() = py::none(),    \
      py::arg("dropout") = 0.0, py::arg("has_biases") = true, \
      py::arg("has_attention_biases") = false,                \
      py::arg("adds_zero_attention") = false

void bind_attention_descriptor(py::module_& m) {
  BoundClass<MultiheadAttentionDescriptor> type(
      m, "MultiheadAttentionDescriptor",
      "key_dimension and value_dimension are widths of all heads together, "
      "after the projections; None: model_dimension. Both are multiples of "
      "head_count.");
  type.def(py::init(&attention_descriptor), TRAINGRAPH_ATTENTION_DESCRIPTOR)
      .def_readonly("model_dimension",
                    &MultiheadAttentionDescriptor::model_dimension)
      .def_readonly("head_count", &MultiheadAttentionDescriptor::head_count)
      .def_readonly("key_dimension",
                    &MultiheadAttentionDescriptor::key_dimension)
      .def_readonly("value_dimension",
                    &MultiheadAttentionDescriptor::value_dimension)
      .def_readonly("dropout", &MultiheadAttentionDescriptor::dropout)
      .def_readonly("has_biases", &MultiheadAttentionDescriptor::has_biases)
      .def_readonly("has_attention_biases",
                    &MultiheadAttentionDescriptor::has_attention_biases)
      .def_readonly("adds_zero_attention",
                    &MultiheadAttentionDescriptor::adds_zero_attention);
  bind_value(type);
}

// The tail of both constructors.
#define TRAINGRAPH_ATTENTION_PARAMETERS                                       \
  const GivenList &weights, const GivenList &biases,                          \
      const GivenList &attention_biases,                                      \
      std::optional<RandomInitializerType> initializer,                       \
      std::int64_t key_source_dimension, std::int64_t value_source_dimension, \
      std::int64_t seed, const std::string &label
#define TRAINGRAPH_ATTENTION_ARGUMENTS                                    \
  py::arg("weights") = py::none(), py::arg("biases") = py::none(),        \
  py::arg("attention_biases") = py::none(), py::kw_only(),                \
  py::arg("initializer") = py::none(), whole("key_source_dimension") = 0, \
  whole("value_source_dimension") = 0, whole("seed") = 0,                 \
  py::arg("label") = ""
#define TRAINGRAPH_ATTENTION_OPTIONS                                          \
  MultiheadAttentionOptions {                                                 \
    .weights = to_tensors(weights, "MultiheadAttention", "weights"),          \
    .biases = to_tensors(biases, "MultiheadAttention", "biases"),             \
    .attention_biases = to_tensors(attention_biases, "MultiheadAttention",    \
                                   "attention_biases"),                       \
    .initializer = initializer, .key_source_dimension = key_source_dimension, \
    .value_source_dimension = value_source_dimension, .seed = seed            \
  }

void bind_attention(py::module_& m) {
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "MultiheadAttention",
      "Sources query (N, L, E), key (N, S, in), value (N, S, in), then masks; "
      "result (N, L, E).\n\n"
      "Softmax of scaled products of the projected queries and keys, per head, "
      "times the projected values; then the output projection. Masks are told "
      "apart by their rank: a key mask (N, S), Boolean; an attention mask (1, "
      "L, S) or (N * head_count, L, S), Boolean or float and added. True is "
      "masked out; a query that sees no key has attention 0. Declare a mask "
      "(1, "
      "L, S) with batch_axis=None.\n\n"
      "weights: query (K, E), key (K, in), value (V, in), output (E, V), or "
      "with the same bytes (1, head_count, K / head_count, E) ... (1, 1, E, "
      "V); "
      "biases of K, K, V and E elements; attention_biases of K and V. Those "
      "not given are created, weights with `initializer` (Glorot uniform) for "
      "sources of key_source_dimension and value_source_dimension (0: "
      "model_dimension), biases with zeros. Seed 0 is the platform's. Raises "
      "InvalidArgument, ShapeError or DTypeError.")
      .def(py::init([](const MultiheadAttentionDescriptor& descriptor,
                       TRAINGRAPH_ATTENTION_PARAMETERS) {
             return make_layer<Class>(label, descriptor,
                                      TRAINGRAPH_ATTENTION_OPTIONS);
           }),
           py::arg("descriptor"), TRAINGRAPH_ATTENTION_ARGUMENTS)
      .def(
          py::init([](std::int64_t model_dimension, std::int64_t head_count,
                      std::optional<std::int64_t> key_dimension,
                      std::optional<std::int64_t> value_dimension,
                      float dropout, bool has_biases, bool has_attention_biases,
                      bool adds_zero_attention,
                      TRAINGRAPH_ATTENTION_PARAMETERS) {
            return make_layer<Class>(
                label,
                attention_descriptor(model_dimension, head_count, key_dimension,
                                     value_dimension, dropout, has_biases,
                                     has_attention_biases, adds_zero_attention),
                TRAINGRAPH_ATTENTION_OPTIONS);
          }),
          TRAINGRAPH_ATTENTION_DESCRIPTOR, TRAINGRAPH_ATTENTION_ARGUMENTS)
      .def_property_readonly("descriptor", &Class::descriptor)
      .def_property_readonly("seed", &Class::seed)
      .def_property_readonly("weights", &Class::weights,
                             "Query, key, value, output.")
      .def_property_readonly(
          "biases", [](const Class& self) { return optional(self.biases()); },
          "The same.")
      .def_property_readonly(
          "attention_biases",
          [](const Class& self) { return optional(self.attention_biases()); },
          "Key, value.")
      .def_property_readonly("weights_parameters", &Class::weights_parameters)
      .def_property_readonly(
          "biases_parameters",
          [](const Class& self) { return optional(self.biases_parameters()); })
      .def_property_readonly(
          "attention_biases_parameters",
          [](const Class& self) {
            return optional(self.attention_biases_parameters());
          },
          "They are trained; ML Compute's are not: set is_updatable to False "
          "for that.");
}

}  // namespace

void bind_attention_layers(py::module_& m) {
  bind_attention_descriptor(m);
  bind_attention(m);
}

}  // namespace traingraph::python
