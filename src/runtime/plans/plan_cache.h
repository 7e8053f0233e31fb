// SPDX-License-Identifier: MIT
// PlanCache: the compilations of one graph, for the compiled batch size and for
// the smaller ones that ran last, as many as there is memory for, each bound to
// addresses piece by piece as its entry points are first run.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "runtime/device/device_context.h"
#include "runtime/plans/entry_point.h"
#include "traingraph/insight.h"

namespace traingraph {

struct BoundEntryPoint;  // execution/bind.h

/// The compiled batch size, or one kind of plan for a smaller one.
struct Specialization {
  Compilation compilation;
  std::array<std::shared_ptr<BoundEntryPoint>, kNumEntryPoints> entry_points;
  std::size_t bytes = 0;  // of the host, as estimated
  std::uint64_t last_use = 0;
};

class PlanCache;
/// Throws StateError when there are none yet.
void require_compiled(const PlanCache* plan_cache, const char* call);

class PlanCache {
 public:
  /// Compiles the declared batch size. Throws as compile_graph() does.
  PlanCache(std::shared_ptr<const MergedGraph> graph,
            std::shared_ptr<DeviceContext> context, CompilerOptions options);

  const MergedGraph& graph() const { return *graph_; }
  const CompilerOptions& options() const { return options_; }
  /// Of the compiled batch size; it is always there.
  const std::shared_ptr<Specialization>& main() const { return main_; }
  /// Null when it is not there (any more).
  std::shared_ptr<Specialization> find(std::int64_t batch, PlanKind kind);
  /// Those used longest ago make room.
  std::shared_ptr<Specialization> add(std::int64_t batch, PlanKind kind);
  /// For compile_count: a size without any plan, or a plan that was there once.
  bool counts_as_compile(std::int64_t batch, PlanKind kind) const;
  void forget_bindings();
  /// Of smaller batches than the compiled one.
  const BatchPlans& counts() const { return counts_; }

 private:
  using Key = std::pair<std::int64_t, PlanKind>;
  void make_room(std::size_t bytes);
  bool has(std::int64_t batch) const;

  std::shared_ptr<const MergedGraph> graph_;
  std::shared_ptr<DeviceContext> context_;
  CompilerOptions options_;
  std::shared_ptr<Specialization> main_;
  std::map<Key, std::shared_ptr<Specialization>> smaller_;
  std::set<Key> evicted_;  // at any time
  BatchPlans counts_;
  std::uint64_t uses_ = 0;
};

}  // namespace traingraph
