// SPDX-License-Identifier: MIT
// What a Graph handle points to: a forward program and the records that tie
// its nodes and values to the user's layers and tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/program.h"
#include "layers/names.h"
#include "traingraph/graph.h"

namespace traingraph {

/// One call of Graph::node. Node::layer is an index into GraphState::records.
struct LayerRecord {
  LayerPtr layer;
  /// The layer's name; "fc:2" for the second node of a layer. Unique.
  std::string name;
  std::vector<Tensor> sources;  // loss labels and extra sources included
  std::vector<Tensor> results;
  bool disable_update = false;
};

struct GraphState : std::enable_shared_from_this<GraphState> {
  /// Sizes before a node was added, to go back to when it fails.
  struct Checkpoint {
    std::size_t num_values = 0, num_nodes = 0, num_tensors = 0,
                num_promoted = 0;
    ValueId random_state = kNoValue;
    std::int64_t num_random_streams = 0;
  };

  Program program;
  std::vector<LayerRecord> records;
  /// Indices of the records that add_record() was given, by layer.
  std::unordered_map<const Layer*, std::vector<int>> records_of;
  /// Value::tensor indexes these. Values of ops inside layers have none.
  std::vector<Tensor> tensors;
  /// tensor_id -> value.
  std::unordered_map<std::uint64_t, ValueId> value_of;
  /// What supplied_random_state() gave; kNoValue: none asked.
  ValueId random_state = kNoValue;
  std::int64_t num_random_streams = 0;
  /// Inputs that became Variables because a layer has them as parameters.
  std::vector<ValueId> promoted;
  /// Names given to results so far.
  std::unordered_set<std::string> result_names;
  /// No number below the one of a name is free for "base:number".
  std::unordered_map<std::string, int> free_number;
  NameTable names;
  /// The number in the name of the last layer that is named after its class.
  std::unordered_map<std::string, int> last_name_number;
  /// Compiles that succeeded or are under way; nodes can no longer be added.
  int num_compiles = 0;
  mutable std::mutex mutex;

  void add_record(LayerRecord record);
  /// The records of one layer, in order.
  std::vector<LayerRecord*> records_with(const Layer& layer);
  /// Every layer once, in the order of its first node. Locked by the caller.
  std::vector<LayerPtr> layers() const;
  /// The value of a tensor; adds one (Role::Input, or Variable when it is a
  /// parameter) the first time the tensor is seen.
  /// An Input that is asked for as a Variable becomes one.
  ValueId value(const Tensor& tensor, Role role_when_new = Role::Input);
  /// The 4 random words every execution supplies (seed and step).
  ValueId supplied_random_state();
  /// Numbers the random streams: 0, 1, 2 ...
  std::int64_t next_random_stream() { return num_random_streams++; }
  /// Makes `tensor` the one of a value.
  void name_value(ValueId value, const Tensor& tensor);
  /// `base`, or "base:2" and so on when a result has that name already.
  std::string free_result_name(const std::string& base);
  /// A new tensor for a result of a node, with a free name.
  Tensor result_tensor(ValueId value, const std::string& base);

  Checkpoint checkpoint() const;
  void restore(const Checkpoint& checkpoint);
};

}  // namespace traingraph
