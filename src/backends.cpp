// SPDX-License-Identifier: MIT
// Composition root: the only file that names concrete backends.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "cpu/cpu_context.h"
#include "cpu/processors.h"
#if defined(__linux__)
#include "cuda/cuda_context.h"
#endif
#include "metal/metal_backend.h"
#include "runtime/device/backend.h"
#include "runtime/device/device_wait.h"
#include "runtime/device/null_backend.h"
#include "runtime/device/verifying_context.h"

namespace traingraph {
namespace {

/// All contexts that are alive, in the order in which they were made.
struct Alive {
  std::mutex mutex;
  std::vector<std::weak_ptr<DeviceContext>> contexts;
};

Alive& alive() {
  static auto* alive = new Alive;
  return *alive;
}

/// The newest first: verifying contexts are newer than those they run on.
std::vector<std::shared_ptr<DeviceContext>> all_contexts() {
  Alive& all = alive();
  std::scoped_lock lock(all.mutex);
  std::vector<std::shared_ptr<DeviceContext>> contexts;
  for (const auto& weak : all.contexts) {
    if (auto context = weak.lock()) contexts.push_back(std::move(context));
  }
  std::ranges::reverse(contexts);
  return contexts;
}

/// Work in flight is finished; callbacks cannot prolong it.
void drain_at_exit() {
  if (has_lost_device_threads()) return;
  note_exit();
  for (const auto& context : all_contexts()) {
    context->drain();
    context->close();
  }
}

/// Objects of the main thread die before all static ones, oneDNN's included,
/// which are made at first use and may thus die before our exit handler runs.
struct DrainAtExit {
  ~DrainAtExit() {
    if (is_main_thread()) drain_at_exit();
  }

 private:
  static bool is_main_thread() {
#if defined(__APPLE__)
    return pthread_main_np() != 0;
#else
    return getpid() == gettid();
#endif
  }
};

void drain_this_at_exit() { thread_local const DrainAtExit drain; }

std::shared_ptr<DeviceContext> noted(std::shared_ptr<DeviceContext> context) {
  if (!context) return context;
  static const int registered = std::atexit(drain_at_exit);
  static_cast<void>(registered);
  Alive& all = alive();
  std::scoped_lock lock(all.mutex);
  std::erase_if(all.contexts, [](const auto& weak) { return weak.expired(); });
  all.contexts.push_back(context);
  return context;
}

/// Contexts are never destroyed. Work that is in flight when the process exits
/// is finished first.
template <std::shared_ptr<DeviceContext> (*make)()>
const std::shared_ptr<DeviceContext>& process_wide() {
  static const auto* context =
      new std::shared_ptr<DeviceContext>(noted(make()));
  return *context;
}

/// A card of NVIDIA's where one can be used, else a GPU of Apple's.
std::shared_ptr<DeviceContext> make_gpu_context(std::size_t index) {
#if defined(__linux__)
  if (cuda::unavailable_reason().empty()) {
    const bool is_there = index < cuda::card_names().size();
    return is_there ? cuda::make_context(index) : nullptr;
  }
#endif
  return index == 0 ? metal::make_context() : nullptr;
}

/// GPUs by their number. Never destroyed.
struct Gpus {
  std::mutex mutex;
  std::map<std::size_t, std::shared_ptr<DeviceContext>> contexts;
};

Gpus& gpus() {
  static auto* gpus = new Gpus;
  return *gpus;
}

/// Empty where there is a GPU.
std::string unavailable_gpu_reason() {
  const std::string reason = metal::unavailable_reason();
#if defined(__linux__)
  if (!reason.empty() && !cuda::is_turned_off()) {
    return cuda::unavailable_reason();
  }
#endif
  return reason;
}

/// The CPU by its number of threads. Never destroyed.
struct Processors {
  std::mutex mutex;
  int num_threads = 0;  // 0: not known yet
  std::map<int, std::shared_ptr<DeviceContext>> contexts;

  int current() {
    if (num_threads == 0) num_threads = cpu::default_num_threads();
    return num_threads;
  }
};

Processors& processors() {
  static auto* processors = new Processors;
  return *processors;
}

std::shared_ptr<DeviceContext> find_cpu_context() {
  Processors& all = processors();
  std::scoped_lock lock(all.mutex);
  const int count = all.current();
  const auto known = all.contexts.find(count);
  if (known != all.contexts.end()) return known->second;
  auto made = noted(cpu::make_context(count));
  return all.contexts.emplace(count, std::move(made)).first->second;
}

/// Devices that verify others, by both and the tolerance. Never destroyed.
struct Watchers {
  using Key = std::tuple<DeviceContext*, DeviceContext*, double>;
  std::mutex mutex;
  std::map<Key, std::shared_ptr<DeviceContext>> contexts;
};

Watchers& watchers() {
  static auto* watchers = new Watchers;
  return *watchers;
}

}  // namespace

std::shared_ptr<DeviceContext> find_device_context(DeviceType type) {
  require_device_threads();
  drain_this_at_exit();
  switch (type) {
    case DeviceType::CPU:
      return find_cpu_context();
    case DeviceType::GPU:
      return find_gpu_context(0);
    case DeviceType::Null:
      return process_wide<make_null_context>();
    default:
      return nullptr;
  }
}

std::shared_ptr<DeviceContext> find_gpu_context(std::size_t index) {
  require_device_threads();
  drain_this_at_exit();
  Gpus& all = gpus();
  std::scoped_lock lock(all.mutex);
  const auto known = all.contexts.find(index);
  if (known != all.contexts.end()) return known->second;
  auto made = noted(make_gpu_context(index));
  return all.contexts.emplace(index, std::move(made)).first->second;
}

std::shared_ptr<DeviceContext> make_cpu_context(int num_threads) {
  require_device_threads();
  drain_this_at_exit();
  return noted(cpu::make_ending_context(num_threads));
}

int num_cpu_threads() {
  Processors& all = processors();
  std::scoped_lock lock(all.mutex);
  return all.current();
}

void set_num_cpu_threads(int count) {
  Processors& all = processors();
  std::scoped_lock lock(all.mutex);
  all.num_threads = count;
}

std::shared_ptr<DeviceContext> find_verifying_context(
    const std::shared_ptr<DeviceContext>& device,
    const std::shared_ptr<DeviceContext>& reference, double tolerance) {
  Watchers& all = watchers();
  std::scoped_lock lock(all.mutex);
  const Watchers::Key key{device.get(), reference.get(), tolerance};
  const auto known = all.contexts.find(key);
  if (known != all.contexts.end()) return known->second;
  auto made = noted(make_verifying_context(device, reference, tolerance));
  return all.contexts.emplace(key, std::move(made)).first->second;
}

void drain_with_watchers(DeviceContext& context) {
  std::vector<std::shared_ptr<DeviceContext>> watching;
  {
    Watchers& all = watchers();
    std::scoped_lock lock(all.mutex);
    for (const auto& [key, watcher] : all.contexts) {
      if (&watcher->device() == &context) watching.push_back(watcher);
    }
  }
  for (const auto& watcher : watching) watcher->drain();
  context.drain();
}

void drain_all() {
  for (const auto& context : all_contexts()) context->drain();
}

std::string unavailable_reason(DeviceType type) {
  if (has_lost_device_threads()) return reason_lost_device_threads();
  switch (type) {
    case DeviceType::CPU:
    case DeviceType::Null:
      return {};
    case DeviceType::GPU:
      return unavailable_gpu_reason();
    case DeviceType::ANE:
      return "the Neural Engine cannot train, and this library does not use it";
    default:
      return "no such device";
  }
}

}  // namespace traingraph
