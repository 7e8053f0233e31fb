// SPDX-License-Identifier: MIT
#include "layers/names.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>
#include <utility>

#include "graph/name_changes.h"
#include "graph/tensor_state.h"
#include "layers/graph_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

// Guards Layer::graph_ and Layer::name_ of all layers.
constinit std::mutex g_layer_mutex;

/// A layer and a tensor may have the same name.
std::string key_of(const std::string& name, std::uint64_t tensor) {
  return (tensor == 0 ? "layer " : "tensor ") + name;
}

/// Id of the layer as an owner of names; 0 means that no layer is.
std::uint64_t owner_id(const Layer& layer) { return layer.layer_id() + 1; }

void replace_all(std::string& text, const std::string& from,
                 const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// "fc" -> "fc", "fc_2", "fc_3" ...
std::string numbered(const std::string& base, int number) {
  return number == 1 ? base : base + "_" + std::to_string(number);
}

std::string what_of(const std::string& word, const std::string& place) {
  return word + " of " + place;
}

std::string place_of(const std::string& prefix, std::size_t node,
                     const std::string& class_name) {
  return prefix + "node " + std::to_string(node) + " (" + class_name + ")";
}

}  // namespace

bool NameTable::is_free(const std::string& name, std::uint64_t tensor) const {
  const auto owner = owner_of_.find(key_of(name, tensor));
  return owner == owner_of_.end() ||
         (tensor != 0 && owner->second.tensor == tensor);
}

void NameTable::add(const std::string& name, std::uint64_t tensor,
                    std::string place) {
  owner_of_.try_emplace(key_of(name, tensor), Owner{tensor, std::move(place)});
}

void NameTable::require_free(const char* call, const std::string& name,
                             std::uint64_t tensor,
                             const std::string& place) const {
  if (is_free(name, tensor)) return;
  throw InvalidArgument(
      {.op = call,
       .node = name,
       .what = "two things have the same name",
       .expected = tensor == 0 ? "a name of its own for each layer"
                               : "a name of its own for each parameter",
       .got = "\"" + name + "\" for " +
              owner_of_.at(key_of(name, tensor)).place + " and for " + place,
       .hint = "Give layers and the tensors made for them different names."});
}

std::mutex& LayerNames::mutex() { return g_layer_mutex; }

std::string LayerNames::own_name(const Layer& layer) {
  const std::scoped_lock lock(mutex());
  return layer.has_own_name_ ? layer.name_ : std::string();
}

std::string LayerNames::of_class(const std::string& class_name) {
  std::string text = class_name;
  // Words, in spite of their capitals.
  replace_all(text, "PReLU", "Prelu");
  replace_all(text, "ReLU", "Relu");
  replace_all(text, "SiLU", "Silu");
  replace_all(text, "GeLU", "Gelu");
  replace_all(text, "TanH", "Tanh");
  replace_all(text, "MatMul", "Matmul");
  const auto is_upper = [&](std::size_t i) {
    return i < text.size() && std::isupper(static_cast<unsigned char>(text[i]));
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool ends_capitals =
        i + 1 < text.size() &&
        std::islower(static_cast<unsigned char>(text[i + 1]));
    if (i > 0 && is_upper(i) && (!is_upper(i - 1) || ends_capitals)) {
      result += '_';
    }
    result +=
        static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
  }
  return result;
}

void LayerNames::name_tensor(const Layer& layer, const Tensor& tensor,
                             const std::string& word, bool is_in_graph) {
  TensorState& state = *tensor.state();
  const std::lock_guard lock(state.mutex);
  if (!follows(state, layer, is_in_graph)) return;
  state.name = layer.name_ + "." + word;
  ++g_name_changes;
  state.name_owner = owner_id(layer);
  state.is_name_provisional = !is_in_graph && !layer.has_own_name_;
}

void LayerNames::name_tensors(const Layer& layer, bool is_in_graph) {
  for (const auto& [tensor, word] : layer.tensors_) {
    name_tensor(layer, tensor, word, is_in_graph);
  }
}

void LayerNames::name_last_tensor(const Layer& layer) {
  const auto& [tensor, word] = layer.tensors_.back();
  name_tensor(layer, tensor, word, /*is_in_graph=*/false);
}

bool LayerNames::follows(const TensorState& tensor, const Layer& layer,
                         bool is_in_graph) {
  return tensor.name.empty() || tensor.name_owner == owner_id(layer) ||
         (is_in_graph && tensor.is_name_provisional);
}

std::vector<LayerNames::Tensors> LayerNames::tensors_of(
    const Layer& layer, const std::string& name) {
  std::vector<Tensors> result;
  for (const auto& [tensor, word] : layer.tensors_) {
    const TensorState& state = *tensor.state();
    const std::lock_guard lock(state.mutex);
    const bool is_named_after = follows(state, layer, /*is_in_graph=*/true);
    result.push_back({.name = is_named_after ? name + "." + word : state.name,
                      .tensor = state.id,
                      .word = word,
                      .follows = is_named_after});
  }
  return result;
}

bool LayerNames::is_free(const NameTable& names, const Layer& layer,
                         const std::string& name) {
  if (!names.is_free(name)) return false;
  for (const Tensors& tensor : tensors_of(layer, name)) {
    if (tensor.follows && !names.is_free(tensor.name, tensor.tensor)) {
      return false;
    }
  }
  return true;
}

void LayerNames::add(NameTable& names, const Layer& layer,
                     const std::string& name, const std::string& place) {
  names.add(name, 0, place);
  for (const Tensors& tensor : tensors_of(layer, name)) {
    names.add(tensor.name, tensor.tensor, what_of(tensor.word, place));
  }
}

void LayerNames::add_fixed_tensors(NameTable& names, const Layer& layer,
                                   const std::string& place) {
  for (const Tensors& tensor : tensors_of(layer, layer.name_)) {
    if (tensor.follows) continue;
    const std::string what = what_of(tensor.word, place);
    names.require_free("compile", tensor.name, tensor.tensor, what);
    names.add(tensor.name, tensor.tensor, what);
  }
}

bool LayerNames::is_movable(const GraphState& graph, const std::string& name) {
  return std::ranges::any_of(graph.records, [&](const LayerRecord& record) {
    if (record.layer->has_own_name_) return false;
    const auto tensors = tensors_of(*record.layer, record.layer->name_);
    return std::ranges::any_of(tensors, [&](const Tensors& tensor) {
      return tensor.follows && tensor.name == name;
    });
  });
}

void LayerNames::require_free(const NameTable& names, const char* call,
                              const Layer& layer, const std::string& name,
                              const std::string& place,
                              const GraphState* open_graph) {
  names.require_free(call, name, 0, place);
  NameTable own;
  own.add(name, 0, place);
  for (const Tensors& tensor : tensors_of(layer, name)) {
    const std::string what = what_of(tensor.word, place);
    const bool is_given_up = open_graph &&
                             !names.is_free(tensor.name, tensor.tensor) &&
                             is_movable(*open_graph, tensor.name);
    if (!is_given_up) {
      names.require_free(call, tensor.name, tensor.tensor, what);
    }
    own.require_free(call, tensor.name, tensor.tensor, what);
    own.add(tensor.name, tensor.tensor, what);
  }
}

std::string LayerNames::choose(const GraphState& graph, const Layer& layer) {
  std::string name = layer.name_;
  if (!layer.has_own_name_) {
    const std::string base = of_class(layer.class_name_);
    const auto last = graph.last_name_number.find(layer.class_name_);
    int number = last == graph.last_name_number.end() ? 0 : last->second;
    do {
      name = numbered(base, ++number);
    } while (graph.result_names.contains(name) ||
             !is_free(graph.names, layer, name));
  }
  require_free(graph.names, "node", layer, name,
               place_of("", graph.records.size(), layer.class_name_), &graph);
  return name;
}

void LayerNames::fix(GraphState& graph, const Layer& layer,
                     const std::string& name) {
  layer.name_ = name;
  name_tensors(layer, /*is_in_graph=*/true);
  if (!layer.has_own_name_) {
    const std::string base = of_class(layer.class_name_);
    int& last = graph.last_name_number[layer.class_name_];
    while (numbered(base, ++last) != name) continue;
  }
  add(graph.names, layer, name,
      place_of("", graph.records.size(), layer.class_name_));
  for (const auto& [tensor, word] : layer.tensors_) {
    const auto value = graph.value_of.find(tensor.tensor_id());
    if (value == graph.value_of.end()) continue;
    graph.program.value(value->second).name = tensor.name();
  }
}

/// Records, nodes, results and values follow their layers.
void LayerNames::rename(GraphState& graph, const Renames& renames) {
  const auto rename_of = [&](const LayerRecord& record) -> const Rename* {
    const auto found = renames.find(record.layer.get());
    return found == renames.end() ? nullptr : &found->second;
  };
  for (LayerRecord& record : graph.records) {
    const Rename* rename = rename_of(record);
    if (!rename) continue;
    record.name = rename->of(record.name);
    for (Tensor& result : record.results) {
      const std::string name = rename->of(result.name());
      if (name != result.name()) result.set_name(name);
      graph.result_names.insert(name);
    }
  }
  for (NodeId id = 0; id < static_cast<NodeId>(graph.program.nodes().size());
       ++id) {
    Node& node = graph.program.node(id);
    if (node.layer < 0) continue;
    const Rename* rename = rename_of(graph.records[node.layer]);
    if (!rename) continue;
    node.name = rename->of(node.name);
    for (const ValueId value : node.outputs) {
      std::string& name = graph.program.value(value).name;
      name = rename->of(name);
    }
  }
}

std::string LayerNames::Rename::of(const std::string& name) const {
  const bool follows = name == from || name.starts_with(from + ":") ||
                       name.starts_with(from + ".");
  return follows ? to + name.substr(from.size()) : name;
}

void LayerNames::make_unique(
    std::span<const std::shared_ptr<GraphState>> graphs,
    std::span<const TensorParameter> others) {
  constexpr const char* kCall = "compile";
  struct Movable {
    GraphState* graph;
    const Layer* layer;
    std::string place;
  };
  // Every pair of graphs is locked in the order of addresses.
  std::vector<std::shared_ptr<GraphState>> sorted(graphs.begin(), graphs.end());
  std::ranges::sort(sorted);
  std::vector<std::unique_lock<std::mutex>> locks;
  for (const auto& graph : sorted) locks.emplace_back(graph->mutex);
  const std::lock_guard lock(g_layer_mutex);
  NameTable names;
  std::vector<Movable> movable;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    GraphState& graph = *graphs[i];
    const std::string prefix = "graph object " + std::to_string(i) + ", ";
    std::unordered_set<const Layer*> seen;
    for (std::size_t k = 0; k < graph.records.size(); ++k) {
      const Layer& layer = *graph.records[k].layer;
      if (!seen.insert(&layer).second) continue;
      name_tensors(layer, /*is_in_graph=*/true);  // names may be gone
      const std::string place = place_of(prefix, k, layer.class_name_);
      // num_compiles includes the compile that is going on.
      if (layer.has_own_name_ || graph.num_compiles > 1) {
        require_free(names, kCall, layer, layer.name_, place);
        add(names, layer, layer.name_, place);
        continue;
      }
      add_fixed_tensors(names, layer, place);
      movable.push_back({&graph, &layer, place});
    }
  }
  for (const TensorParameter& other : others) {
    const Tensor& tensor = other.tensor();
    names.require_free(kCall, tensor.name(), tensor.tensor_id(),
                       "a trained input");
    names.add(tensor.name(), tensor.tensor_id(), "a trained input");
  }
  std::unordered_map<std::string, int> last;  // by class
  std::unordered_map<GraphState*, Renames> renames;
  for (const Movable& item : movable) {
    const Layer& layer = *item.layer;
    std::string name = layer.name_;
    while (!is_free(names, layer, name)) {
      name = numbered(of_class(layer.class_name_), ++last[layer.class_name_]);
    }
    if (name != layer.name_) {
      renames[item.graph].emplace(&layer, Rename{layer.name_, name});
      layer.name_ = name;
      name_tensors(layer, /*is_in_graph=*/true);
    }
    add(names, layer, name, item.place);
  }
  for (const auto& [graph, all] : renames) rename(*graph, all);
}

}  // namespace traingraph
