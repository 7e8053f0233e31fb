// SPDX-License-Identifier: MIT
// Results and gradients that tensors read from the plan that ran last.
#include "graph/tensor_state.h"
#include "runtime/session/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Where a readable result is depends on which plan ran last.
struct PlanStorage final : DeviceStorage {
  PlanStorage(Session& session, const Tensor& of)
      : DeviceStorage(session.placement.context(),
                      of.descriptor().size_bytes()),
        session(session.weak_from_this()),
        of(of.state().get()),
        whole(of.shape()) {}

  /// Throws StateError when the graph is gone or has not run.
  void visit(const std::function<void(const DeviceBytes&)>& action) override;
  /// Its value is computed by executions, never set by the user.
  bool holds_value() const override { return false; }
  bool has_value() const override;

  ValueId find(const Session& owner, const Assembled& assembled) const;

  std::weak_ptr<Session> session;
  const TensorState* of;
  Shape whole;  // at the compiled batch
  /// Where this is set, the gradient of the tensor is meant.
  std::shared_ptr<TensorState> gradient_of;
};

ValueId PlanStorage::find(const Session& owner, const Assembled& a) const {
  const ValueId value = a.find(owner.objects.find(of));
  if (!gradient_of || value == kNoValue) return value;
  const auto it = a.gradient_of.find(value);
  return it == a.gradient_of.end() ? kNoValue : it->second;
}

bool PlanStorage::has_value() const {
  const auto owner = session.lock();
  if (!owner) return false;
  std::scoped_lock lock(owner->mutex);
  return owner->executor.phases().last() != nullptr;
}

void PlanStorage::visit(const std::function<void(const DeviceBytes&)>& action) {
  const auto owner = session.lock();
  if (!owner) {
    throw StateError(ErrorInfo{.op = "synchronize_data",
                               .what = "the graph that computed the tensor is "
                                       "gone"});
  }
  std::scoped_lock lock(owner->mutex);
  const auto& last = owner->executor.phases().last();
  if (!last) {
    throw StateError(
        ErrorInfo{.op = "synchronize_data",
                  .what = "the graph has not run, so there is no result"});
  }
  const PlanKind kind = plan_of(last->entry_point);
  const Compilation& compilation = last->specialization->compilation;
  const CompiledProgram& compiled = compilation.program(kind);
  const ValueId value = find(*owner, compiled.assembled);
  const StorageId storage =
      value == kNoValue ? -1 : compiled.lowered.storage_of[value];
  if (storage < 0) {
    throw StateError(
        ErrorInfo{.op = "synchronize_data",
                  .what = "the last execution did not compute this tensor"});
  }
  const Placement& placement = owner->placement;
  const TensorDescriptor& desc = compiled.assembled.program.desc(value);
  const bool is_smaller = desc.shape != whole;
  action({placement.locate(compiled, compilation.plan(kind), kind, storage),
          desc.size_bytes(), placement.arena(kind)->buffer(), last,
          is_smaller ? std::optional(desc.shape) : std::nullopt});
}

/// When several graphs do, the tensor reads the results of the one that was
/// compiled last.
void make_readable(Session& session, const Tensor& tensor) {
  auto storage = std::make_shared<PlanStorage>(session, tensor);
  std::scoped_lock lock(tensor.state()->mutex);
  tensor.state()->device = std::move(storage);
}

void add_gradient(Session& session, const Tensor& of) {
  auto storage = std::make_shared<PlanStorage>(session, of);
  storage->gradient_of = of.state();
  const Tensor gradient(of.descriptor(), "gradient of " + of.name());
  gradient.state()->is_result = true;
  gradient.state()->device = std::move(storage);
  session.gradient_tensors.emplace(of.state().get(), gradient);
}

}  // namespace

void create_readable_tensors(Session& session) {
  session.gradient_tensors.clear();
  const Compilation& compilation = session.main();
  const MergedGraph& graph = *compilation.graph;
  const Assembled& main = compilation.programs().front()->assembled;
  const auto& tensors = session.objects.tensors;
  for (const auto& [name, tensor] : graph.outputs) {
    const ValueId value = main.find(tensor);
    const bool is_result = main.program.value(value).role == Role::Result;
    if (is_result) make_readable(session, tensors[tensor]);
  }
  for (const auto& [tensor, gradient] : main.input_gradients) {
    add_gradient(session, tensors[tensor]);
  }
  for (TensorIndex tensor : debugged_results(graph)) {
    make_readable(session, tensors[tensor]);
    const bool has_gradient = main.gradient_of.contains(main.find(tensor));
    if (has_gradient) add_gradient(session, tensors[tensor]);
  }
}

}  // namespace traingraph
