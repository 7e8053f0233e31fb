// SPDX-License-Identifier: MIT
// A merged graph says all that compiling needs by name and place, so two
// networks that are built alike have the same one, whatever their objects are.
#include "compiler/merged_graph.h"

#include <gtest/gtest.h>

#include <sstream>

#include "compiler/compile.h"
#include "compiler/merge.h"
#include "runtime/device/null_backend.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

void write(std::ostream& out, const MergedGraph::Names& names) {
  for (const auto& [name, tensor] : names) out << name << ' ' << tensor << '\n';
}

/// Everything there is to write to a file.
std::string text_of(const MergedGraph& graph) {
  std::ostringstream out;
  out << graph.program.to_string();
  for (const Value& value : graph.program.values()) {
    out << value.name << ' ' << static_cast<int>(value.role) << ' '
        << value.tensor << ' ' << value.batch.axis << '\n';
  }
  for (const Node& node : graph.program.nodes()) {
    out << node.op->name << ' ' << node.name << ' ' << node.layer << '\n';
  }
  for (const TensorInfo& tensor : graph.tensors) {
    out << tensor.name << ' ' << tensor.desc.to_string() << '\n';
  }
  for (const LayerInfo& layer : graph.layers) out << layer.name << '\n';
  for (const auto* names :
       {&graph.inputs, &graph.labels, &graph.label_weights, &graph.outputs}) {
    write(out, *names);
  }
  for (TensorIndex tensor : graph.trainable) out << tensor << ' ';
  for (const auto& slots : graph.slots) {
    for (TensorIndex slot : slots) out << slot << ' ';
  }
  return out.str();
}

Merged digits_like() {
  const Tensor x({{4, 6}}, "x"), label({{4, 3}}, "label");
  Graph graph;
  Tensor h = graph.node(std::make_shared<layers::FullyConnected>(6, 5), x);
  h = graph.node(std::make_shared<layers::BatchNormalization>(5), h);
  h = graph.node(std::make_shared<layers::Dropout>(0.5f), h);
  const Tensor y =
      graph.node(std::make_shared<layers::FullyConnected>(5, 3), h);
  Declaration d;
  d.trains = true;
  d.is_linkable = true;
  d.graphs = {graph.state()};
  d.loss = std::make_shared<losses::SoftmaxCrossEntropy>();
  d.optimizer = std::make_shared<optimizers::Adam>();
  d.inputs = {{"x", x}};
  d.labels = {{"label", label}};
  d.outputs = {{"y", y}};
  return merge_graphs(d);
}

TEST(MergedGraph, HoldsNothingOfTheProcess) {
  const std::string first = text_of(digits_like().graph);
  const Tensor between({{1}});  // takes an id
  EXPECT_EQ(text_of(digits_like().graph), first);
}

TEST(MergedGraph, CompilesWithoutTheUsersObjects) {
  const auto context = make_null_context();
  const auto compile = [&](std::shared_ptr<const MergedGraph> graph) {
    return compile_graph(std::move(graph), context->target(), {}, 4);
  };
  const Compilation with_objects = [&] {
    const Merged merged = digits_like();
    return compile(std::make_shared<const MergedGraph>(merged.graph));
  }();
  // Here tensors, layers and graph are gone.
  const Compilation without =
      compile(std::make_shared<const MergedGraph>(digits_like().graph));
  const auto& [program, step] = without.part(PlanKind::Step);
  const auto& [program_before, step_before] = with_objects.part(PlanKind::Step);
  EXPECT_EQ(step.order, step_before.order);
  EXPECT_EQ(step.offset_of, step_before.offset_of);
  EXPECT_EQ(program->assembled.program.to_string(),
            program_before->assembled.program.to_string());
}

TEST(MergedGraph, AnotherOptimizerTakesThePlaceOfTheSlots) {
  Merged merged = digits_like();
  const auto num_tensors = merged.graph.tensors.size();
  const std::size_t num_trained = merged.graph.trainable.size();
  EXPECT_EQ(num_trained, 6u);  // two products and a normalization
  EXPECT_EQ(num_tensors, merged.graph.first_slot + 2 * num_trained);
  set_optimizer(merged, std::make_shared<optimizers::SGD>(0.1f, 0.9f), false);
  EXPECT_EQ(merged.graph.tensors.size(), merged.graph.first_slot + num_trained);
  EXPECT_EQ(merged.graph.tensors.size(), merged.objects.tensors.size());
  EXPECT_EQ(merged.graph.tensors.size(), merged.graph.value_of.size());
  EXPECT_EQ(merged.graph.tensors.back().name.rfind("momentum of ", 0), 0u);
  set_optimizer(merged, nullptr, false);
  EXPECT_EQ(merged.graph.tensors.size(),
            static_cast<std::size_t>(merged.graph.first_slot));
  EXPECT_FALSE(merged.graph.update);
}

}  // namespace
}  // namespace traingraph
