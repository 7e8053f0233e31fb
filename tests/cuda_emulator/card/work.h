// SPDX-License-Identifier: MIT
// What a stream runs at once: one operation, or the nodes of a graph. Blocks of
// all nodes whose predecessors are over run in a random order.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "card/block.h"

namespace cuda_emulator {

/// A module's code, loaded.
class LoadedModule {
 public:
  /// Null when `image` is no code of the emulated NVRTC.
  static std::shared_ptr<LoadedModule> load(const void* image);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  const Module& content() const { return *module_; }

  bool is_unloaded = false;  // as its user said

 private:
  LoadedModule() = default;
  void* handle_ = nullptr;
  const Module* module_ = nullptr;
};

/// Copies of what a kernel is called with.
class Parameters {
 public:
  Parameters(const Kernel& kernel, void** values);
  void** addresses() const { return addresses_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::unique_ptr<void*[]> addresses_;
};

struct KernelCall {
  std::shared_ptr<LoadedModule> module;
  const Kernel* kernel = nullptr;
  Index3 grid = {1, 1, 1}, block = {1, 1, 1};
  unsigned shared_bytes = 0;
  std::shared_ptr<const Parameters> parameters;
};

struct Node {
  std::optional<KernelCall> kernel;
  std::function<void()> other;  // than a kernel
  std::vector<int> followers;
  int num_before = 0;
  bool must_wait = false;  // an edge to it is programmatic
};

/// Runs them all, or up to a fault. `damage` says of what was written where
/// nothing is.
std::optional<Fault> run(const std::vector<Node>& nodes,
                         const std::function<std::string()>& damage);

}  // namespace cuda_emulator
