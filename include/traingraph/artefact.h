// SPDX-License-Identifier: MIT
// What CompiledGraph::export_graph() and the load() of TrainingGraph and
// InferenceGraph take. docs/artefacts.md describes the file: a checkpoint that
// holds the graph, too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "traingraph/checkpoint.h"
#include "traingraph/tensor.h"

namespace traingraph {

class Optimizer;

struct ExportOptions {
  /// Off: the graph alone; what is loaded begins as it was built.
  bool with_state = true;
  /// The user's own; "traingraph" is taken.
  Metadata metadata = {};
};

struct LoadOptions {
  /// Off: what the file says of the state is left out.
  bool with_state = true;
  /// The batch size to compile for; 0 keeps the exported one.
  std::int64_t batch_size = 0;
  /// Tensors to have instead of new ones, by their names in the file, so that
  /// graphs share them: link() goes by them. They get the values of the file.
  std::map<std::string, Tensor> tensors = {};
  /// Replaces a new optimizer of the file's settings, with which it must agree:
  /// graphs that are linked have one optimizer. It gets the file's rate and
  /// step.
  std::shared_ptr<Optimizer> optimizer = nullptr;
};

}  // namespace traingraph
