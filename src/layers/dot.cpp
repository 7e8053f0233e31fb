// SPDX-License-Identifier: MIT
#include "layers/dot.h"

#include "graph/op_def.h"
#include "graph/tensor_state.h"

namespace traingraph {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

/// Builds the text; remembers which box each tensor comes from.
class DotWriter {
 public:
  explicit DotWriter(const std::unordered_set<std::uint64_t>& stopped)
      : stopped_(stopped) {}

  /// Appends a box with its incoming edges.
  void box(const std::string& name, const std::vector<Tensor>& sources,
           const std::vector<Tensor>& results) {
    for (const Tensor& source : sources) outside(source);
    const std::string box = "n" + std::to_string(num_boxes_++);
    std::string shapes;
    for (const Tensor& result : results) {
      shapes += "\\n" + result.shape().to_string();
      box_of_[result.tensor_id()] = box;
    }
    text_ += "  " + box + " [shape=box, label=\"" + escaped(name) + shapes +
             "\"];\n";
    for (const Tensor& source : sources) edge(source, box);
  }

  std::string finish() const {
    return "digraph traingraph {\n" + text_ + "}\n";
  }

 private:
  void outside(const Tensor& tensor) {
    const std::string name = "t" + std::to_string(num_outside_);
    if (!box_of_.emplace(tensor.tensor_id(), name).second) return;
    ++num_outside_;
    text_ += "  " + name + " [shape=ellipse, label=\"" +
             escaped(tensor.name()) + "\\n" + tensor.shape().to_string() +
             "\"];\n";
  }

  void edge(const Tensor& source, const std::string& box) {
    const bool is_stopped = stopped_.contains(source.tensor_id());
    text_ += "  " + box_of_[source.tensor_id()] + " -> " + box + " [label=\"" +
             escaped(source.name()) + "\"" +
             (is_stopped ? ", style=dashed" : "") + "];\n";
  }

  const std::unordered_set<std::uint64_t>& stopped_;
  std::unordered_map<std::uint64_t, std::string> box_of_;
  std::string text_;
  int num_boxes_ = 0, num_outside_ = 0;
};

/// Opaque state has no shape to draw.
std::vector<Tensor> tensors_of(const GraphState& graph,
                               const std::vector<ValueId>& values) {
  std::vector<Tensor> result;
  for (const ValueId value : values) {
    if (value == kNoValue) continue;
    const Value& v = graph.program.value(value);
    if (v.is_opaque || v.tensor == kNoTensor) continue;
    result.push_back(graph.tensors[v.tensor]);
  }
  return result;
}

}  // namespace

std::string dot_description(const GraphState& graph,
                            const std::unordered_set<std::uint64_t>& stopped) {
  DotWriter writer(stopped);
  // Nodes are in topological order; the ops of one layer are neighbours.
  int last_layer = -1;
  for (const Node& node : graph.program.nodes()) {
    if (node.layer < 0) {
      writer.box(node.name, tensors_of(graph, node.inputs),
                 tensors_of(graph, node.outputs));
    } else if (node.layer != last_layer) {
      const LayerRecord& record = graph.records[node.layer];
      writer.box(record.name, record.sources, record.results);
    }
    last_layer = node.layer;
  }
  return writer.finish();
}

}  // namespace traingraph
