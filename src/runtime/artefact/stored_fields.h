// SPDX-License-Identifier: MIT
// The fields of a stored graph, once for writing and reading. visit(name,
// field) is one that every file has; visit.later(name, field) one that was
// added to the format, and keeps its default where a file lacks it. A new field
// of MergedGraph or of the options is one line of later() here.
#pragma once

#include "base/json_fields.h"
#include "runtime/artefact/stored_graph.h"

namespace traingraph {

template <>
struct StoredCases<Role> {
  static constexpr CaseName<Role> kCases[] = {{Role::Input, "input"},
                                              {Role::Variable, "variable"},
                                              {Role::Constant, "constant"},
                                              {Role::Result, "result"}};
};
template <>
struct StoredCases<Phase> {
  static constexpr CaseName<Phase> kCases[] = {{Phase::Forward, "forward"},
                                               {Phase::Gradient, "gradient"},
                                               {Phase::Update, "update"}};
};
template <class V>
void visit_fields(V& visit, IsA<TensorDescriptor> auto& x) {
  visit("type", x.data_type);
  visit("shape", x.shape);
}

template <class V>
void visit_fields(V& visit, IsA<StoredValue> auto& x) {
  visit("name", x.name);
  visit("role", x.role);
  visit("is", x.desc);
  visit.later("tensor", x.tensor);
  visit.later("batch_axis", x.batch_axis);
  visit.later("is_opaque", x.is_opaque);
}

template <class V>
void visit_fields(V& visit, IsA<Initializer> auto& x) {
  visit.later("type", x.type);
  visit.later("value", x.value);
  visit.later("fan_in", x.fan_in);
  visit.later("fan_out", x.fan_out);
  visit.later("gain", x.gain);
  visit.later("seed", x.seed);
  visit.later("first_block", x.first_block);
}

template <class V>
void visit_fields(V& visit, IsA<TensorEntry> auto& x) {
  visit("label", x.name);
  visit("is", x.desc);
  visit.later("batch_axis", x.batch_axis);
  visit.later("sequence_lengths", x.sequence_lengths);
  visit.later("sorted_sequences", x.sorted_sequences);
  visit.later("is_statistic", x.is_statistic);
  visit.later("is_result", x.is_result);
  visit.later("initializer", x.initializer);
  visit.later("data", x.data);
}

template <class V>
void visit_fields(V& visit, IsA<LayerInfo> auto& x) {
  visit("name", x.name);
  visit.later("is_loss", x.is_loss);
  visit.later("is_debugged", x.is_debugged);
  visit.later("compute_type", x.compute_type);
  visit("sources", x.sources);
  visit("results", x.results);
  visit.later("parameters", x.parameters);
}

template <class V>
void visit_fields(V& visit, IsA<MergedGraph::UserGradient> auto& x) {
  visit("of", x.of);
  visit("gradient", x.gradient);
  visit.later("is_boundary", x.is_boundary);
}

template <class V>
void visit_fields(V& visit, IsA<MergedGraph::GivenGradient> auto& x) {
  visit("of", x.of);
  visit("gradient", x.gradient);
}

template <class V>
void visit_fields(V& visit, IsA<ParameterRule> auto& x) {
  visit.later("lr_scale", x.lr_scale);
  visit.later("weight_decay", x.weight_decay);
}

/// The merged graph is stored but for what follows from its nodes and tensors.
template <class V>
void visit_fields(V& visit, IsA<MergedGraph> auto& x) {
  visit("trains", x.trains);
  visit("batch", x.batch);
  visit("batch_hint", x.batch_hint);
  visit("layers", x.layers);
  visit("result", x.result);
  visit("inputs", x.inputs);
  visit("labels", x.labels);
  visit("label_weights", x.label_weights);
  visit("outputs", x.outputs);
  visit.later("stopped", x.stopped);
  visit.later("user_gradients", x.user_gradients);
  visit.later("given_gradients", x.given_gradients);
  visit("trainable", x.trainable);
  visit.later("computes_all_gradients", x.computes_all_gradients);
  visit.later("is_linkable", x.is_linkable);
  visit.later("accumulates_gradients", x.accumulates_gradients);
  visit.later("rules", x.rules);
  visit.later("precision", x.precision);
  visit.later("weights_gradients", x.weights_gradients);
  // Here go fields that MergedGraph comes to have.
}

template <class V>
void visit_fields(V& visit, IsA<OptimizerDescriptor> auto& x) {
  visit("learning_rate", x.learning_rate);
  visit.later("gradient_rescale", x.gradient_rescale);
  visit.later("applies_gradient_clipping", x.applies_gradient_clipping);
  visit.later("gradient_clipping_type", x.gradient_clipping_type);
  visit.later("gradient_clip_max", x.gradient_clip_max);
  visit.later("gradient_clip_min", x.gradient_clip_min);
  visit.later("maximum_clipping_norm", x.maximum_clipping_norm);
  visit.later("custom_global_norm", x.custom_global_norm);
  visit.later("regularization_type", x.regularization_type);
  visit.later("regularization_scale", x.regularization_scale);
}

template <class V>
void visit_fields(V& visit, IsA<Schedule::Piece> auto& x) {
  visit("type", x.type);
  visit("begin", x.begin);
  visit("steps", x.steps);
  visit("from", x.from);
  visit("to", x.to);
  visit.later("is_staircase", x.is_staircase);
}

template <class V>
void visit_fields(V& visit, IsA<StoredOptions> auto& x) {
  visit.later("fuses", x.fuses);
  visit.later("reuses_memory", x.reuse_memory);
  visit.later("max_gpu_ms", x.max_gpu_ms);
  // Here go options of compile().
}

}  // namespace traingraph
