// SPDX-License-Identifier: MIT
// Composition root: the only file that names concrete backends.
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "cpu/cpu_context.h"
#include "metal/metal_backend.h"
#include "runtime/backend.h"
#include "runtime/device_wait.h"
#include "runtime/null_backend.h"
#include "runtime/verifying_context.h"

namespace traingraph {
namespace {

/// Work in flight is finished; callbacks cannot prolong it.
void drain_at_exit(DeviceContext& context) {
  if (has_lost_device_threads()) return;
  context.drain();
  context.close();
}

/// Objects of the main thread die before all static ones, oneDNN's included,
/// which are made at first use and may thus die before our exit handler runs.
struct DrainAtExit {
  explicit DrainAtExit(std::shared_ptr<DeviceContext> context)
      : context(std::move(context)) {}
  ~DrainAtExit() {
    if (is_main_thread()) drain_at_exit(*context);
  }
  std::shared_ptr<DeviceContext> context;

 private:
  static bool is_main_thread() {
#if defined(__APPLE__)
    return pthread_main_np() != 0;
#else
    return getpid() == gettid();
#endif
  }
};

/// Contexts are never destroyed. Work that is in flight when the process exits
/// is finished first.
template <std::shared_ptr<DeviceContext> (*make)()>
const std::shared_ptr<DeviceContext>& process_wide() {
  static const auto* context = [] {
    auto* made = new std::shared_ptr<DeviceContext>(make());
    if (*made) std::atexit([] { drain_at_exit(*process_wide<make>()); });
    return made;
  }();
  if (*context) thread_local const DrainAtExit drain(*context);
  return *context;
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
  switch (type) {
    case DeviceType::CPU:
      return process_wide<cpu::make_context>();
    case DeviceType::GPU:
      return process_wide<metal::make_context>();
    case DeviceType::Null:
      return process_wide<make_null_context>();
    default:
      return nullptr;
  }
}

std::shared_ptr<DeviceContext> find_verifying_context(
    const std::shared_ptr<DeviceContext>& device,
    const std::shared_ptr<DeviceContext>& reference, double tolerance) {
  Watchers& all = watchers();
  std::scoped_lock lock(all.mutex);
  const Watchers::Key key{device.get(), reference.get(), tolerance};
  auto known = all.contexts.find(key);
  if (known == all.contexts.end()) {
    auto made = make_verifying_context(device, reference, tolerance);
    known = all.contexts.emplace(key, std::move(made)).first;
  }
  const auto& context = known->second;
  thread_local std::map<const DeviceContext*, DrainAtExit> drains;
  drains.try_emplace(context.get(), context);
  return context;
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

std::string unavailable_reason(DeviceType type) {
  if (has_lost_device_threads()) return reason_lost_device_threads();
  switch (type) {
    case DeviceType::CPU:
    case DeviceType::Null:
      return {};
    case DeviceType::GPU:
      return metal::unavailable_reason();
    case DeviceType::ANE:
      return "the Neural Engine cannot train, and this library does not use it";
    default:
      return "no such device";
  }
}

}  // namespace traingraph
