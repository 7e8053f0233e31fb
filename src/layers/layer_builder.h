// SPDX-License-Identifier: MIT
// LayerBuilder: what Layer::lower sees. It appends ops to the graph's program
// with the node's name on them and reports the results.
#pragma once

#include <string>
#include <vector>

#include "layers/graph_state.h"

namespace traingraph {

class LayerBuilder {
 public:
  LayerBuilder(GraphState& graph, const Layer& layer, std::string name,
               std::vector<ValueId> sources);

  const std::string& name() const { return name_; }
  int num_sources() const { return static_cast<int>(sources_.size()); }
  ValueId source(int i) const { return sources_[i]; }
  const TensorDescriptor& desc(ValueId value) const;
  const Shape& shape(ValueId value) const { return desc(value).shape; }

  /// Throws InvalidArgument unless there are `min` to `max` sources.
  void require_sources(int min, int max) const;

  /// A variable in the shape the ops want; reshaped when the tensor has the
  /// same number of elements in another shape. Throws ShapeError naming
  /// `what` ("weights") otherwise.
  ValueId variable(const Tensor& tensor, const Shape& shape, const char* what);
  /// A variable that an op of the layer writes (running statistics). It cannot
  /// be a reshaped copy, so the graph knows it in the op's shape.
  ValueId statistic(const Tensor& tensor, const Shape& shape, const char* what);
  /// The 4 random words every execution supplies (seed and step).
  ValueId random_state() { return graph_.supplied_random_state(); }
  /// Numbers the random streams of a graph: 0, 1, 2 ...
  std::int64_t next_random_stream() { return graph_.next_random_stream(); }

  ValueId append(OpKind op, Attributes attrs, std::vector<ValueId> inputs);
  std::vector<ValueId> append_all(OpKind op, Attributes attrs,
                                  std::vector<ValueId> inputs);

  void add_result(ValueId value) { results_.push_back(value); }
  const std::vector<ValueId>& results() const { return results_; }

 private:
  void require_size(const Tensor& tensor, const Shape& shape,
                    const char* what) const;

  GraphState& graph_;
  const Layer& layer_;
  std::string name_;
  std::vector<ValueId> sources_;
  std::vector<ValueId> results_;
  std::size_t first_value_, first_node_;  // that this node of the graph adds
};

/// Do inputs `first`, first + 1, ... of `op`, as many as a layer has sources of
/// its own, have this type between them, and does the device compute in it? For
/// Layer::supports_data_type().
bool takes(OpKind op, DataType type, const Device& device, int num_sources = 1,
           int first = 0);

}  // namespace traingraph
