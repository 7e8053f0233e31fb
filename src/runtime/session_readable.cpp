// SPDX-License-Identifier: MIT
// Results and gradients that tensors read from the plan that ran last.
#include "graph/tensor_state.h"
#include "runtime/plan_storage.h"
#include "traingraph/error.h"

namespace traingraph {

Tensor Session::readable(TensorDescriptor desc, std::string label,
                         std::function<ValueId(const Assembled&)> find) {
  Tensor tensor(std::move(desc), std::move(label));
  tensor.state()->is_result = true;
  tensor.state()->device =
      std::make_shared<PlanStorage>(context_, tensor.descriptor().size_bytes(),
                                    weak_from_this(), std::move(find));
  return tensor;
}

void Session::create_readable_tensors() {
  gradient_tensors_.clear();
  const Assembled& main = main_->compilation.training
                              ? main_->compilation.training->assembled
                              : main_->compilation.inference.assembled;
  // Of several graphs that make a tensor readable the last to compile wins.
  const auto make_readable = [&](const Tensor& tensor) {
    const std::uint64_t id = tensor.tensor_id();
    auto storage = std::make_shared<PlanStorage>(
        context_, tensor.descriptor().size_bytes(), weak_from_this(),
        [id](const Assembled& a) {
          const auto it = a.value_of.find(id);
          return it == a.value_of.end() ? kNoValue : it->second;
        });
    std::scoped_lock lock(tensor.state()->mutex);
    tensor.state()->device = std::move(storage);
  };
  for (const auto& [name, tensor] : declaration_.outputs) {
    const ValueId value = main.find(tensor);
    if (main.program.value(value).role == Role::Result) make_readable(tensor);
  }
  const auto add_gradient = [&](const Tensor& of) {
    const std::uint64_t id = of.tensor_id();
    gradient_tensors_.emplace(
        id, readable(of.descriptor(), "gradient of " + of.label(),
                     [id](const Assembled& a) {
                       const auto value = a.value_of.find(id);
                       if (value == a.value_of.end()) return kNoValue;
                       const auto it = a.gradient_of.find(value->second);
                       return it == a.gradient_of.end() ? kNoValue : it->second;
                     }));
  };
  for (const auto& [tensor, gradient] : main.input_gradients) {
    add_gradient(tensor);
  }
  if (!declaration_.debugs_layers) return;
  for (const LayerRecord& record : main.records) {
    if (!record.layer->is_debugging_enabled) continue;
    for (const Tensor& tensor : record.results) {
      make_readable(tensor);
      if (main.gradient_of.contains(main.find(tensor))) add_gradient(tensor);
    }
  }
}

void Session::visit_readable(
    const std::function<ValueId(const Assembled&)>& find,
    const std::function<void(const DeviceBytes&)>& action) {
  std::scoped_lock lock(mutex_);
  if (!last_) {
    throw StateError(
        ErrorInfo{.op = "synchronize_data",
                  .what = "the graph has not run, so there is no result"});
  }
  const PlanKind kind = plan_of(last_->segment);
  const Compilation& compilation = last_->specialization->compilation;
  const CompiledProgram& compiled = compilation.program(kind);
  const ValueId value = find(compiled.assembled);
  const StorageId storage =
      value == kNoValue ? -1 : compiled.lowered.storage_of[value];
  if (storage < 0) {
    throw StateError(
        ErrorInfo{.op = "synchronize_data",
                  .what = "the last execution did not compute this tensor"});
  }
  action({locate(compiled, compilation.plan(kind), arena(kind), storage),
          compiled.assembled.program.desc(value).size_bytes(),
          arena(kind).buffer(), last_});
}

void PlanStorage::visit(const std::function<void(const DeviceBytes&)>& action) {
  const auto alive = session.lock();
  if (!alive) {
    throw StateError(ErrorInfo{.op = "synchronize_data",
                               .what = "the graph that computed the tensor is "
                                       "gone"});
  }
  alive->visit_readable(find, action);
}

}  // namespace traingraph
