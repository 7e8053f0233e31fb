// SPDX-License-Identifier: MIT
#include "runtime/exchange/link_exchanges.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "compiler/distribution/collectives.h"
#include "runtime/exchange/rendezvous.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr const char* kLinkCall = "link";

using Group = std::vector<LinkedGraph>;

/// Returns null where the graph talks to nobody.
const Collective* collective_of(const LinkedGraph& linked) {
  const Exchange* const exchange = linked.exchange;
  return exchange ? exchange->options().collective.get() : nullptr;
}

/// Formats "graph 2 (tanh ... fully_connected_2)".
std::string name_of(const Group& group, std::size_t place) {
  std::vector<std::string_view> layers;
  for (const LayerInfo& layer : group[place].graph.layers) {
    if (!layer.name.empty()) layers.push_back(layer.name);
  }
  const std::string name = "graph " + std::to_string(place + 1);
  return layers.empty() ? name : name + " (" + first_and_last(layers) + ")";
}

std::string layers_of(const Group& group) {
  std::string text;
  for (std::size_t place = 0; place < group.size(); ++place) {
    text += name_of(group, place) + ":\n";
    for (const LayerInfo& layer : group[place].graph.layers) {
      text += layer.name + '\n';
    }
  }
  return text;
}

/// Describes what each graph updates, and what others pass on to it.
std::string parts_of(const Group& group) {
  std::string text;
  for (std::size_t place = 0; place < group.size(); ++place) {
    const auto& [graph, linked, context, exchange] = group[place];
    text += name_of(group, place) + ":\n";
    for (const TensorIndex t : graph.trainable) {
      const bool is_updated = graph.update && !linked.skips_update(t);
      if (is_updated) text += "updates " + graph.tensors[t].name + '\n';
    }
    for (const auto& user : graph.user_gradients) {
      if (!linked.is_upstream(user)) continue;
      text += "takes the gradient of " + graph.tensors[user.of].name + '\n';
    }
  }
  return text;
}

}  // namespace

void require_one_collective(const Group& group) {
  std::size_t first = group.size();
  for (std::size_t place = 0; place < group.size(); ++place) {
    if (!group[place].graph.trains) continue;
    if (first == group.size()) first = place;
    const Collective* const expected = collective_of(group[first]);
    const Collective* const got = collective_of(group[place]);
    if (got == expected) continue;
    throw InvalidArgument(ErrorInfo{
        .op = kLinkCall,
        .node = name_of(group, place),
        .what = "linked graphs are trained over one collective, or all without",
        .expected = (expected ? "the collective of " : "none, as of ") +
                    name_of(group, first),
        .got = !got       ? "none"
               : expected ? "another collective"
                          : "a collective",
        .hint =
            "Make one Collective, and give it to compile() of each graph."});
  }
}

void link_exchanges(const Group& group) {
  const auto calls = std::make_shared<CallOrder>();
  for (std::size_t place = 0; place < group.size(); ++place) {
    calls->graphs.push_back(name_of(group, place));
  }
  const auto first = std::ranges::find_if(
      group, [](const LinkedGraph& graph) { return collective_of(graph); });
  if (first == group.end()) return;
  Exchange& exchange = *first->exchange;
  for (std::size_t place = 0; place < group.size(); ++place) {
    if (!group[place].exchange) continue;
    Exchange& own = *group[place].exchange;
    own.group().require_healthy(kLinkCall);
    own.link(exchange, calls, static_cast<int>(place));
  }
  if (exchange.size() == 1) return;
  // Others may use the same collective.
  first->context.drain();
  const std::vector<ConfigurationItem> configuration{
      {"linked graphs", layers_of(group)},
      {"parts of linked graphs", parts_of(group)}};
  Rendezvous(exchange.group(), kLinkCall).compare(configuration);
}

}  // namespace traingraph
