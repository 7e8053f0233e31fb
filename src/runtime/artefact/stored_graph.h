// SPDX-License-Identifier: MIT
// What a file says of a graph: a MergedGraph in plain data, with names instead
// of kinds, and what its tensors and its optimizer are made of. Nothing here
// has been checked but its form.
//
// stored_fields.h lists the fields; graph_json.h has them as text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/merged_graph.h"
#include "graph/tensor_state.h"
#include "traingraph/optimizers.h"

namespace traingraph {

/// Files are written in this format; readers refuse later ones. A field that is
/// added is no new format when a file without it means the same (see later() in
/// stored_fields.h).
inline constexpr int kGraphFormat = 1;

struct StoredValue {
  std::string name;
  Role role = Role::Result;
  TensorDescriptor desc;
  TensorIndex tensor = kNoTensor;
  int batch_axis = -1;  // of inputs
  bool is_opaque = false;
};

struct StoredNode {
  std::string op;
  Attributes attributes;
  std::vector<ValueId> inputs, outputs;
  Phase phase = Phase::Forward;
  int layer = -1;
  std::string name;
};

/// A tensor that the user, or a layer, made.
struct TensorEntry {
  std::string name;  // empty: it has none
  TensorDescriptor desc;
  std::optional<int> batch_axis;
  /// Sequences have these lengths.
  std::vector<std::int64_t> sequence_lengths;
  bool sorted_sequences = true;
  bool is_statistic = false, is_result = false;
  std::optional<Initializer> initializer;
  /// Name of its values in the file when these are part of the graph: of
  /// constants, and of parameters that were given their values.
  std::string data;
};

struct StoredOptimizer {
  std::string name;
  OptimizerDescriptor descriptor;
  Attributes attributes;
  std::vector<Schedule::Piece> schedule = {};  // empty: none
};

/// compile() was told these, which the merged graph does not say.
struct StoredOptions {
  bool fuses = true;
  bool reuse_memory = true;
  double max_gpu_ms = 0;
};

struct StoredGraph {
  int format = kGraphFormat;
  std::map<std::string, int> ops;  // versions of those that occur
  bool has_state = true;
  /// Tables of names, layers and gradients are filled in; the program and what
  /// follows from it are not.
  MergedGraph graph;
  std::vector<StoredValue> values;  // in the order of their ids
  std::vector<StoredNode> nodes;    // as they run
  std::vector<TensorEntry> tensors;
  std::optional<StoredOptimizer> optimizer;
  StoredOptions options;
  /// Names of tensors of the file that are no state.
  std::vector<std::string> constants;
};

}  // namespace traingraph
