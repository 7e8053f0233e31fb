// SPDX-License-Identifier: MIT
// The compiling half of Session: from the declaration to specializations.
#include <algorithm>

#include "graph/platform.h"
#include "graph/tensor_state.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::size_t kMaxSpecializations = 8;

/// Freezes graph objects; thaws them again unless the compile succeeded.
class Freeze {
 public:
  explicit Freeze(const std::vector<std::shared_ptr<GraphState>>& graphs) {
    for (const auto& graph : graphs) {
      std::scoped_lock lock(graph->mutex);
      if (graph->is_frozen) continue;
      graph->is_frozen = true;
      frozen_.push_back(graph);
    }
  }
  ~Freeze() {
    for (const auto& graph : frozen_) {
      std::scoped_lock lock(graph->mutex);
      graph->is_frozen = false;
    }
  }
  void keep() { frozen_.clear(); }

 private:
  std::vector<std::shared_ptr<GraphState>> frozen_;
};

}  // namespace

void Session::compile(const Device& device, const CompileOptions& options,
                      const TensorMap& constants, DataList constants_data) {
  std::scoped_lock lock(mutex_);
  wait_until_idle();
  require_compilable();
  declare_constants(constants, constants_data);
  Freeze freeze(declaration_.graphs);
  forget_compilation();
  device_ = device;
  context_ = device.context();
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
  updated_elsewhere_.clear();
  seed_ = platform_seed();
  reset_arenas();
  compile_locked();
  freeze.keep();
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
  slots_ = std::make_shared<Arena>(context_, "optimizer slots");
  compile_locked();
}

/// A compile that fails leaves the graph uncompiled, whatever it was before.
void Session::forget_compilation() {
  main_.reset();
  specializations_.clear();
  last_specialization_.reset();
  last_plan_.reset();
  last_phase_.reset();
  last_gradient_.reset();
  phase_ = PhaseState::Clean;
  gradient_tensors_.clear();
  pool_.clear();
}

void Session::compile_locked() {
  const CompilerOptions options{
      .fuses = !options_.disable_layer_fusion && !options_.debug_layers,
      .reuses_memory = options_.reuses_memory};
  batch_ = declared_batch(declaration_);
  auto specialization = std::make_shared<Specialization>();
  specialization->compilation =
      compile_graph(declaration_, context_->target(), options, batch_);
  require_inputs_are_used(specialization->compilation);
  output_names_ = std::make_shared<const TensorMap>(declaration_.outputs);
  specialization->names = output_names_;
  place_persistent(specialization->compilation);
  size_plan_arenas(specialization->compilation);
  main_ = specialization;
  specializations_ = {specialization};
  collect_inputs();
  create_readable_tensors();
  ++compile_count_;
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

void Session::create_hidden_tensors() {
  Declaration& d = declaration_;
  d.rates = Tensor({{4}, DataType::Float32}, "rates");
  d.random_state = Tensor({{4}, DataType::Int32}, "random_state");
  d.accumulators.clear();
  if (!d.is_linkable) return;
  std::vector<Tensor> accumulated = trainable_parameters(d);
  for (const auto& [name, tensor] : d.inputs) accumulated.push_back(tensor);
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

void Session::collect_inputs() {
  std::map<std::string, Input> declared;
  const auto add = [&](const TensorMap& map, bool is_label) {
    for (const auto& [name, tensor] : map) {
      // Data that the tensor was created with counts as written.
      const bool has_data = tensor.has_data();
      declared[name] = {tensor, is_label, has_data ? batch_ : 0};
      const auto known = declared_.find(name);
      if (known != declared_.end() && known->second.tensor == tensor) {
        declared[name].written_batch =
            std::max(declared[name].written_batch, known->second.written_batch);
      }
    }
  };
  add(declaration_.inputs, false);
  add(declaration_.labels, true);
  add(declaration_.label_weights, true);
  declared_ = std::move(declared);
  bindable_.clear();
  for (const auto& [name, input] : declared_) {
    bindable_.emplace(name, input.tensor);
  }
}

std::shared_ptr<Specialization> Session::specialize(std::int64_t batch) {
  for (const auto& specialization : specializations_) {
    if (specialization->compilation.batch != batch) continue;
    specialization->last_use = ++uses_;
    return specialization;
  }
  const CompilerOptions options{
      .fuses = !options_.disable_layer_fusion && !options_.debug_layers,
      .reuses_memory = options_.reuses_memory};
  auto specialization = std::make_shared<Specialization>();
  specialization->compilation =
      compile_graph(declaration_, context_->target(), options, batch);
  specialization->names = output_names_;
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
