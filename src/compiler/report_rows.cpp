// SPDX-License-Identifier: MIT
#include "compiler/report_rows.h"

#include <unordered_set>

namespace traingraph {
namespace {

using Names = std::unordered_set<std::string>;

/// A layer that has the name of an op before it is "name:2" then.
std::string without_number(const std::string& name, const Names& ops) {
  const std::string stem = name.substr(0, name.find_last_of(':'));
  return ops.contains(stem) ? stem : name;
}

}  // namespace

ReportRows::ReportRows(const MergedGraph& graph, const Program& program)
    : reader_of_(graph.tensors.size(), -1) {
  std::vector<int> row_of_layer(graph.layers.size(), -1);
  Names ops;
  for (const Node& node : graph.program.nodes()) {
    int row = node.layer < 0 ? named(node.name) : row_of_layer[node.layer];
    if (node.layer < 0) ops.insert(node.name);
    if (row < 0) {
      row = row_of_layer[node.layer] = named(without_number(node.name, ops));
    }
    for (ValueId input : node.inputs) {
      if (input == kNoValue) continue;
      const TensorIndex tensor = graph.program.value(input).tensor;
      if (tensor == kNoTensor || reader_of_[tensor] >= 0) continue;
      reader_of_[tensor] = row;
    }
  }
  for (std::size_t i = 0; i < row_of_layer.size(); ++i) {
    if (row_of_layer[i] < 0) row_of_layer[i] = named(graph.layers[i].name);
  }
  // What is appended for a tensor has its name; an op's own name comes first.
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (reader_of_[i] < 0) continue;
    row_named_.try_emplace(graph.tensors[i].name, reader_of_[i]);
  }
  row_of_.reserve(program.nodes().size());
  for (const Node& node : program.nodes()) {
    row_of_.push_back(node.layer < 0 ? named(node.name)
                                     : row_of_layer[node.layer]);
  }
}

int ReportRows::named(const std::string& name) {
  const auto [found, is_new] =
      row_named_.try_emplace(name, static_cast<int>(names_.size()));
  if (is_new) names_.push_back(name);
  return found->second;
}

}  // namespace traingraph
