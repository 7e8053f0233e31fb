// SPDX-License-Identifier: MIT
// Tensors of a graph by name.
#include <algorithm>
#include <numeric>

#include "graph/tensor_state.h"
#include "runtime/session/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::size_t kMaxNames = 4;

/// Letters to change, add or leave out.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string nearest(std::vector<std::string> names, std::string_view to) {
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  std::ranges::sort(names, {}, [&](const std::string& name) {
    return std::pair(distance(name, to), std::string_view(name));
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNames); ++i) {
    text += (i == 0 ? "\"" : ", \"") + names[i] + "\"";
  }
  return text;
}

std::vector<std::string> names_of(const Session& session) {
  std::vector<std::string> names;
  const TensorIndex count = session.plan_cache->graph().hyperparameters;
  for (TensorIndex i = 0; i < count; ++i) {
    names.push_back(session.objects.tensors[i].name());
  }
  return names;
}

}  // namespace

Tensor CompiledGraph::tensor(std::string_view name) const {
  const std::scoped_lock lock(session_->mutex);
  session_->require_compiled("tensor");
  const MergedGraph& graph = session_->plan_cache->graph();
  // Own tensors, which the user does not know, are behind these.
  const auto& found = session_->names.find(
      session_->objects.tensors, graph.hyperparameters, std::string(name));
  const auto is_variable = [&](TensorIndex tensor) {
    const ValueId value = graph.find(tensor);
    return value != kNoValue &&
           graph.program.value(value).role == Role::Variable;
  };
  // Names of the state are unique; others need not be.
  const auto variable = std::ranges::find_if(found, is_variable);
  if (variable != found.end()) return session_->objects.tensors[*variable];
  for (const auto* names :
       {&graph.inputs, &graph.labels, &graph.label_weights, &graph.outputs}) {
    const auto it = names->find(name);
    if (it != names->end()) return session_->objects.tensors[it->second];
  }
  if (found.size() == 1) return session_->objects.tensors[found.front()];
  throw InvalidArgument(ErrorInfo{
      .op = "tensor",
      .node = std::string(name),
      .what = found.empty() ? "the graph has no tensor of this name"
                            : "several tensors have this name",
      .expected = found.empty()
                      ? "a name such as " + nearest(names_of(*session_), name)
                      : "a name that one tensor has",
      .hint = found.empty() ? "" : "Give tensors names of their own."});
}

}  // namespace traingraph
