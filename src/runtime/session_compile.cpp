// SPDX-License-Identifier: MIT
// The compiling half of Session: from the declaration to specializations.
#include <algorithm>
#include <utility>

#include "graph/platform.h"
#include "graph/tensor_state.h"
#include "layers/names.h"
#include "runtime/backend.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::size_t kMaxSpecializations = 8;

/// Freezes graph objects; each compile that holds one, or has succeeded,
/// counts.
class Freeze {
 public:
  explicit Freeze(const std::vector<std::shared_ptr<GraphState>>& graphs)
      : graphs_(graphs) {
    count(+1);
  }
  ~Freeze() { count(-1); }
  void keep() { graphs_.clear(); }

 private:
  void count(int change) {
    for (const auto& graph : graphs_) {
      std::scoped_lock lock(graph->mutex);
      graph->num_compiles += change;
    }
  }

  std::vector<std::shared_ptr<GraphState>> graphs_;
};

void require_not_negative(const char* option, double value) {
  if (value >= 0) return;  // false for NaN
  throw InvalidArgument(ErrorInfo{.op = "compile",
                                  .node = option,
                                  .what = "the option must not be negative",
                                  .expected = "a number >= 0",
                                  .got = std::to_string(value)});
}

}  // namespace

void Session::compile(const Device& device, const CompileOptions& options,
                      const TensorMap& constants, DataList constants_data) {
  std::scoped_lock lock(mutex_);
  wait_until_idle();
  require_compilable();
  require_not_negative("max_gpu_ms", options.max_gpu_ms);
  require_not_negative("verify_tolerance", options.verify_tolerance);
  declare_constants(constants, constants_data);
  Freeze freeze(declaration_.graphs);
  LayerNames::make_unique(declaration_.graphs, declaration_.trained_inputs);
  forget_compilation();
  device_ = device;
  context_ = device.context();
  if (options.verify) {
    context_ = find_verifying_context(context_, options.verify->context(),
                                      options.verify_tolerance);
  }
  options_ = options;
  declaration_.computes_all_gradients = options.compute_all_gradients;
  declaration_.is_linkable = options.link_graphs;
  declaration_.debugs_layers = options.debug_layers;
  std::erase_if(declaration_.user_gradients,
                [](const auto& user) { return user.is_boundary; });
  if (options.link_graphs) allocate_boundary_gradients();
  declaration_.trained.reset();
  declaration_.trained = trainable_parameters(declaration_);
  create_hidden_tensors();
  create_slots(/*keeps_host_data=*/true);
  leave_link();
  seed_ = platform_seed();
  reset_arenas();
  compile_locked();
  freeze.keep();
  const auto place = [&](const CompiledProgram& compiled) {
    for (const LayerRecord& record : compiled.assembled.records) {
      record.layer->device_type_ = device.actual_device_type();
    }
  };
  place(main_->compilation.inference);
  if (main_->compilation.training) place(*main_->compilation.training);
}

void Session::compile_optimizer(OptimizerPtr optimizer) {
  std::scoped_lock lock(mutex_);
  require_training("compile_optimizer");
  require_compiled("compile_optimizer");
  if (!optimizer) {
    throw InvalidArgument(
        ErrorInfo{.op = "compile_optimizer", .what = "there is no optimizer"});
  }
  if (link_) {
    throw StateError(
        ErrorInfo{.op = "compile_optimizer",
                  .what = "the graph is linked, and linked graphs agree on who "
                          "updates shared parameters",
                  .hint = "Call compile_optimizer() before link()."});
  }
  wait_until_idle();
  forget_compilation();
  declaration_.optimizer = std::move(optimizer);
  for (const auto& [id, tensors] : declaration_.slots) {
    for (const Tensor& tensor : tensors) {
      placements_.erase(tensor.state().get());
    }
  }
  create_slots(/*keeps_host_data=*/false);
  slots_ = ArenaGroup(context_, "optimizer slots");
  compile_locked();
}

/// A compile that fails leaves the graph uncompiled, whatever it was before.
void Session::forget_compilation() {
  main_.reset();
  specializations_.clear();
  last_.reset();
  last_phase_.reset();
  last_gradient_.reset();
  profiled_ = {};
  phase_ = PhaseState::Clean;
  gradient_tensors_.clear();
  pool_.clear();
}

void Session::compile_locked() {
  const std::int64_t batch_before =
      std::exchange(batch_, declared_batch(declaration_));
  output_names_ = std::make_shared<const TensorMap>(declaration_.outputs);
  const auto specialization = compile_for(batch_);
  require_inputs_are_used(specialization->compilation);
  try {
    place_persistent(specialization->compilation);
  } catch (...) {
    placements_.clear();  // others may take the tensors elsewhere
    throw;
  }
  size_plan_arenas(specialization->compilation);
  main_ = specialization;
  specializations_ = {specialization};
  collect_inputs(batch_before);
  collect_settings();
  find_live_gradients();
  index_accumulators();
  create_readable_tensors();
  ++compile_count_;
}

std::shared_ptr<Specialization> Session::compile_for(std::int64_t batch) const {
  const CompilerOptions options{
      .fuses = !options_.disable_layer_fusion && !options_.debug_layers,
      // What is compared after a run must not be overwritten before.
      .reuses_memory = options_.reuses_memory && !options_.verify,
      .max_gpu_ms = options_.max_gpu_ms};
  auto specialization = std::make_shared<Specialization>();
  specialization->compilation =
      compile_graph(declaration_, context_->target(), options, batch);
  specialization->names = output_names_;
  return specialization;
}

void Session::require_compilable() const {
  const bool has_nodes =
      std::ranges::any_of(declaration_.graphs, [](const auto& graph) {
        std::scoped_lock lock(graph->mutex);
        return !graph->program.nodes().empty();
      });
  if (has_nodes) return;
  throw StateError(ErrorInfo{.op = "compile",
                             .what = "the graph has no nodes",
                             .hint = "Add layers with Graph::node."});
}

void Session::require_inputs_are_used(const Compilation& compilation) const {
  const auto is_used = [&](const Tensor& tensor) {
    return compilation.inference.assembled.find(tensor) != kNoValue ||
           (compilation.training &&
            compilation.training->assembled.find(tensor) != kNoValue);
  };
  for (const auto* map : {&declaration_.inputs, &declaration_.labels,
                          &declaration_.label_weights}) {
    for (const auto& [name, tensor] : *map) {
      if (is_used(tensor)) continue;
      throw InvalidArgument(
          ErrorInfo{.op = "compile",
                    .node = name,
                    .what = "no node reads this declared tensor",
                    .expected = "a source of a node of this graph",
                    .got = "\"" + tensor.label() + "\"",
                    .hint = "Is it a tensor of another graph?"});
    }
  }
}

void Session::require_constant_is_read(const std::string& name,
                                       const Tensor& tensor) const {
  const auto is_this = [&](const auto& entry) {
    return entry.second == tensor;
  };
  const bool is_label =
      std::ranges::any_of(declaration_.labels, is_this) ||
      std::ranges::any_of(declaration_.label_weights, is_this);
  if (tensor && (is_label || uses(tensor))) return;
  throw InvalidArgument(
      ErrorInfo{.op = "compile",
                .node = name,
                .what = "no node reads this constant",
                .expected = "a source of a node of this graph",
                .hint = "Is it a tensor of another graph?"});
}

void Session::declare_constants(const TensorMap& tensors, DataList data) {
  for (const auto& [name, tensor] : tensors) {
    require_constant_is_read(name, tensor);
  }
  for (const NamedData& item : data) {
    const auto it = tensors.find(std::string(item.name));
    if (it == tensors.end()) {
      throw InvalidArgument(ErrorInfo{
          .op = "compile",
          .node = std::string(item.name),
          .what = "data for a constant that input_tensors does not list"});
    }
    it->second.set_data(item.data);
  }
  for (const auto& [name, tensor] : tensors) {
    if (tensor.has_data()) continue;
    throw InvalidArgument(ErrorInfo{
        .op = "compile", .node = name, .what = "the constant has no data"});
  }
  declaration_.constants = tensors;
}

/// Results that nobody reads here may be inputs of a linked graph, which then
/// passes their gradients back.
void Session::allocate_boundary_gradients() {
  if (!declaration_.trains) return;
  for (const auto& graph : declaration_.graphs) {
    for (const LayerRecord& record : graph->records) {
      if (record.layer->is_loss()) continue;
      for (const Tensor& tensor : record.results) {
        const ValueId value = graph->value_of.at(tensor.tensor_id());
        const bool is_read =
            std::ranges::any_of(graph->program.nodes(), [&](const Node& node) {
              return std::ranges::find(node.inputs, value) != node.inputs.end();
            });
        const bool is_known = std::ranges::any_of(
            declaration_.user_gradients,
            [&](const auto& known) { return known.of == tensor; });
        if (is_read || is_known || tensor.data_type() != DataType::Float32) {
          continue;
        }
        declaration_.user_gradients.push_back(
            {tensor,
             Tensor(tensor.descriptor(), "gradient of " + tensor.label()),
             /*is_boundary=*/true});
      }
    }
  }
}

std::vector<Tensor> Session::accumulated_tensors(const Declaration& d) {
  std::vector<Tensor> accumulated = trainable_parameters(d);
  for (const auto& [name, tensor] : d.inputs) accumulated.push_back(tensor);
  return accumulated;
}

void Session::create_hidden_tensors() {
  Declaration& d = declaration_;
  d.rates = Tensor({{4}, DataType::Float32}, "rates");
  d.random_state = Tensor({{4}, DataType::Int32}, "random_state");
  d.accumulators.clear();
  if (!d.is_linkable) return;
  const std::vector<Tensor> accumulated = accumulated_tensors(d);
  const auto count = static_cast<std::int64_t>(accumulated.size());
  if (count == 0) return;
  d.accumulation = Tensor({{count}, DataType::Float32}, "accumulation");
  for (const Tensor& tensor : accumulated) {
    if (tensor.data_type() != DataType::Float32) continue;
    d.accumulators.emplace(
        tensor.tensor_id(),
        Tensor(tensor.descriptor(), "gradient of " + tensor.label()));
  }
}

void Session::create_slots(bool keeps_host_data) {
  declaration_.slots.clear();
  if (!declaration_.optimizer) return;
  const auto names = declaration_.optimizer->slots();
  for (const Tensor& parameter : trainable_parameters(declaration_)) {
    TensorState& state = *parameter.state();
    std::scoped_lock lock(state.mutex);
    std::vector<Tensor> tensors;
    std::vector<OptimizerSlot> slots;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string name(names[i]);
      tensors.emplace_back(state.desc, name + " of " + state.label);
      slots.push_back({name, {}, nullptr});
      const bool has_preset =
          keeps_host_data && i < state.slots.size() &&
          state.slots[i].host.size >= state.desc.size_bytes();
      if (!has_preset) continue;
      slots.back().host = state.slots[i].host;
      tensors.back().state()->data = state.slots[i].host;
    }
    state.slots = std::move(slots);
    declaration_.slots.emplace(parameter.tensor_id(), std::move(tensors));
  }
}

std::shared_ptr<Specialization> Session::specialize(std::int64_t batch) {
  for (const auto& specialization : specializations_) {
    if (specialization->compilation.batch != batch) continue;
    specialization->last_use = ++uses_;
    return specialization;
  }
  const auto specialization = compile_for(batch);
  specialization->last_use = ++uses_;
  size_plan_arenas(specialization->compilation);
  ++compile_count_;
  if (specializations_.size() >= kMaxSpecializations) {
    // The compiled batch size itself stays; it is the first.
    specializations_.erase(std::min_element(specializations_.begin() + 1,
                                            specializations_.end(),
                                            [](const auto& a, const auto& b) {
                                              return a->last_use < b->last_use;
                                            }));
  }
  specializations_.push_back(specialization);
  return specialization;
}

}  // namespace traingraph
