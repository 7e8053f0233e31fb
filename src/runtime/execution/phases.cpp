// SPDX-License-Identifier: MIT
// The four calls: which may follow which, and what a call without data is.
#include <algorithm>
#include <utility>

#include "runtime/execution/executor.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr const char* kStepCall = call_of(EntryPoint::Step);
constexpr const char* kForwardCall = call_of(EntryPoint::Forward);
constexpr const char* kGradientCall = call_of(EntryPoint::Gradient);
constexpr const char* kUpdateCall = call_of(EntryPoint::Update);

void require_no_inference(const char* call, const ExecuteOptions& options) {
  if (!options.forward_for_inference) return;
  throw InvalidArgument(ErrorInfo{
      .op = call, .what = "forward_for_inference concerns forward passes"});
}

/// Options of a pass that goes on with what a forward pass has begun.
ExecuteOptions with_batch_of_forward(const char* call,
                                     const ExecuteOptions& options,
                                     std::int64_t batch) {
  if (options.batch_size != 0 && options.batch_size != batch) {
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .what = "the batch size differs from the forward pass's",
                  .expected = std::to_string(batch),
                  .got = std::to_string(options.batch_size)});
  }
  ExecuteOptions same = options;
  same.batch_size = batch;
  return same;
}

}  // namespace

Execution Executor::execute(const CallData& data,
                            const ExecuteOptions& options) {
  InFlightPermit permit(parts_);
  require_device(kStepCall);
  Call call{kStepCall, EntryPoint::Step, data, nullptr};
  if (options.forward_for_inference || !trains()) {
    call.entry_point =
        inference_entry_point(data, options.skip_writing_input_data_to_device);
  } else {
    require_seed(kStepCall);
  }
  return enqueue(std::move(call), options, permit);
}

Execution Executor::execute_forward(const CallData& data,
                                    const ExecuteOptions& options) {
  InFlightPermit permit(parts_);
  require_device(kForwardCall);
  Call call{kForwardCall, EntryPoint::Forward, data, nullptr};
  if (options.forward_for_inference) {
    call.entry_point =
        inference_entry_point(data, options.skip_writing_input_data_to_device);
  }
  return enqueue(std::move(call), options, permit);
}

Execution Executor::execute_gradient(const ExecuteOptions& options) {
  InFlightPermit permit(parts_);
  require_device(kGradientCall);
  require_no_inference(kGradientCall, options);
  if (!phases_.has_forward()) {
    throw StateError(ErrorInfo{
        .op = kGradientCall,
        .what = "there is no forward pass to differentiate",
        .expected = "execute_forward before each execute_gradient",
        .hint = "A forward pass in inference form, execute() and a gradient "
                "pass use the last one up."});
  }
  require_seed(kGradientCall);
  const ExecuteOptions same =
      with_batch_of_forward(kGradientCall, options, phases_.batch());
  Call call{kGradientCall, EntryPoint::Gradient, {}, phases_.last_phase()};
  call.pass =
      accumulation_.pass(parts_.plan_cache->graph(), options.accumulate,
                         phases_.batch(), parts_.link.shares_gradients());
  return enqueue(std::move(call), same, permit);
}

Execution Executor::execute_update(const ExecuteOptions& options) {
  InFlightPermit permit(parts_);
  require_device(kUpdateCall);
  require_no_inference(kUpdateCall, options);
  if (!parts_.objects.optimizer) {
    throw StateError(ErrorInfo{.op = kUpdateCall,
                               .what = "the graph has no optimizer",
                               .hint = "Call compile_optimizer() first."});
  }
  if (!phases_.has_gradient()) {
    throw StateError(
        ErrorInfo{.op = kUpdateCall,
                  .what = "there are no gradients to apply",
                  .expected = "execute_gradient before each update"});
  }
  const ExecuteOptions same =
      with_batch_of_forward(kUpdateCall, options, phases_.batch());
  return enqueue({kUpdateCall, EntryPoint::Update, {}, phases_.last_phase()},
                 same, permit);
}

void Executor::require_device(const char* call) const {
  require_compiled(parts_.plan_cache.get(), call);
  parts_.placement.context()->require_not_lost(call);
}

/// Labels may be left out of a call that has data. One without runs on all that
/// is bound, on labels if they all are.
EntryPoint Executor::inference_entry_point(const CallData& data,
                                           bool skips_writing) {
  parts_.inputs.notice_host_data();
  const bool has_labels = !data.labels.empty() || !data.label_weights.empty();
  const bool has_data = !skips_writing && (has_labels || !data.inputs.empty());
  const bool uses_labels =
      has_data ? has_labels : parts_.inputs.has_bound_labels();
  return uses_labels ? EntryPoint::Inference
                     : EntryPoint::InferenceWithoutLabels;
}

void Executor::require_seed(const char* call) const {
  const Compilation& main = parts_.plan_cache->main()->compilation;
  const bool has_user_gradient =
      std::ranges::any_of(main.graph->user_gradients, [&](const auto& user) {
        return !user.is_boundary || parts_.link.is_upstream(user);
      });
  const bool has_loss =
      !main.program(PlanKind::Phases).assembled.losses.empty();
  if (has_loss || has_user_gradient || main.graph->declares_gradients) return;
  throw StateError(ErrorInfo{
      .op = call,
      .what = "nothing starts the gradient",
      .expected = "a loss, or a user gradient",
      .hint = "Give the graph a loss, or call allocate_user_gradient() before "
              "compile()."});
}

}  // namespace traingraph
