// SPDX-License-Identifier: MIT
#include "runtime/execution/cancel_scope.h"

#include <atomic>

#include "traingraph/interrupt.h"

namespace traingraph {
namespace {

std::atomic<std::uint64_t> g_num_enqueued{0};
std::atomic<std::uint64_t> g_num_dropped{0};  // all up to this one
thread_local int t_num_scopes = 0;

}  // namespace

CancelScope::CancelScope() noexcept { ++t_num_scopes; }
CancelScope::~CancelScope() { --t_num_scopes; }
void CancelScope::cancel_waiting() noexcept {
  g_num_dropped = g_num_enqueued.load();
}

std::uint64_t next_in_cancel_scope() noexcept {
  return t_num_scopes > 0 ? g_num_enqueued.fetch_add(1) + 1 : 0;
}

bool is_cancelled_by_scope(std::uint64_t number) noexcept {
  return number != 0 && number <= g_num_dropped.load();
}

}  // namespace traingraph
