// SPDX-License-Identifier: MIT
// Names of layers and of the tensors they hold. Users keep them: reports show
// them, and parameters are found by them. So they follow from the order of
// calls alone, and no two things of a graph have the same one.
//
//   layer     its name, or that of its class and a number: fully_connected_2
//   tensor    what the user named it, else layer.word:
//   fully_connected_2.weights
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "traingraph/layer.h"

namespace traingraph {

struct GraphState;
struct TensorState;

/// Which layer or tensor has which name.
class NameTable {
 public:
  /// Returns false when another tensor or a layer has the name. `tensor` is 0
  /// for layers.
  bool is_free(const std::string& name, std::uint64_t tensor = 0) const;
  void add(const std::string& name, std::uint64_t tensor, std::string place);
  /// Throws InvalidArgument naming `place` and the place that has the name.
  void require_free(const char* call, const std::string& name,
                    std::uint64_t tensor, const std::string& place) const;

 private:
  struct Owner {
    std::uint64_t tensor = 0;
    std::string place;
  };
  std::unordered_map<std::string, Owner> owner_of_;
};

struct LayerNames {
  /// Guards names and graphs of all layers.
  static std::mutex& mutex();
  /// What the user calls the layer; empty when it is named after its class.
  static std::string own_name(const Layer& layer);
  /// "LeakyReLU" -> "leaky_relu"
  static std::string of_class(const std::string& class_name);

  /// The name that `layer` will have in `graph`. Throws InvalidArgument when
  /// it, or the name of one of its tensors, is taken.
  static std::string choose(const GraphState& graph, const Layer& layer);
  /// Gives the layer and its tensors their names; its record comes next.
  static void fix(GraphState& graph, const Layer& layer,
                  const std::string& name);

  /// Names over several graph objects: layers without names are renumbered in
  /// graphs that were not compiled yet. Throws InvalidArgument when two names
  /// that stand are the same.
  static void make_unique(std::span<const std::shared_ptr<GraphState>> graphs,
                          std::span<const TensorParameter> others);

 private:
  friend class Layer;
  /// A tensor of a layer, under the name the layer has or would have.
  struct Tensors {
    std::string name;
    std::uint64_t tensor = 0;
    std::string word;
    bool follows = false;  // the layer's name
  };
  static std::vector<Tensors> tensors_of(const Layer& layer,
                                         const std::string& name);
  /// Once a layer is in a graph, it names what layers in none have named.
  static bool follows(const TensorState& tensor, const Layer& layer,
                      bool is_in_graph);
  static void name_tensor(const Layer& layer, const Tensor& tensor,
                          const std::string& word, bool is_in_graph);
  static void name_tensors(const Layer& layer, bool is_in_graph);
  /// The one that the layer has got just now.
  static void name_last_tensor(const Layer& layer);
  struct Rename {
    std::string from, to;
    /// "fc.weights" -> "dense.weights"; other names stay.
    std::string of(const std::string& name) const;
  };
  using Renames = std::unordered_map<const Layer*, Rename>;
  static void rename(GraphState& graph, const Renames& renames);
  static bool is_free(const NameTable& names, const Layer& layer,
                      const std::string& name);
  /// Is it the name of a tensor of a layer without a name? Then compile()
  /// finds that layer another one.
  static bool is_movable(const GraphState& graph, const std::string& name);
  /// What is movable in an open graph is as good as free.
  static void require_free(const NameTable& names, const char* call,
                           const Layer& layer, const std::string& name,
                           const std::string& place,
                           const GraphState* open_graph = nullptr);
  static void add(NameTable& names, const Layer& layer, const std::string& name,
                  const std::string& place);
  static void add_fixed_tensors(NameTable& names, const Layer& layer,
                                const std::string& place);
};

}  // namespace traingraph
