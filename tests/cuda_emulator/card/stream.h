// SPDX-License-Identifier: MIT
// Streams: work in order, each on a thread of its own, so that whoever does not
// wait for it is too early.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "card/work.h"

namespace cuda_emulator {

struct Graph;

/// Of a piece of work: when it was over.
struct Completion {
  bool is_over = false;
  std::chrono::steady_clock::time_point at;
};
using Over = std::shared_ptr<Completion>;

struct Task {
  std::function<std::optional<Fault>()> run;
  Over after;  // null: what is before it in its stream suffices
  Over over = std::make_shared<Completion>();
};

struct Stream {
  int card = 0;
  std::deque<Task> tasks;
  bool has_thread = false;
  std::condition_variable added;    // a task
  Over last;                        // of all its tasks
  std::shared_ptr<Graph> captured;  // null: it does not capture
  int last_captured = -1;

  bool is_idle() const { return last == nullptr || last->is_over; }
};

}  // namespace cuda_emulator
