// SPDX-License-Identifier: MIT
// What can be asked of a session: memory, parameters, plans, pictures.
#include <algorithm>
#include <sstream>
#include <unordered_set>

#include "compiler/merge.h"
#include "graph/tensor_state.h"
#include "layers/dot.h"
#include "runtime/session.h"
#include "runtime/transfer.h"
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
  report.parameter_bytes = parameters_.size_bytes();
  report.statistics_bytes = statistics_.size_bytes();
  report.optimizer_bytes = slots_.size_bytes();
  report.input_bytes = inputs_.size_bytes();
  report.constant_bytes = constants_.size_bytes();
  report.accumulator_bytes = accumulators_.size_bytes();
  report.shared_bytes = shared_bytes_;
  report.step = main_->compilation.step.memory;
  report.phases = main_->compilation.phases.memory;
  report.inference = main_->compilation.inference_plan.memory;
  PlanMemory* plans[] = {&report.step, &report.phases, &report.inference};
  for (int kind = 0; kind < 3; ++kind) {
    plans[kind]->arena_bytes = arenas_[kind]->size_bytes();
    plans[kind]->is_allocated = arenas_[kind]->is_allocated();
  }
  const auto count = [&](const Arena& arena) {
    if (!arena.is_allocated()) return;
    report.predicted_bytes += arena.size_bytes();
    report.allocated_bytes += arena.allocated_bytes();
  };
  for (const ArenaGroup* group : persistent_arenas()) {
    report.persistent_bytes += group->size_bytes();
    for (const auto& arena : group->arenas()) count(*arena);
  }
  for (const auto& arena : arenas_) count(*arena);
  for (const auto& slot : pool_) report.staging_bytes += slot->staging_bytes();
  report.engine_bytes = context_->engine_bytes();
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
      for (std::size_t k = 1; k < unit.nodes.size(); ++k) {
        const Node& next = compiled.assembled.program.node(unit.nodes[k]);
        text << " + " << next.op->name << " \"" << next.name << '"';
      }
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
  // Nodes may still be added. In address order, as every pair of locks here.
  auto graphs = declaration.graphs;
  std::ranges::sort(graphs);
  std::vector<std::unique_lock<std::mutex>> locks;
  for (const auto& graph : graphs) locks.emplace_back(graph->mutex);
  Merged merged;
  merge_graphs(declaration, Mode::Training, declared_batch(declaration),
               merged);
  return dot_description(merged.graph, stopped);
}

void Session::synchronize_updates() {
  std::unique_lock lock(mutex_);
  require_compiled("synchronize_updates");
  // One, so that all values are of one step.
  const auto transfer = std::make_shared<Transfer>(context_);
  std::vector<std::shared_ptr<TensorState>> tensors;
  std::unordered_set<const TensorState*> seen;
  const auto collect = [&](const Program& program) {
    for (const Value& value : program.values()) {
      if (value.role != Role::Variable) continue;
      if (!seen.insert(value.tensor.get()).second) continue;
      const auto placed = placements_.find(value.tensor.get());
      if (placed == placements_.end()) continue;
      {
        std::scoped_lock tensor_lock(value.tensor->mutex);
        if (value.tensor->device != placed->second) continue;
      }
      placed->second->visit(
          [&](const DeviceBytes& from) { transfer->read(from); });
      tensors.push_back(value.tensor);
    }
  };
  if (declaration_.trains) {
    collect(main_->compilation.training->assembled.program);
  }
  collect(main_->compilation.inference.assembled.program);
  transfer->submit();
  lock.unlock();
  transfer->wait();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    store_host(*tensors[i], transfer->bytes(i));
  }
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

}  // namespace traingraph
