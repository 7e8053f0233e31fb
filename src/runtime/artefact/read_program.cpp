// SPDX-License-Identifier: MIT
#include "runtime/artefact/read_program.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "graph/op_def.h"
#include "graph/verify.h"
#include "ops/registry.h"

namespace traingraph {
namespace {

class ProgramReader {
 public:
  explicit ProgramReader(const StoredGraph& stored) : stored_(stored) {}

  Program run() {
    const std::vector<int> order = order_of_making();
    std::size_t next = 0;
    for (std::size_t v = 0; v < stored_.values.size();) {
      if (stored_.values[v].role != Role::Result) {
        add_value(stored_.values[v++]);
        continue;
      }
      if (next == order.size()) fail(v, "has no node that computes it");
      v += append(order[next++], v);
    }
    // Nodes without results.
    for (; next < order.size(); ++next) {
      append(order[next], stored_.values.size());
    }
    put_in_order(order);
    program_.position = {};
    verify(program_);
    return std::move(program_);
  }

 private:
  [[noreturn]] static void fail(std::size_t value, const std::string& what) {
    throw std::runtime_error("value " + std::to_string(value) + " " + what);
  }

  /// Values have the numbers that they were made with.
  std::vector<int> order_of_making() const {
    const auto& nodes = stored_.nodes;
    std::vector<int> order(nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int node) {
      const auto& outputs = nodes[node].outputs;
      return outputs.empty() ? std::numeric_limits<ValueId>::max()
                             : outputs.front();
    });
    return order;
  }

  void add_value(const StoredValue& value) {
    if (value.is_opaque) {
      throw std::runtime_error("\"" + value.name + "\" is no result");
    }
    const ValueId id =
        program_.add_value(value.role, value.desc, value.name, value.tensor);
    const bool has_axis = value.batch_axis >= -1 &&
                          value.batch_axis < value.desc.shape.rank() &&
                          (value.batch_axis < 0 || value.role == Role::Input);
    if (!has_axis) {
      throw std::runtime_error("\"" + value.name + "\" has no such batch axis");
    }
    program_.value(id).batch.axis = value.batch_axis;
  }

  /// Returns how many values it made.
  std::size_t append(int number, std::size_t first) {
    const StoredNode& node = stored_.nodes[number];
    if (node.layer < -1 ||
        std::cmp_greater_equal(node.layer, stored_.graph.layers.size())) {
      throw std::runtime_error("node \"" + node.name + "\" is of no layer");
    }
    program_.position = {node.phase, node.layer, node.name};
    const OpDef& op = *find_op(node.op);  // it was found before
    const auto made =
        program_.append(op.kind, node.attributes, node.inputs, node.name);
    if (made != node.outputs || first + made.size() > stored_.values.size()) {
      throw std::runtime_error("node \"" + node.name +
                               "\" has other results than it computes");
    }
    for (std::size_t i = 0; i < made.size(); ++i) check_result(first + i);
    return made.size();
  }

  void check_result(std::size_t id) {
    const StoredValue& stored = stored_.values[id];
    Value& value = program_.value(static_cast<ValueId>(id));
    const bool agrees = stored.role == Role::Result &&
                        stored.is_opaque == value.is_opaque &&
                        (value.is_opaque || stored.desc == value.desc);
    if (!agrees) fail(id, "is not what its node computes");
    if (value.is_opaque && stored.tensor != kNoTensor) {
      fail(id, "is opaque state, and no tensor");
    }
    value.name = stored.name;
    value.tensor = stored.tensor;
  }

  void put_in_order(const std::vector<int>& order) {
    std::vector<NodeId> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<NodeId>(i);
    }
    program_.reorder(place);
  }

  const StoredGraph& stored_;
  Program program_;
};

}  // namespace

Program read_program(const StoredGraph& stored) {
  return ProgramReader(stored).run();
}

}  // namespace traingraph
