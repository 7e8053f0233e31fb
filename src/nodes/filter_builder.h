// SPDX-License-Identifier: MIT
// From filters to a graph of ops: NodeProgram takes them one after the other,
// FilterBuilder is what each of them sees of it.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "layers/graph_state.h"
#include "nodes/filter_state.h"

namespace traingraph::nodes {

/// The ops of one filter: the nodes [first, end) of the program.
struct LoweredFilter {
  std::vector<ValueId> sources;
  ValueId result = kNoValue;
  NodeId first = 0, end = 0;
  /// All that the data source has, and what of it is trained.
  ImageFilter::ByRole variables, parameters;
  /// A gradient filter has gradients of the filter's parameters, by role.
  ImageFilter::ByRole parameter_gradients;
  int index = -1;  // in the program's filters
};

class NodeProgram {
 public:
  /// `differentiated`: filters with a gradient filter among those that follow.
  NodeProgram(std::int64_t batch,
              std::unordered_set<const FilterState*> differentiated)
      : batch_(batch), differentiated_(std::move(differentiated)) {}

  /// Adds a filter after all that it reads. Images of no filter become inputs.
  void add(const FilterState& filter, const std::string& name);
  /// Adds `image` as an input when nobody did.
  ValueId value(const ImageState& image);
  void set_value(const ImageState& image, ValueId value);
  const LoweredFilter& lowered(const FilterState& filter) const {
    return lowered_.at(&filter);
  }
  /// The index among the program's filters; -1: not here.
  int index_of(const FilterState& filter) const {
    const auto found = lowered_.find(&filter);
    return found == lowered_.end() ? -1 : found->second.index;
  }
  /// Tells the program which filters its ops were made for.
  void name_filters();
  bool is_differentiated(const FilterState& filter) const {
    return differentiated_.contains(&filter);
  }
  /// The parameter of a data source: one for all filters that have it.
  Tensor parameter(const void* data_source, const std::string& role,
                   const Shape& shape, const std::string& name);
  /// The tensor is empty when no filter has it.
  Tensor find_parameter(const void* data_source, const std::string& role) const;
  /// The user's view of a value: a tensor.
  Tensor tensor(ValueId value, const std::string& name);

  traingraph::Graph& graph() { return graph_; }
  Program& program() { return graph_.state()->program; }
  std::int64_t batch() const { return batch_; }
  /// Inputs are in the order in which they were met.
  const std::vector<const ImageState*>& inputs() const { return inputs_; }

 private:
  /// Node::layer of a filter's ops; a gradient filter has that of its filter.
  int layer_of(const FilterState& filter, const std::string& name);

  traingraph::Graph graph_;
  std::int64_t batch_;
  std::unordered_set<const FilterState*> differentiated_;
  std::vector<const ImageState*> inputs_;
  std::unordered_map<const ImageState*, ValueId> value_of_;
  std::unordered_map<const FilterState*, LoweredFilter> lowered_;
  std::unordered_map<const FilterState*, int> layers_;
  ImageFilters filters_;
  std::map<std::pair<const void*, std::string>, Tensor> parameters_;
};

class FilterBuilder {
 public:
  FilterBuilder(NodeProgram& nodes, const FilterState& filter,
                const std::string& name, LoweredFilter& lowered)
      : nodes_(nodes), filter_(filter), name_(name), lowered_(lowered) {}

  NodeProgram& nodes() { return nodes_; }
  const std::string& name() const { return name_; }
  ValueId source(int i = 0) const { return lowered_.sources[i]; }
  int num_sources() const { return static_cast<int>(lowered_.sources.size()); }
  const Shape& shape(ValueId value) { return nodes_.program().shape(value); }
  bool is_differentiated() const { return nodes_.is_differentiated(filter_); }
  void set_phase(Phase phase) { nodes_.program().position.phase = phase; }

  ValueId append(OpKind op, const Attributes& attrs,
                 std::vector<ValueId> inputs);
  /// The ops of a layer, which has one result.
  ValueId layer(const Layer& layer, std::vector<ValueId> sources);
  ValueId parameter(const void* data_source, const char* role,
                    const Shape& shape);
  /// One that no gradient is for.
  ValueId statistic(const void* data_source, const char* role,
                    const Shape& shape);
  /// Adds the gradients of the parameters of `of`, behind that of a source.
  void add_parameter_gradients(const FilterState& of,
                               const std::vector<ValueId>& gradients);
  ValueId random_state();
  std::int64_t next_random_stream();

  // Short forms.
  ValueId binary(ArithmeticOperation operation, ValueId x, ValueId y);
  ValueId unary(ArithmeticOperation operation, ValueId x);
  ValueId activation(ActivationType type, ValueId x, float a = 0, float b = 0);
  /// scale * x + shift; x itself when that changes nothing.
  ValueId linear(ValueId x, float scale, float shift = 0);
  ValueId constant(float value);
  ValueId zeros_like(ValueId x);
  ValueId reshape(ValueId x, Shape shape);
  ValueId transpose(ValueId x, Shape axes);

 private:
  NodeProgram& nodes_;
  const FilterState& filter_;
  const std::string& name_;
  LoweredFilter& lowered_;
};

/// Gradients of `wanted` by the ops [first, end) alone, given that of one of
/// their results; kNoValue where none arrives.
std::vector<ValueId> differentiate_range(Program& program, NodeId first,
                                         NodeId end, ValueId result,
                                         ValueId gradient,
                                         const std::vector<ValueId>& wanted);

}  // namespace traingraph::nodes
