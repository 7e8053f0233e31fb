// SPDX-License-Identifier: MIT
// Handles of the C interface. The process knows those that live, so that one
// that was released, or is no handle, is an error and never read.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "traingraph/c.h"
#include "traingraph/training_graph.h"

namespace traingraph::c {

/// The C interface sees through this what a graph declares.
class TrainingAccess final : public TrainingGraph {
 public:
  explicit TrainingAccess(TrainingGraph graph)
      : TrainingGraph(std::move(graph)) {}
  const Session& session() const { return *session_; }
};
class InferenceAccess final : public InferenceGraph {
 public:
  explicit InferenceAccess(InferenceGraph graph)
      : InferenceGraph(std::move(graph)) {}
  const Session& session() const { return *session_; }
};

struct GraphHandle {
  std::optional<TrainingAccess> training;
  std::optional<InferenceAccess> inference;
  /// Names and descriptors by tg_kind; fixed when it is loaded.
  std::vector<std::vector<StateTensor>> tensors;

  CompiledGraph& any() {
    if (training) return *training;
    return *inference;
  }
  /// Throws UnsupportedError.
  TrainingGraph& trained(const char* call);
};

struct ExecutionHandle {
  Execution execution;
};

template <class Object>
class Handles {
 public:
  /// The address is the handle.
  void* add(std::shared_ptr<Object> object) {
    const std::scoped_lock lock(mutex_);
    void* const handle = object.get();
    live_.emplace(handle, std::move(object));
    return handle;
  }
  /// Returns null when it is not there.
  std::shared_ptr<Object> find(const void* handle) {
    const std::scoped_lock lock(mutex_);
    const auto it = live_.find(handle);
    return it == live_.end() ? nullptr : it->second;
  }
  std::shared_ptr<Object> take(const void* handle) {
    const std::scoped_lock lock(mutex_);
    const auto it = live_.find(handle);
    if (it == live_.end()) return nullptr;
    auto object = std::move(it->second);
    live_.erase(it);
    return object;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<Object>> live_;
};

Handles<GraphHandle>& graphs();
Handles<ExecutionHandle>& executions();

/// Throw InvalidArgument for what is no living handle of this kind.
std::shared_ptr<GraphHandle> graph_of(const char* call, const tg_graph* graph);
std::shared_ptr<ExecutionHandle> execution_of(const char* call,
                                              const tg_execution* execution);

}  // namespace traingraph::c
