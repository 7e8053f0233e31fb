// SPDX-License-Identifier: MIT
// Multi-head attention and its descriptor.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

using Class = layers::MultiheadAttention;

constexpr const char* kAttentionDescriptorDoc = R"pbdoc(
    The options of MultiheadAttention, as ML Compute has them.

    Raises:
        InvalidArgument: for widths below 1, widths that head_count does not divide, and a
            dropout outside of [0, 1).
)pbdoc";

constexpr const char* kAttentionDoc = R"pbdoc(
    Multi-head attention: each query takes the values of the keys that fit it.

    Sources are query (N, L, E), key (N, S, in) and value (N, S, in), then masks if
    wanted; the result is (N, L, E). With K and V the key and the value dimension, and
    heads as columns of the projections::

        q = query @ Wq.T + bq,  k = key @ Wk.T + bk,  v = value @ Wv.T + bv
        a = softmax(q @ k.T / sqrt(K / head_count) + mask)     for each head
        y = concatenated(dropout(a) @ v) @ Wo.T + bo

    Masks are told apart by their rank. A key mask (N, S) is Boolean; an attention mask
    (1, L, S) or (N * head_count, L, S) is Boolean, or float and added. True is masked
    out, and a query that sees no key has attention 0. Declare a mask (1, L, S) with
    batch_axis=None.

    Weights are those of query (K, E), key (K, in), value (V, in) and output (E, V), or
    with the same bytes (1, head_count, K / head_count, E) ... (1, 1, E, V). Biases have
    K, K, V and E elements. MultiheadAttention(head_count) has the widths of its
    sources, and its first node creates the parameters.

    Raises:
        InvalidArgument: for widths that head_count does not divide, and a dropout
            outside of [0, 1).
        ShapeError: for weights and biases of other sizes; from node(), for sources that
            do not fit.
        DTypeError: for weights and biases that are not float32.

    Example:
        >>> g, words = tg.Graph(), tg.Tensor((8, 128, 64))  # (batch, time, features)
        >>> attention = tg.layers.MultiheadAttention(4)
        >>> g.node(attention, [words, words, words]).shape
        (8, 128, 64)
        >>> [w.shape for w in attention.weights]
        [(64, 64), (64, 64), (64, 64), (64, 64)]
)pbdoc";

/// Calls def(the rows of the descriptor).
template <class Def>
void with_attention_rows(Def def) {
  def(required("model_dimension",
               &MultiheadAttentionDescriptor::model_dimension,
               "The width of queries and of the result."),
      required("head_count", &MultiheadAttentionDescriptor::head_count,
               "The number of heads."),
      row_or_none("key_dimension", &MultiheadAttentionDescriptor::key_dimension,
                  "The width of all heads of the projected queries and keys; "
                  "None: model_dimension."),
      row_or_none("value_dimension",
                  &MultiheadAttentionDescriptor::value_dimension,
                  "The width of all heads of the projected values; None: "
                  "model_dimension."),
      row("dropout", &MultiheadAttentionDescriptor::dropout,
          "The rate at which training drops weights of attention, in [0, 1)."),
      row("uses_biases", &MultiheadAttentionDescriptor::uses_biases,
          "Do the four projections add biases?"),
      row("uses_attention_biases",
          &MultiheadAttentionDescriptor::uses_attention_biases,
          "Is there one more key and value that all samples share, as "
          "parameters?"),
      row("adds_zero_attention",
          &MultiheadAttentionDescriptor::adds_zero_attention,
          "Is there one more key and value of zeros?"));
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
      row("weights", &MultiheadAttentionOptions::weights,
          "Of query, key, value and output, arrays or tensors; None: created "
          "by `initializer`."),
      row("biases", &MultiheadAttentionOptions::biases,
          "Of query, key, value and output; None: created as zeros."),
      row("attention_biases", &MultiheadAttentionOptions::attention_biases,
          "The key and the value that all samples share; None: created as "
          "zeros, with uses_attention_biases."),
      py::kw_only(),
      row("initializer", &MultiheadAttentionOptions::initializer,
          kInitializerDoc),
      row("key_source_dimension",
          &MultiheadAttentionOptions::key_source_dimension,
          "The width of key sources, for weights that are created; 0: "
          "model_dimension."),
      row("value_source_dimension",
          &MultiheadAttentionOptions::value_source_dimension,
          "The width of value sources, for weights that are created; 0: "
          "model_dimension."),
      row("seed", &MultiheadAttentionOptions::seed,
          "Of dropout; 0: the platform's."));
}

void bind_attention(py::module_& m) {
  BoundClass<Class, Layer, std::shared_ptr<Class>> type(m, "MultiheadAttention",
                                                        kAttentionDoc);
  def_attention(type, plain<MultiheadAttentionDescriptor>(
                          "descriptor",
                          "A MultiheadAttentionDescriptor, in place of the "
                          "widths and options."));
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
  type.def_property_readonly("descriptor", &Class::descriptor,
                             kOwnDescriptorDoc)
      .def_property_readonly("seed", &Class::seed)
      .def_property_readonly("weights", &Class::weights,
                             "Those of query, key, value and output; trained.")
      .def_property_readonly(
          "biases", or_none(&Class::biases),
          "Those of query, key, value and output; None without biases.")
      .def_property_readonly(
          "attention_biases", or_none(&Class::attention_biases),
          "The key and the value that all samples share, or None.")
      .def_property_readonly("weights_parameters", &Class::weights_parameters,
                             "weights with their state in training.")
      .def_property_readonly("biases_parameters",
                             or_none(&Class::biases_parameters),
                             "biases with their state in training.")
      .def_property_readonly(
          "attention_biases_parameters",
          or_none(&Class::attention_biases_parameters),
          "attention_biases with their state in training. They are trained; ML "
          "Compute's are not: set is_updatable to False "
          "for that.");
}

}  // namespace

void bind_attention_layers(py::module_& m) {
  with_attention_rows([&](const auto&... rows) {
    bind_descriptor<MultiheadAttentionDescriptor>(
        m, "MultiheadAttentionDescriptor", kAttentionDescriptorDoc, rows...);
  });
  bind_attention(m);
}

}  // namespace traingraph::python
