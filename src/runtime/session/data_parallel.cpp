// SPDX-License-Identifier: MIT
// Data-parallel training: what processes agree on before they begin.
#include <algorithm>

#include "base/format.h"
#include "graph/attributes.h"
#include "graph/op_def.h"
#include "graph/tensor_state.h"
#include "runtime/exchange/rendezvous.h"
#include "runtime/exchange/statistics.h"
#include "runtime/session/session.h"
#include "runtime/session/training_state.h"
#include "traingraph/error.h"

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

std::string trained_by(const Session& session) {
  std::string text;
  for (const TensorIndex tensor :
       session.plan_cache->options().collectives.order) {
    const TensorInfo& info = session.plan_cache->graph().tensors[tensor];
    text += info.name + ' ' + text_of(info.desc) + '\n';
  }
  return text;
}

std::string optimizer_of(const Session& session) {
  const auto state = training_state_of(session).optimizer;
  if (!state) return "none\n";
  std::string text = state->name + '\n';
  for (const auto& [name, value] : state->settings) {
    text += name + '=' + value + '\n';
  }
  return text;
}

std::string options_of(const Session& session) {
  const MergedGraph& graph = session.plan_cache->graph();
  // All are named, so that what is added is not forgotten here.
  const auto& [collective, gradients_of_ranks, bucket_bytes, timeout,
               shard_optimizer, reduce_losses, synchronize_batch_norm,
               on_bucket] = session.exchange->options();
  const auto line = [](const char* name, const auto& value) {
    return std::string(name) + '=' + std::to_string(value) + '\n';
  };
  return "precision=" + std::string(to_string(graph.precision)) + '\n' +
         line("link_graphs", graph.is_linkable) +
         line("accumulate_gradients", graph.accumulates_gradients) +
         line("bucket_bytes", bucket_bytes) +
         line("alignment", session.device->context()->target().alignment()) +
         line("shard_optimizer", shard_optimizer) +
         line("reduce_losses", reduce_losses) +
         line("synchronize_batch_norm", synchronize_batch_norm) +
         line("averages_gradients", graph.weights_gradients);
}

/// Names norms in the order in which their statistics are sent.
std::string norms_of(const Session& session, PlanKind kind) {
  std::string text;
  const Program& program = session.main().program(kind).assembled.program;
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

std::string constants_of(const Session& session) {
  std::string text;
  for (const auto& [name, tensor] : session.declaration.constants) {
    TensorState& state = *tensor.state();
    const std::scoped_lock lock(state.mutex);
    const auto* const begin =
        reinterpret_cast<const char*>(ensure_host(state).bytes);
    text +=
        name + ' ' + fingerprint_of({begin, state.desc.size_bytes()}) + '\n';
  }
  return text;
}

std::vector<ConfigurationItem> configuration_of(const Session& session) {
  const MergedGraph& graph = session.plan_cache->graph();
  return {{"options of compile()", options_of(session)},
          {"inputs", text_of(graph, graph.inputs)},
          {"labels",
           text_of(graph, graph.labels) + text_of(graph, graph.label_weights)},
          {"layers", layers_of(graph)},
          {"trained parameters", trained_by(session)},
          {"batch normalizations", norms_of(session, PlanKind::Step) +
                                       norms_of(session, PlanKind::Phases)},
          {"gradients that are stopped or given", ends_of(graph)},
          {"constants", constants_of(session)},
          {"optimizers", optimizer_of(session)}};
}

/// All that changes from step to step, but buffers that are sharded.
std::vector<TensorIndex> state_of(const Session& session) {
  std::vector<TensorIndex> tensors = variables_of(session);
  const MergedGraph& graph = session.plan_cache->graph();
  for (const auto& slots : graph.slots) {
    if (graph.shards) break;
    tensors.insert(tensors.end(), slots.begin(), slots.end());
  }
  tensors.push_back(graph.loss_scale);
  std::erase_if(tensors,
                [&](TensorIndex t) { return !session.placement.of(t); });
  return tensors;
}

void take_training_state(Session& session, Rendezvous& rendezvous) {
  const auto texts =
      rendezvous.gather(print_training_state(training_state_of(session)),
                        "the state of training");
  TrainingState first;
  const std::string problem = parse_training_state(texts.front(), first);
  if (!problem.empty()) throw InternalError(problem);
  apply_training_state(session, first);
}

void take_tensors(Session& session, Rendezvous& rendezvous) {
  const std::vector<TensorIndex> tensors = state_of(session);
  const Placement& placement = session.placement;
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
void take_shards(Session& session, Rendezvous& rendezvous) {
  const MergedGraph& graph = session.plan_cache->graph();
  const Placement& placement = session.placement;
  for (std::size_t i = 0; graph.shards && i < graph.slots.size(); ++i) {
    if (!graph.shards->is_trained(i)) continue;
    TensorState& parameter =
        *session.objects.tensors[graph.trainable[i]].state();
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

StagingSizes staging_sizes(const Session& session) {
  const Exchange& exchange = *session.exchange;
  const MergedGraph& graph = session.plan_cache->graph();
  const Program& program =
      session.main().program(PlanKind::Phases).assembled.program;
  StagingSizes sizes = exchange.staging_sizes(
      bind_shards(graph, session.placement).longest_bytes);
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

void require_data_parallel(const Device& device, const DataParallel& options) {
  const auto fail = [](const char* option, const char* what, std::string got) {
    throw InvalidArgument(ErrorInfo{
        .op = "compile", .node = option, .what = what, .got = std::move(got)});
  };
  if (options.gradients_of_ranks == GradientAccumulation::None) {
    fail("gradients_of_ranks", "gradients of processes are summed or averaged",
         "none");
  }
  if (options.bucket_bytes == 0) fail("bucket_bytes", "must be positive", "0");
  if (!(options.collective_timeout > 0)) {
    fail("collective_timeout", "must be positive",
         std::to_string(options.collective_timeout));
  }
  if (options.collective) {
    const int rank = options.collective->rank();
    const int size = options.collective->size();
    if (rank < 0 || rank >= size) {
      fail("collective", "its rank is not below its size",
           std::to_string(rank) + " of " + std::to_string(size));
    }
  }
  const bool exchanges = options.collective || options.on_bucket;
  if (!exchanges || device.context()->reaches_marks()) return;
  throw UnsupportedError(
      ErrorInfo{.op = "compile",
                .node = options.collective ? "collective" : "on_bucket",
                .what = "this device exchanges no gradients",
                .expected = "Device \"cpu\""});
}

std::shared_ptr<Exchange> make_exchange(const DataParallel& options) {
  if (!options.collective && !options.on_bucket) return nullptr;
  return std::make_shared<Exchange>(options);
}

void start_exchange(Session& session) {
  if (!session.exchange || session.exchange->size() == 1) return;
  // Others may use the same parameters, or the same collective.
  session.placement.context()->drain();
  Exchange& exchange = *session.exchange;
  Rendezvous rendezvous(exchange.group(), "compile");
  rendezvous.arrive();
  rendezvous.compare(configuration_of(session));
  exchange.set_compiled(count_compiled(exchange.options().collective));
  take_training_state(session, rendezvous);
  take_tensors(session, rendezvous);
  take_shards(session, rendezvous);
  exchange.use(make_staging(staging_sizes(session)));
  std::vector<Tensor> variables;
  for (TensorIndex tensor : variables_of(session)) {
    variables.push_back(session.objects.tensors[tensor]);
  }
  exchange.watch(std::move(variables));
}

}  // namespace traingraph
