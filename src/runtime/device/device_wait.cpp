// SPDX-License-Identifier: MIT
#include "runtime/device/device_wait.h"

#include <pthread.h>

#include <atomic>

#include "traingraph/error.h"
#include "traingraph/interrupt.h"

namespace traingraph {
namespace {

std::atomic<InterruptCheck> g_interrupt_check{nullptr};
std::atomic<bool> g_has_device_threads{false};
std::atomic<bool> g_has_lost_them{false};
std::atomic<bool> g_is_exiting{false};

void after_fork_in_child() {
  if (g_has_device_threads.load()) g_has_lost_them = true;
}

}  // namespace

void set_interrupt_check(InterruptCheck check) noexcept {
  g_interrupt_check = check;
}

void check_interrupt() {
  if (const InterruptCheck check = g_interrupt_check.load()) check();
}

void note_exit() noexcept { g_is_exiting = true; }

bool is_exiting() noexcept { return g_is_exiting.load(); }

void note_device_thread() {
  if (g_has_device_threads.exchange(true)) return;
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
}

bool has_lost_device_threads() noexcept { return g_has_lost_them.load(); }

std::string reason_lost_device_threads() {
  if (!has_lost_device_threads()) return {};
  return "this process was forked after traingraph started its device threads";
}

void require_device_threads() {
  if (!has_lost_device_threads()) return;
  throw DeviceError(
      ErrorInfo{.op = "device",
                .what = reason_lost_device_threads(),
                .hint = "Use the \"spawn\" start method, or fork before the "
                        "first device is used."});
}

}  // namespace traingraph
