// SPDX-License-Identifier: MIT
#include "runtime/execution/accumulation.h"

#include <string>

#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr const char* kCall = call_of(EntryPoint::Gradient);

const char* name_of(GradientAccumulation by) {
  return by == GradientAccumulation::Sum ? "sum" : "mean";
}

void require_accumulators(const MergedGraph& graph) {
  if (!graph.accumulators.empty()) return;
  throw StateError(
      ErrorInfo{.op = kCall,
                .node = "accumulate",
                .what = "the graph has no memory to add gradients up in",
                .expected = "the option accumulate_gradients at compile()"});
}

}  // namespace

void Accumulation::start(const MergedGraph& graph) {
  forget();
  if (graph.trains) losses_ = reduction_of_losses(graph);
}

GradientPass Accumulation::pass(const MergedGraph& graph,
                                GradientAccumulation by, std::int64_t batch,
                                bool is_shared) const {
  GradientPass pass;
  if (by == GradientAccumulation::None) return pass;
  require_accumulators(graph);
  pass.by = resolved(by, losses_, kCall, "accumulate");
  const bool is_mean = pass.by == GradientAccumulation::Mean;
  if (is_mean && is_shared) {
    throw InvalidArgument(ErrorInfo{
        .op = kCall,
        .node = "accumulate",
        .what = "passes of several linked graphs make one gradient, which has "
                "no mean by samples",
        .expected = "\"sum\"",
        .got = "\"mean\"",
        .hint = "Divide by the optimizer's gradient_rescale."});
  }
  if (!last_) return pass;
  if (by_ != GradientAccumulation::None && by_ != pass.by) {
    throw InvalidArgument(
        ErrorInfo{.op = kCall,
                  .node = "accumulate",
                  .what = "the gradients that wait were added up otherwise",
                  .expected = std::string("\"") + name_of(by_) + '"',
                  .got = std::string("\"") + name_of(pass.by) + '"',
                  .hint = "Update first, or begin anew without accumulate."});
  }
  pass.adds_to = last_;
  pass.keep = 1;
  if (is_mean) {
    const auto all = static_cast<double>(samples_ + batch);
    pass.keep = static_cast<float>(static_cast<double>(samples_) / all);
    pass.add = static_cast<float>(static_cast<double>(batch) / all);
  }
  return pass;
}

void Accumulation::commit(
    const Call& call, const std::shared_ptr<ExecutionState>& state) noexcept {
  if (updates(call.entry_point)) forget();
  if (call.entry_point != EntryPoint::Gradient) return;
  samples_ = call.batch + (call.pass.adds_to ? samples_ : 0);
  by_ = call.pass.by;
  last_ = state;
}

}  // namespace traingraph
