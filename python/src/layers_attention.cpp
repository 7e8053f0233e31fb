// SPDX-License-Identifier: MIT
// Multi-head attention and its descriptor.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

using Class = layers::MultiheadAttention;

/// Calls def(the rows of the descriptor).
template <class Def>
void with_attention_rows(Def def) {
  def(required("model_dimension",
               &MultiheadAttentionDescriptor::model_dimension),
      required("head_count", &MultiheadAttentionDescriptor::head_count),
      row_or_none("key_dimension",
                  &MultiheadAttentionDescriptor::key_dimension),
      row_or_none("value_dimension",
                  &MultiheadAttentionDescriptor::value_dimension),
      row("dropout", &MultiheadAttentionDescriptor::dropout),
      row("uses_biases", &MultiheadAttentionDescriptor::uses_biases),
      row("uses_attention_biases",
          &MultiheadAttentionDescriptor::uses_attention_biases),
      row("adds_zero_attention",
          &MultiheadAttentionDescriptor::adds_zero_attention));
}

/// Requires of a width that is given that it is one.
constexpr auto kBuild = [](const std::string& name,
                           const MultiheadAttentionDescriptor& descriptor,
                           const MultiheadAttentionOptions& options) {
  require_given("MultiheadAttention", "model_dimension",
                descriptor.model_dimension);
  return make_layer<Class>(name, descriptor, options);
};

template <class... Parts, class Type, class... First>
void def_attention(Type& type, const First&... first) {
  def_named<Parts..., MultiheadAttentionOptions>(
      type, "MultiheadAttention", kBuild, first...,
      row("weights", &MultiheadAttentionOptions::weights),
      row("biases", &MultiheadAttentionOptions::biases),
      row("attention_biases", &MultiheadAttentionOptions::attention_biases),
      py::kw_only(),
      row("initializer", &MultiheadAttentionOptions::initializer),
      row("key_source_dimension",
          &MultiheadAttentionOptions::key_source_dimension),
      row("value_source_dimension",
          &MultiheadAttentionOptions::value_source_dimension),
      row("seed", &MultiheadAttentionOptions::seed));
}

void bind_attention(py::module_& m) {
  BoundClass<Class, Layer, std::shared_ptr<Class>> type(
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
      "model_dimension), biases with zeros. Seed 0 is the "
      "platform's.\n\nMultiheadAttention(head_count) has the widths of its "
      "sources: its first node makes the parameters. Raises "
      "InvalidArgument, ShapeError or DTypeError.");
  def_attention(type, plain<MultiheadAttentionDescriptor>("descriptor"));
  with_attention_rows([&](const auto&... rows) {
    def_attention<MultiheadAttentionDescriptor>(type, rows...);
  });
  with_attention_rows([&](const auto& /*model_dimension*/,
                          const auto& head_count, const auto&... rows) {
    using Options = MultiheadAttentionOptions;
    def_layer<MultiheadAttentionDescriptor, Options>(
        type, "MultiheadAttention", head_count, py::kw_only(), rows...,
        row("weights", &Options::weights), row("biases", &Options::biases),
        row("attention_biases", &Options::attention_biases),
        row("initializer", &Options::initializer),
        row("key_source_dimension", &Options::key_source_dimension),
        row("value_source_dimension", &Options::value_source_dimension),
        row("seed", &Options::seed));
  });
  type.def_property_readonly("descriptor", &Class::descriptor)
      .def_property_readonly("seed", &Class::seed)
      .def_property_readonly("weights", &Class::weights,
                             "Query, key, value, output.")
      .def_property_readonly("biases", or_none(&Class::biases), "The same.")
      .def_property_readonly("attention_biases",
                             or_none(&Class::attention_biases), "Key, value.")
      .def_property_readonly("weights_parameters", &Class::weights_parameters)
      .def_property_readonly("biases_parameters",
                             or_none(&Class::biases_parameters))
      .def_property_readonly(
          "attention_biases_parameters",
          or_none(&Class::attention_biases_parameters),
          "They are trained; ML Compute's are not: set is_updatable to False "
          "for that.");
}

}  // namespace

void bind_attention_layers(py::module_& m) {
  with_attention_rows([&](const auto&... rows) {
    bind_descriptor<MultiheadAttentionDescriptor>(
        m, "MultiheadAttentionDescriptor",
        "key_dimension and value_dimension are widths of all heads together, "
        "after the projections; None: model_dimension. Both are multiples of "
        "head_count.",
        rows...);
  });
  bind_attention(m);
}

}  // namespace traingraph::python
