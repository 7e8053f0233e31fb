// SPDX-License-Identifier: MIT
#include "runtime/plans/plan_cache.h"

#include <algorithm>

#include "compiler/host_bytes.h"
#include "traingraph/error.h"

namespace traingraph {

void require_compiled(const PlanCache* plan_cache, const char* call) {
  if (plan_cache) return;
  throw StateError(ErrorInfo{.op = call,
                             .what = "the graph is not compiled",
                             .hint = "Call compile() first."});
}

PlanCache::PlanCache(std::shared_ptr<const MergedGraph> graph,
                     std::shared_ptr<DeviceContext> context,
                     CompilerOptions options)
    : graph_(std::move(graph)),
      context_(std::move(context)),
      options_(std::move(options)),
      main_(std::make_shared<Specialization>()) {
  main_->compilation =
      compile_graph(graph_, context_->target(), options_, graph_->batch);
  counts_.limit_bytes = options_.batch_plans_bytes;
}

std::shared_ptr<Specialization> PlanCache::find(std::int64_t batch,
                                                PlanKind kind) {
  if (batch == graph_->batch) return main_;
  const auto it = smaller_.find({batch, kind});
  if (it == smaller_.end()) return nullptr;
  it->second->last_use = ++uses_;
  return it->second;
}

std::shared_ptr<Specialization> PlanCache::add(std::int64_t batch,
                                               PlanKind kind) {
  auto made = std::make_shared<Specialization>();
  made->compilation = compile_batch(graph_, context_->target(), options_, batch,
                                    kind, &main_->compilation);
  made->bytes = host_bytes(made->compilation);
  made->last_use = ++uses_;
  make_room(made->bytes);
  counts_.sizes += has(batch) ? 0 : 1;
  counts_.bytes += made->bytes;
  smaller_[{batch, kind}] = made;
  return made;
}

/// What is larger than all the room there is has it alone.
void PlanCache::make_room(std::size_t bytes) {
  while (!smaller_.empty() && counts_.bytes + bytes > counts_.limit_bytes) {
    const auto oldest = std::ranges::min_element(
        smaller_, {}, [](const auto& entry) { return entry.second->last_use; });
    const Key key = oldest->first;
    counts_.bytes -= oldest->second->bytes;
    smaller_.erase(oldest);
    evicted_.insert(key);
    ++counts_.evictions;
    counts_.sizes -= has(key.first) ? 0 : 1;
  }
}

bool PlanCache::counts_as_compile(std::int64_t batch, PlanKind kind) const {
  return !has(batch) || evicted_.contains({batch, kind});
}

bool PlanCache::has(std::int64_t batch) const {
  const auto it = smaller_.lower_bound({batch, PlanKind{}});
  return it != smaller_.end() && it->first.first == batch;
}

void PlanCache::forget_bindings() {
  const auto forget = [](Specialization& specialization) {
    for (auto& entry_point : specialization.entry_points) entry_point.reset();
  };
  forget(*main_);
  for (const auto& entry : smaller_) forget(*entry.second);
}

}  // namespace traingraph
