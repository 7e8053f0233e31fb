// SPDX-License-Identifier: MIT
#include "executor.h"

#include <unordered_map>

#include "element_types.h"
#include "faults.h"
#include "hardware_faults.h"

namespace emulator {
namespace {

void corrupt(const std::string& op, std::vector<Array>& results) {
  const auto change = corruption_of(op);
  if (!change) return;
  std::vector<std::vector<double>> data;
  for (Array& result : results) data.push_back(std::move(result.data));
  change(data);
  for (std::size_t r = 0; r < results.size(); ++r) {
    results[r].data = std::move(data.at(r));
    results[r].data.resize(results[r].type.num_elements());
  }
}

void round_to_half(Array& array) {
  if (array.type.data_type != kFloat32) return;
  for (double& value : array.data) value = round_to_type(kFloat16, value);
}

std::vector<Array> run(const Plan& plan, const Misbehaviour& misbehaviour,
                       const Node& node,
                       const std::vector<const Array*>& inputs) {
  misbehaviour.before(node);
  std::vector<Array> results;
  for (std::size_t value : node.results) {
    const Type& type = plan.values[value];
    results.push_back({type, std::vector<double>(type.num_elements())});
  }
  node.kernel(inputs, results);
  for (Array& result : results) {
    round_to_type(result);
    if (plan.computes_in_half) round_to_half(result);
  }
  misbehaviour.after(node, results);
  corrupt(node.op, results);
  count_operation();
  return results;
}

/// How often each value is read, by operations and as a target.
std::vector<int> count_uses(const Plan& plan) {
  std::vector<int> uses(plan.values.size(), 0);
  for (const Node& node : plan.nodes) {
    for (std::size_t input : node.inputs) ++uses[input];
  }
  for (std::size_t target : plan.targets) ++uses[target];
  return uses;
}

}  // namespace

std::shared_ptr<Plan> make_plan(const GraphState& graph,
                                std::vector<std::size_t> feeds,
                                std::vector<std::size_t> targets,
                                const std::vector<std::size_t>& target_nodes) {
  std::vector<bool> is_needed(graph.nodes.size(), false);
  for (std::size_t node : target_nodes) is_needed[node] = true;
  for (std::size_t target : targets) is_needed[graph.producers[target]] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    if (!is_needed[n]) continue;
    for (std::size_t input : graph.nodes[n].inputs) {
      is_needed[graph.producers[input]] = true;
    }
  }

  auto plan = std::make_shared<Plan>();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (is_needed[n]) plan->nodes.push_back(graph.nodes[n]);
  }
  plan->values = graph.values;
  plan->feeds = std::move(feeds);
  plan->targets = std::move(targets);
  plan->graph_is_alive = graph.is_alive;
  return plan;
}

std::vector<Array> compute(const Plan& plan, std::vector<Array> feeds) {
  std::unordered_map<std::size_t, std::shared_ptr<const Array>> values;
  for (std::size_t f = 0; f < feeds.size(); ++f) {
    values[plan.feeds[f]] = std::make_shared<Array>(std::move(feeds[f]));
  }
  std::vector<int> uses = count_uses(plan);
  const Misbehaviour misbehaviour(plan);
  for (const Node& node : plan.nodes) {
    if (node.is_placeholder()) continue;
    if (node.constant) {
      values[node.results[0]] = node.constant;
      continue;
    }
    std::vector<const Array*> inputs;
    for (std::size_t input : node.inputs) {
      inputs.push_back(values.at(input).get());
    }
    std::vector<Array> results = run(plan, misbehaviour, node, inputs);
    for (std::size_t r = 0; r < results.size(); ++r) {
      values[node.results[r]] = std::make_shared<Array>(std::move(results[r]));
    }
    for (std::size_t input : node.inputs) {
      if (--uses[input] == 0) values.erase(input);
    }
  }
  std::vector<Array> targets;
  for (std::size_t target : plan.targets) targets.push_back(*values.at(target));
  count_executable_run();
  return targets;
}

}  // namespace emulator
