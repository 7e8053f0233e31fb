// SPDX-License-Identifier: MIT
// What can be asked of a session: memory, gradients, parameters, pictures.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "compiler/merge.h"
#include "graph/tensor_state.h"
#include "layers/dot.h"
#include "runtime/plan_storage.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {

bool Session::is_compiled() const {
  std::scoped_lock lock(mutex_);
  return main_ != nullptr;
}

int Session::compile_count() const {
  std::scoped_lock lock(mutex_);
  return compile_count_;
}

std::optional<Device> Session::device() const {
  std::scoped_lock lock(mutex_);
  return main_ ? device_ : std::nullopt;
}

OptimizerPtr Session::optimizer() const {
  std::scoped_lock lock(mutex_);
  return declaration_.optimizer;
}

MemoryReport Session::memory() const {
  std::scoped_lock lock(mutex_);
  require_compiled("memory");
  MemoryReport report;
  report.parameter_bytes = parameters_->size_bytes();
  report.statistics_bytes = statistics_->size_bytes();
  report.optimizer_bytes = slots_->size_bytes();
  report.input_bytes = inputs_->size_bytes();
  report.constant_bytes = constants_->size_bytes();
  report.accumulator_bytes = accumulators_->size_bytes();
  report.shared_bytes = shared_bytes_;
  report.step = main_->compilation.step.memory;
  report.phases = main_->compilation.phases.memory;
  report.inference = main_->compilation.inference_plan.memory;
  PlanMemory* plans[] = {&report.step, &report.phases, &report.inference};
  for (int kind = 0; kind < 3; ++kind) {
    plans[kind]->arena_bytes = arenas_[kind]->size_bytes();
    plans[kind]->is_allocated = arenas_[kind]->is_allocated();
  }
  const auto persistent = {parameters_, statistics_, slots_,
                           inputs_,     constants_,  accumulators_};
  for (const auto& arena : persistent) {
    report.persistent_bytes += arena->size_bytes();
  }
  const auto count = [&](const Arena& arena) {
    if (!arena.is_allocated()) return;
    report.predicted_bytes += arena.size_bytes();
    report.allocated_bytes += arena.allocated_bytes();
  };
  for (const auto& arena : persistent) count(*arena);
  for (const auto& arena : arenas_) count(*arena);
  for (const auto& slot : pool_) report.staging_bytes += slot->staging_bytes();
  return report;
}

std::size_t Session::device_memory_size() const {
  std::scoped_lock lock(mutex_);
  if (!main_) return 0;
  std::size_t allocated = 0;
  for (const auto& arena : arenas_) {
    if (arena->is_allocated()) allocated += arena->size_bytes();
  }
  if (allocated > 0) return allocated;
  const auto kind = declaration_.trains ? PlanKind::Step : PlanKind::Inference;
  return arena(kind).size_bytes();
}

std::string Session::plan_description() const {
  std::scoped_lock lock(mutex_);
  require_compiled("plan_description");
  std::ostringstream text;
  const auto describe = [&](const char* title, PlanKind kind) {
    const CompiledProgram& compiled = main_->compilation.program(kind);
    const Plan& plan = main_->compilation.plan(kind);
    text << title << ": arena " << plan.memory.arena_bytes
         << " bytes, live peak " << plan.memory.live_peak_bytes << '\n';
    for (std::size_t i = 0; i < plan.order.size(); ++i) {
      const Unit& unit = compiled.lowered.units[plan.order[i]];
      const Node& node = compiled.assembled.program.node(unit.nodes.front());
      text << "  " << i << ' ' << (unit.is_reorder ? "reorder" : node.op->name)
           << " \"" << node.name << '"';
      for (StorageId id : unit.writes) {
        const Storage& storage = compiled.lowered.storages[id];
        text << "  " << storage.bytes << " bytes";
        if (plan.offset_of[id] == Plan::kNotInArena) {
          text << " persistent";
        } else {
          text << " at " << plan.offset_of[id];
        }
      }
      text << '\n';
    }
  };
  if (declaration_.trains) {
    describe("step", PlanKind::Step);
    describe("phases", PlanKind::Phases);
  }
  describe("inference", PlanKind::Inference);
  return text.str();
}

std::string Session::dot() const {
  std::scoped_lock lock(mutex_);
  std::unordered_set<std::uint64_t> stopped;
  for (const Tensor& tensor : declaration_.stopped) {
    stopped.insert(tensor.tensor_id());
  }
  Declaration declaration = declaration_;
  declaration.allows_undeclared = true;
  declaration.random_state = Tensor({{4}, DataType::Int32}, "random_state");
  if (declaration.labels.size() != 1) declaration.loss = nullptr;
  Merged merged;
  merge_graphs(declaration, Mode::Training, declared_batch(declaration),
               merged);
  return dot_description(merged.graph, stopped);
}

void Session::synchronize_updates() {
  std::vector<std::shared_ptr<TensorState>> tensors;
  {
    std::scoped_lock lock(mutex_);
    require_compiled("synchronize_updates");
    const auto collect = [&](const Program& program) {
      for (const Value& value : program.values()) {
        if (value.role != Role::Variable) continue;
        const auto placed = placements_.find(value.tensor.get());
        if (placed == placements_.end()) continue;
        if (value.tensor->device == placed->second) {
          tensors.push_back(value.tensor);
        }
      }
    };
    if (declaration_.trains) {
      collect(main_->compilation.training->assembled.program);
    }
    collect(main_->compilation.inference.assembled.program);
  }
  wait_until_idle();
  for (const auto& tensor : tensors) Tensor(tensor).synchronize_data();
}

Tensor Session::gradient_tensor(const Tensor& input) const {
  std::scoped_lock lock(mutex_);
  require_compiled("gradient_tensor");
  const auto it = gradient_tensors_.find(input.tensor_id());
  return it == gradient_tensors_.end() ? Tensor() : it->second;
}

std::vector<Tensor> Session::layer_gradients(const Layer& layer,
                                             bool incoming) const {
  std::scoped_lock lock(mutex_);
  require_compiled("gradient tensors of a layer");
  std::vector<Tensor> gradients;
  for (const auto& graph : declaration_.graphs) {
    for (const LayerRecord& record : graph->records) {
      if (record.layer->layer_id() != layer.layer_id()) continue;
      for (const Tensor& t : incoming ? record.results : record.sources) {
        const auto it = gradient_tensors_.find(t.tensor_id());
        if (it != gradient_tensors_.end()) gradients.push_back(it->second);
      }
    }
  }
  return gradients;
}

Location Session::gradient_location(const Tensor& parameter) const {
  require_compiled("gradient");
  if (!last_gradient_) {
    throw StateError(ErrorInfo{
        .op = "gradient",
        .node = parameter.label(),
        .what = "there are no gradients of separate phases",
        .expected = "execute_forward and execute_gradient before",
        .hint = "execute() reuses the memory of each gradient at once."});
  }
  last_gradient_->wait();
  wait_until_idle();
  const Specialization& specialization = *last_gradient_->specialization;
  const CompiledProgram& compiled = *specialization.compilation.training;
  for (const Trained& trained : compiled.assembled.trained) {
    if (!(trained.tensor == parameter)) continue;
    const StorageId storage = compiled.lowered.storage_of[trained.gradient];
    return const_cast<Session*>(this)->locate(compiled,
                                              specialization.compilation.phases,
                                              arena(PlanKind::Phases), storage);
  }
  throw InvalidArgument(
      ErrorInfo{.op = "gradient",
                .node = parameter.label(),
                .what = "this tensor is not trained by this graph",
                .expected = "an updatable parameter that the loss depends on"});
}

std::span<float> Session::gradient(const Tensor& parameter) const {
  std::scoped_lock lock(mutex_);
  const Location at = gradient_location(parameter);
  return {reinterpret_cast<float*>(at.host()),
          static_cast<std::size_t>(parameter.shape().num_elements())};
}

std::span<float> Session::gradients() const {
  std::scoped_lock lock(mutex_);
  require_compiled("gradients");
  const auto& trained = main_->compilation.training->assembled.trained;
  if (trained.empty()) return {};
  if (declaration_.is_linkable) {
    throw UnsupportedError(ErrorInfo{
        .op = "gradients",
        .what = "linkable graphs have no block of all gradients, since each "
                "may be shared with another graph",
        .hint = "Use gradient() for each parameter."});
  }
  const Location first = gradient_location(trained.front().tensor);
  const Plan& plan = last_gradient_->specialization->compilation.phases;
  return {reinterpret_cast<float*>(first.host()),
          plan.gradient_block.bytes / sizeof(float)};
}

std::shared_ptr<void> Session::gradient_owner() const {
  std::scoped_lock lock(mutex_);
  return declaration_.is_linkable ? accumulators_->buffer()
                                  : arena(PlanKind::Phases).buffer();
}

std::vector<float> Session::gradient_data(const Tensor& parameter,
                                          const Layer& layer) const {
  const auto parameters = layer.parameters();
  const bool is_own = std::ranges::any_of(
      parameters, [&](const auto& p) { return p.tensor() == parameter; });
  if (!is_own) {
    throw InvalidArgument(
        ErrorInfo{.op = "gradient_data",
                  .node = layer.label(),
                  .what = "the tensor is no parameter of this layer",
                  .got = "\"" + parameter.label() + "\""});
  }
  const std::span<float> values = gradient(parameter);
  return {values.begin(), values.end()};
}

std::vector<Tensor> Session::parameters() const {
  std::scoped_lock lock(mutex_);
  require_compiled("parameters");
  std::vector<Tensor> parameters;
  if (!declaration_.trains) return parameters;
  for (const auto& trained : main_->compilation.training->assembled.trained) {
    parameters.push_back(trained.tensor);
  }
  return parameters;
}

void Session::bind_optimizer_data(std::span<const TensorData> data,
                                  const Tensor& parameter) {
  {
    std::scoped_lock lock(mutex_);
    require_compiled("bind_optimizer_data");
    wait_until_idle();
    if (!declaration_.slots.contains(parameter.tensor_id())) {
      throw InvalidArgument(
          ErrorInfo{.op = "bind_optimizer_data",
                    .node = parameter.label(),
                    .what = "the optimizer does not train this tensor"});
    }
  }
  parameter.bind_optimizer_data(data);
}

std::uint64_t Session::random_step() const {
  std::scoped_lock lock(mutex_);
  return random_step_;
}

void Session::set_random_step(std::uint64_t step) {
  std::scoped_lock lock(mutex_);
  random_step_ = step;
}

Location Session::locate_readable(
    const std::function<ValueId(const Assembled&)>& find) {
  std::scoped_lock lock(mutex_);
  if (!last_specialization_ || !last_plan_) {
    throw StateError(
        ErrorInfo{.op = "synchronize_data",
                  .what = "the graph has not run, so there is no result"});
  }
  wait_until_idle();
  const Compilation& compilation = last_specialization_->compilation;
  const CompiledProgram& compiled = compilation.program(*last_plan_);
  const ValueId value = find(compiled.assembled);
  const StorageId storage =
      value == kNoValue ? -1 : compiled.lowered.storage_of[value];
  if (storage < 0) {
    throw StateError(
        ErrorInfo{.op = "synchronize_data",
                  .what = "the last execution did not compute this tensor"});
  }
  return locate(compiled, compilation.plan(*last_plan_), arena(*last_plan_),
                storage);
}

Location PlanStorage::locate() {
  const auto alive = session.lock();
  if (!alive) {
    throw StateError(ErrorInfo{.op = "synchronize_data",
                               .what = "the graph that computed the tensor is "
                                       "gone"});
  }
  return alive->locate_readable(find);
}

}  // namespace traingraph
