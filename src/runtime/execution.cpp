// SPDX-License-Identifier: MIT
#include "traingraph/execution.h"

#include <cstring>

#include "compiler/insight.h"
#include "runtime/execution_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// The nodes of a unit share its time by what they are estimated to cost.
void divide(double seconds, const Unit& unit, const Program& program,
            std::vector<LayerTime>& times) {
  const std::vector<double> shares = shares_of(unit, program);
  for (std::size_t i = 0; i < unit.nodes.size(); ++i) {
    const Node& node = program.node(unit.nodes[i]);
    LayerTime& time = node.layer < 0 ? times.back() : times[node.layer];
    double& phase = node.phase == Phase::Forward    ? time.forward
                    : node.phase == Phase::Gradient ? time.gradient
                                                    : time.update;
    phase += seconds * shares[i];
  }
}

}  // namespace

void Execution::wait() const { state_->wait(); }

bool Execution::wait_for(std::chrono::duration<double> timeout) const {
  return state_->wait_for(timeout.count());
}

bool Execution::done() const { return state_->is_done(); }

std::exception_ptr Execution::exception() const { return state_->error(); }

ExecutionResult Execution::result() const {
  state_->wait();
  return ExecutionResult(state_);
}

void Execution::add_done_callback(
    std::function<void(const Execution&)> callback) const {
  Callbacks callbacks;
  add_callback(callbacks, [callback = std::move(callback), execution = *this] {
    callback(execution);
  });
  state_->add_callbacks(std::move(callbacks));
}

std::optional<OutputView> ExecutionResult::result() const {
  return state_->result;
}

bool ExecutionResult::has_loss() const {
  return state_->has_loss &&
         state_->result->descriptor.shape.num_elements() == 1;
}

float ExecutionResult::loss() const {
  if (has_loss()) {
    float loss = 0;
    std::memcpy(&loss, state_->result->data.data(), sizeof(loss));
    return loss;
  }
  throw StateError(ErrorInfo{
      .op = "loss",
      .what = "this execution computed no scalar loss",
      .expected = "a forward pass with labels and a Sum or Mean reduction",
      .hint = "Read result() instead."});
}

std::span<const OutputView> ExecutionResult::outputs() const {
  return state_->outputs;
}

const OutputView& ExecutionResult::output(std::string_view name) const {
  std::string known;
  for (const OutputView& output : state_->outputs) {
    if (output.name == name) return output;
    known += (known.empty() ? "\"" : ", \"") + std::string(output.name) + "\"";
  }
  throw InvalidArgument(ErrorInfo{
      .op = "output",
      .node = std::string(name),
      .what = "there is no such output",
      .expected = known.empty() ? "nothing: no outputs are declared" : known,
      .got = "\"" + std::string(name) + "\""});
}

double ExecutionResult::execution_time() const { return state_->seconds; }

std::vector<LayerTime> ExecutionResult::layer_times() const {
  if (state_->unit_times.empty()) return {};
  const CompiledProgram& compiled =
      state_->specialization->compilation.program(plan_of(state_->segment));
  const auto& units = state_->bound->units;
  std::vector<LayerTime> times(compiled.assembled.records.size() + 1);
  for (std::size_t i = 0; i < compiled.assembled.records.size(); ++i) {
    times[i].layer = compiled.assembled.records[i].layer->label();
  }
  times.back().layer = "other";
  for (std::size_t i = 0; i < units.size(); ++i) {
    divide(state_->unit_times[i], compiled.lowered.units[units[i]],
           compiled.assembled.program, times);
  }
  return times;
}

}  // namespace traingraph
