// SPDX-License-Identifier: MIT
#include "traingraph/execution.h"

#include <algorithm>

#include "compiler/insight.h"
#include "runtime/execution/execution_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// The nodes of a unit share its time by what they are estimated to cost.
void divide(double seconds, const Unit& unit, const Program& program,
            const ReportRows& rows, std::vector<LayerTime>& times) {
  const std::vector<double> shares = shares_of(unit, program);
  for (std::size_t i = 0; i < unit.nodes.size(); ++i) {
    const Node& node = program.node(unit.nodes[i]);
    LayerTime& time = times[rows.of(unit.nodes[i])];
    double& phase = node.phase == Phase::Forward    ? time.forward
                    : node.phase == Phase::Gradient ? time.gradient
                                                    : time.update;
    phase += seconds * shares[i];
  }
}

const OutputView& find(const std::vector<OutputView>& views, const char* what,
                       std::string_view name) {
  const auto found = std::ranges::find(views, name, &OutputView::name);
  if (found != views.end()) return *found;
  std::string known;
  for (const OutputView& view : views) {
    known += (known.empty() ? "\"" : ", \"") + std::string(view.name) + "\"";
  }
  throw InvalidArgument(ErrorInfo{
      .op = what,
      .node = std::string(name),
      .what = std::string("there is no such ") + what,
      .expected =
          known.empty() ? std::string("nothing: there is no ") + what : known,
      .got = "\"" + std::string(name) + "\""});
}

/// The state's own views do not own it, for it would never end.
std::vector<OutputView> owned(std::vector<OutputView> views,
                              const std::shared_ptr<ExecutionState>& state) {
  for (OutputView& view : views) view.owner = state;
  return views;
}

}  // namespace

const std::shared_ptr<ExecutionState>& Execution::state() const {
  if (state_) return state_;
  throw StateError(ErrorInfo{.op = "Execution",
                             .node = {},
                             .what = "nothing was enqueued",
                             .expected = "what an execute call returned",
                             .got = "an empty Execution",
                             .hint = "valid() tells."});
}

void Execution::wait() const { state()->wait(); }

bool Execution::wait_for(std::chrono::duration<double> timeout) const {
  return state()->wait_for(timeout.count());
}

bool Execution::done() const { return state()->is_done(); }

bool Execution::cancel() const { return state()->cancel(); }

bool Execution::cancelled() const { return state()->is_dropped(); }

std::exception_ptr Execution::exception() const { return state()->error(); }

ExecutionResult Execution::result() const {
  state()->wait();
  return ExecutionResult(state_);
}

void Execution::add_done_callback(
    std::function<void(const Execution&)> callback) const {
  Callbacks callbacks;
  add_callback(callbacks, [callback = std::move(callback), execution = *this] {
    callback(execution);
  });
  state()->add_callbacks(std::move(callbacks));
}

std::optional<OutputView> ExecutionResult::result() const {
  std::optional<OutputView> result = state_->result;
  if (result) result->owner = state_;
  return result;
}

bool ExecutionResult::has_loss() const {
  return !state_->losses.empty() &&
         std::ranges::all_of(state_->losses, is_number);
}

float ExecutionResult::loss() const {
  if (has_loss()) return number(*state_->result);
  const auto& losses = state_->losses;
  const auto unreduced = std::ranges::find_if_not(losses, is_number);
  throw StateError(ErrorInfo{
      .op = "loss",
      .node = unreduced == losses.end() ? "" : std::string(unreduced->name),
      .what = "this execution computed no scalar loss",
      .expected = "a forward pass with labels and a Sum or Mean reduction",
      .got = unreduced == losses.end()
                 ? "no loss"
                 : "element losses " + unreduced->descriptor.to_string(),
      .hint = "Read result() or losses() instead."});
}

std::span<const std::byte> OutputView::data_as(DataType type,
                                               const char* call) const {
  if (descriptor.data_type == type) return data;
  const auto wanted = std::string(to_string(type));
  throw DTypeError(ErrorInfo{.op = call,
                             .node = std::string(name),
                             .what = "the output is not " + wanted,
                             .expected = wanted,
                             .got = descriptor.to_string(),
                             .hint = "Use values() of its type, or its bytes, "
                                     "data."});
}

std::span<const float> OutputView::floats() const {
  const auto bytes = data_as(DataType::Float32, "floats");
  return {reinterpret_cast<const float*>(bytes.data()),
          bytes.size() / sizeof(float)};
}

std::vector<OutputView> ExecutionResult::losses() const {
  return owned(state_->losses, state_);
}

float ExecutionResult::loss(std::string_view name) const {
  const OutputView& loss = find(state_->losses, "loss", name);
  if (is_number(loss)) return number(loss);
  throw StateError(
      ErrorInfo{.op = "loss",
                .node = std::string(name),
                .what = "the loss is not one number",
                .expected = "a Sum or Mean reduction",
                .got = "element losses " + loss.descriptor.to_string(),
                .hint = "Read losses() instead."});
}

std::vector<OutputView> ExecutionResult::outputs() const {
  return owned(state_->outputs, state_);
}

OutputView ExecutionResult::output(std::string_view name) const {
  OutputView output = find(state_->outputs, "output", name);
  output.owner = state_;
  return output;
}

double ExecutionResult::execution_time() const { return state_->seconds; }

std::vector<LayerTime> ExecutionResult::layer_times() const {
  if (!state_->unit_times) return {};
  const Compilation& compilation = state_->specialization->compilation;
  const CompiledProgram& compiled =
      compilation.program(plan_of(state_->entry_point));
  const Program& program = compiled.assembled.program;
  const ReportRows rows(*compilation.graph, program);
  const auto& units = state_->bound->units;
  std::vector<LayerTime> times;
  for (const std::string& name : rows.names()) times.push_back({.layer = name});
  for (std::size_t i = 0; i < units.size(); ++i) {
    divide(state_->unit_times->seconds[i], compiled.lowered.units[units[i]],
           program, rows, times);
  }
  return times;
}

}  // namespace traingraph
