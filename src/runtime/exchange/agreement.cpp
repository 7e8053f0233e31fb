// SPDX-License-Identifier: MIT
#include "runtime/exchange/agreement.h"

#include <algorithm>

#include "base/format.h"
#include "graph/attributes.h"
#include "graph/op_def.h"
#include "graph/tensor_state.h"
#include "runtime/exchange/rendezvous.h"
#include "runtime/exchange/statistics.h"

namespace traingraph {
namespace {

std::string text_of(const TensorDescriptor& desc) {
  return std::string(to_string(desc.data_type)) + ' ' + desc.shape.to_string();
}

std::string text_of(const MergedGraph& graph, const MergedGraph::Names& names) {
  std::string text;
  for (const auto& [name, tensor] : names) {
    text += name + ' ' + text_of(graph.tensors[tensor].desc) + '\n';
  }
  return text;
}

std::string layers_of(const MergedGraph& graph) {
  std::string text;
  for (const Node& node : graph.program.nodes()) {
    text += std::string(node.op->name) + " \"" + node.name + "\":";
    for (ValueId v : node.outputs) text += ' ' + text_of(graph.program.desc(v));
    for_each_field(node.attrs, [&](const char* name, const auto& value) {
      text += std::string(" ") + name + '=' + format_value(value);
    });
    for (ValueId v : node.inputs) text += " <" + std::to_string(v);
    text += '\n';
  }
  return text;
}

std::string trained_by(const PlanCache& plan_cache) {
  std::string text;
  for (const TensorIndex tensor : plan_cache.options().collectives.order) {
    const TensorInfo& info = plan_cache.graph().tensors[tensor];
    text += info.name + ' ' + text_of(info.desc) + '\n';
  }
  return text;
}

std::string options_of(const AgreeingGraph& agreeing,
                       const DataParallel& options) {
  const MergedGraph& graph = agreeing.plan_cache.graph();
  // All are named, so that what is added is not forgotten here.
  const auto& [collective, gradients_of_ranks, bucket_bytes, timeout,
               shard_optimizer, reduce_losses, synchronize_batch_norm,
               on_bucket] = options;
  const auto line = [](const char* name, const auto& value) {
    return std::string(name) + '=' + std::to_string(value) + '\n';
  };
  return "precision=" + std::string(to_string(graph.precision)) + '\n' +
         line("link_graphs", graph.is_linkable) +
         line("accumulate_gradients", graph.accumulates_gradients) +
         line("bucket_bytes", bucket_bytes) +
         line("alignment", agreeing.placement.context()->target().alignment()) +
         line("shard_optimizer", shard_optimizer) +
         line("reduce_losses", reduce_losses) +
         line("synchronize_batch_norm", synchronize_batch_norm) +
         line("averages_gradients", graph.weights_gradients);
}

/// Names norms in the order in which their statistics are sent.
std::string norms_of(const PlanCache& plan_cache, PlanKind kind) {
  std::string text;
  const Program& program =
      plan_cache.main()->compilation.program(kind).assembled.program;
  for (const Node& node : program.nodes()) {
    if (!reduces_statistics(node)) continue;
    text += std::string(node.op->name) + " \"" + node.name +
            "\": " + text_of(program.desc(node.outputs[0])) + '\n';
  }
  return text;
}

/// Says where gradients begin and end.
std::string ends_of(const MergedGraph& graph) {
  std::string text;
  const auto add = [&](const char* what, TensorIndex tensor) {
    text += std::string(what) + ' ' + graph.tensors[tensor].name + '\n';
  };
  for (TensorIndex tensor : graph.stopped) add("stopped", tensor);
  for (const auto& user : graph.user_gradients) add("user gradient", user.of);
  for (const auto& given : graph.given_gradients) add("given", given.of);
  return text;
}

std::string constants_of(const TensorMap& constants) {
  std::string text;
  for (const auto& [name, tensor] : constants) {
    TensorState& state = *tensor.state();
    const std::scoped_lock lock(state.mutex);
    const auto* const begin =
        reinterpret_cast<const char*>(ensure_host(state).bytes);
    text +=
        name + ' ' + fingerprint_of({begin, state.desc.size_bytes()}) + '\n';
  }
  return text;
}

std::vector<ConfigurationItem> configuration_of(const AgreeingGraph& agreeing,
                                                const DataParallel& options) {
  const PlanCache& plan_cache = agreeing.plan_cache;
  const MergedGraph& graph = plan_cache.graph();
  return {{"options of compile()", options_of(agreeing, options)},
          {"inputs", text_of(graph, graph.inputs)},
          {"labels",
           text_of(graph, graph.labels) + text_of(graph, graph.label_weights)},
          {"layers", layers_of(graph)},
          {"trained parameters", trained_by(plan_cache)},
          {"batch normalizations", norms_of(plan_cache, PlanKind::Step) +
                                       norms_of(plan_cache, PlanKind::Phases)},
          {"gradients that are stopped or given", ends_of(graph)},
          {"constants", constants_of(agreeing.constants)},
          {"optimizers", agreeing.optimizer}};
}

/// All that changes from step to step, but buffers that are sharded.
std::vector<TensorIndex> state_of(const AgreeingGraph& agreeing) {
  std::vector<TensorIndex> tensors = agreeing.variables;
  const MergedGraph& graph = agreeing.plan_cache.graph();
  for (const auto& slots : graph.slots) {
    if (graph.shards) break;
    tensors.insert(tensors.end(), slots.begin(), slots.end());
  }
  tensors.push_back(graph.loss_scale);
  std::erase_if(tensors,
                [&](TensorIndex t) { return !agreeing.placement.of(t); });
  return tensors;
}

void take_tensors(const AgreeingGraph& agreeing, Rendezvous& rendezvous) {
  const std::vector<TensorIndex> tensors = state_of(agreeing);
  const Placement& placement = agreeing.placement;
  std::size_t size = 0;
  for (TensorIndex t : tensors) size += placement.of(t)->bytes;
  std::vector<std::byte> bytes(size);
  const auto for_each = [&](const auto& copy) {
    std::span<std::byte> left = bytes;
    for (TensorIndex t : tensors) {
      const std::size_t count = placement.of(t)->bytes;
      copy(placement.of(t)->locate(), left.first(count));
      left = left.subspan(count);
    }
  };
  DeviceContext& context = *placement.context();
  for_each(
      [&](Location at, std::span<std::byte> to) { context.download(at, to); });
  rendezvous.broadcast(bytes);
  for_each([&](Location at, std::span<std::byte> from) {
    context.upload(from, at);
  });
}

/// Takes what the user gave rank 0 for a buffer; the others may have something
/// else.
void take_given(OptimizerSlot& slot, std::size_t size, Rendezvous& rendezvous) {
  std::byte is_given{slot.host.size >= size};
  rendezvous.broadcast(std::span(&is_given, 1));
  if (is_given == std::byte{0}) {
    slot.host = {};
    return;
  }
  if (slot.host.size < size) slot.host = allocate_host(size);
  rendezvous.broadcast({slot.host.bytes, size});
}

/// Buffers that are sharded begin with what rank 0 was given for them.
void take_shards(const AgreeingGraph& agreeing, Rendezvous& rendezvous) {
  const MergedGraph& graph = agreeing.plan_cache.graph();
  const Placement& placement = agreeing.placement;
  for (std::size_t i = 0; graph.shards && i < graph.slots.size(); ++i) {
    if (!graph.shards->is_trained(i)) continue;
    TensorState& parameter =
        *agreeing.objects.tensors[graph.trainable[i]].state();
    const std::size_t size = slot_descriptor(parameter.desc).size_bytes();
    const auto begin = static_cast<std::size_t>(graph.shards->own(i).begin);
    std::unique_lock lock(parameter.mutex);
    std::vector<OptimizerSlot> slots = parameter.slots;
    lock.unlock();
    for (std::size_t k = 0; k < slots.size(); ++k) {
      take_given(slots[k], size, rendezvous);
      if (k >= graph.slots[i].size()) continue;
      const auto& placed = placement.of(graph.slots[i][k]);
      std::vector<std::byte> own(placed->bytes);
      if (const std::byte* const host = slots[k].host.bytes) {
        std::copy_n(host + begin * sizeof(float), own.size(), own.begin());
      }
      placement.context()->upload(own, placed->locate());
    }
  }
}

StagingSizes staging_sizes(const AgreeingGraph& agreeing,
                           const Exchange& exchange) {
  const MergedGraph& graph = agreeing.plan_cache.graph();
  const Program& program = agreeing.plan_cache.main()
                               ->compilation.program(PlanKind::Phases)
                               .assembled.program;
  StagingSizes sizes = exchange.staging_sizes(
      bind_shards(graph, agreeing.placement).longest_bytes);
  if (graph.reduce_losses) sizes.num_losses = graph.losses.size();
  for (const Node& node : program.nodes()) {
    if (!reduces_statistics(node)) continue;
    const Shape& shape = program.shape(node.outputs[0]);
    sizes.num_statistics = std::max(
        sizes.num_statistics, static_cast<std::size_t>(shape.num_elements()));
  }
  return sizes;
}

}  // namespace

std::string agree(Exchange& exchange, const AgreeingGraph& graph,
                  const std::string& training_state) {
  // Others may use the same parameters, or the same collective.
  graph.placement.context()->drain();
  Rendezvous rendezvous(exchange.group(), "compile");
  rendezvous.arrive();
  rendezvous.compare(configuration_of(graph, exchange.options()));
  exchange.set_compiled(count_compiled(exchange.options().collective));
  const auto states =
      rendezvous.gather(training_state, "the state of training");
  take_tensors(graph, rendezvous);
  take_shards(graph, rendezvous);
  exchange.use(make_staging(staging_sizes(graph, exchange)));
  std::vector<Tensor> variables;
  for (const TensorIndex tensor : graph.variables) {
    variables.push_back(graph.objects.tensors[tensor]);
  }
  exchange.watch(std::move(variables));
  return states.front();
}

}  // namespace traingraph
