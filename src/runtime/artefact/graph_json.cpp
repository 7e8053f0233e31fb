// SPDX-License-Identifier: MIT
#include "runtime/artefact/graph_json.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "graph/attributes.h"
#include "graph/op_def.h"
#include "ops/registry.h"
#include "runtime/artefact/op_versions.h"
#include "runtime/artefact/stored_fields.h"
#include "runtime/artefact/stored_optimizer.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr const char* kGraph = "graph";

/// Files keep the names that their attributes had first, so that versions
/// before a change of names and after it read the same files.
const char* name_in_file(const Attributes& attributes, const char* name) {
  const std::string_view own = name;
  if (own == "kernel_size") return "kernel_sizes";
  const bool is_transpose = std::holds_alternative<TransposeAttrs>(attributes);
  return is_transpose && own == "axes" ? "dimensions" : name;
}

Json written_attributes(const Attributes& attributes) {
  Json result = Json::object();
  for_each_field(attributes, [&](const char* name, const auto& value) {
    result[name_in_file(attributes, name)] = written(value);
  });
  return result;
}

/// Replaces defaults of the op. A name that it does not have is an error.
void read_attributes(const Json& from, Attributes& attributes) {
  if (!from.is_object()) throw std::runtime_error("attributes are no object");
  std::size_t known = 0;
  JsonReader reader(from);
  for_each_field(attributes, [&](const char* own_name, auto& value) {
    const char* const name = name_in_file(attributes, own_name);
    if (!from.contains(name)) return;
    reader(name, value);
    ++known;
  });
  if (known != from.size()) throw std::runtime_error("an unknown attribute");
}

Json written_node(const StoredNode& node) {
  return {{"op", node.op},
          {"attributes", written_attributes(node.attributes)},
          {"inputs", node.inputs},
          {"outputs", node.outputs},
          {"phase", written(node.phase)},
          {"layer", node.layer},
          {"name", node.name}};
}

void read_node(const Json& from, StoredNode& node) {
  JsonReader reader(from);
  reader("op", node.op);
  const OpDef* const op = find_op(node.op);
  if (!op) throw std::runtime_error("there is no op \"" + node.op + "\"");
  node.attributes = op->default_attrs;
  reader("inputs", node.inputs);
  reader("outputs", node.outputs);
  reader("name", node.name);
  reader("layer", node.layer);
  reader.later("phase", node.phase);
  read_attributes(from.at("attributes"), node.attributes);
}

Json written_optimizer(const StoredOptimizer& optimizer) {
  return {{"name", optimizer.name},
          {"descriptor", written(optimizer.descriptor)},
          {"attributes", written_attributes(optimizer.attributes)},
          {"schedule", written(optimizer.schedule)}};
}

void read_optimizer(const Json& from, StoredOptimizer& optimizer) {
  JsonReader reader(from);
  reader("name", optimizer.name);
  reader("descriptor", optimizer.descriptor);
  reader.later("schedule", optimizer.schedule);
  optimizer.attributes = find_kind(optimizer.name).default_attributes;
  read_attributes(from.at("attributes"), optimizer.attributes);
}

/// All that a later version wrote and this one lacks, at once.
void require_ops(const std::map<std::string, int>& ops) {
  std::string lacking;
  for (const auto& [name, version] : ops) {
    const OpDef* const op = find_op(name);
    if (op && version <= version_of(op->kind)) continue;
    lacking += (lacking.empty() ? "" : ", ") + name + " (version " +
               std::to_string(version) + ")";
  }
  if (lacking.empty()) return;
  throw UnsupportedError(
      ErrorInfo{.op = "load",
                .what = "the graph has ops that this version of the library "
                        "does not have",
                .got = lacking,
                .hint = "Use the version that wrote it, or a later one."});
}

template <class T, class Read>
void read_list(const Json& from, const char* key, std::vector<T>& list,
               const Read& read_one) {
  const Json& array = from.at(key);
  if (!array.is_array()) throw std::runtime_error("there is no list");
  for (const Json& each : array) {
    try {
      read_one(each, list.emplace_back());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string(key) + " " +
                               std::to_string(list.size() - 1) + ": " +
                               error.what());
    }
  }
}

}  // namespace

std::string print_artefact(const TrainingState& state,
                           const StoredGraph& graph) {
  Json object = Json::parse(print_training_state(state));
  Json& out = object[kGraph];
  out = written(graph.graph);
  out["format"] = graph.format;
  out["ops"] = graph.ops;
  out["has_state"] = graph.has_state;
  out["values"] = written(graph.values);
  Json& nodes = out["nodes"] = Json::array();
  for (const StoredNode& node : graph.nodes) {
    nodes.push_back(written_node(node));
  }
  out["tensors"] = written(graph.tensors);
  if (graph.optimizer) out["optimizer"] = written_optimizer(*graph.optimizer);
  out["options"] = written(graph.options);
  out["constants"] = graph.constants;
  try {
    return object.dump();
  } catch (const Json::type_error& error) {
    throw InvalidArgument(ErrorInfo{.op = "export_graph",
                                    .what = "a name of the graph is not UTF-8",
                                    .got = error.what()});
  }
}

void parse_graph(const std::string& text, StoredGraph& graph) {
  const Json object = parse_json(text);
  const Json& from = object.at(kGraph);
  JsonReader reader(from);
  reader("format", graph.format);
  if (graph.format < 1) throw std::runtime_error("its format is no number");
  if (graph.format > kGraphFormat) {
    throw UnsupportedError(
        ErrorInfo{.op = "load",
                  .what = "a later version of the library wrote the graph",
                  .expected = "format " + std::to_string(kGraphFormat),
                  .got = std::to_string(graph.format)});
  }
  reader("ops", graph.ops);
  require_ops(graph.ops);
  read(from, graph.graph);
  reader("has_state", graph.has_state);
  reader("values", graph.values);
  read_list(from, "nodes", graph.nodes, read_node);
  reader("tensors", graph.tensors);
  if (from.contains("optimizer")) {
    read_optimizer(from.at("optimizer"), graph.optimizer.emplace());
  }
  reader.later("options", graph.options);
  reader("constants", graph.constants);
}

}  // namespace traingraph
