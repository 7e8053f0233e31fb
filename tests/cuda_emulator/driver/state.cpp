// SPDX-License-Identifier: MIT
#include "driver/state.h"

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "control.h"

namespace cuda_emulator {
namespace {

void run_tasks(const std::shared_ptr<Stream>& stream) {
  State& all = state();
  std::unique_lock lock(all.mutex);
  for (;;) {
    stream->added.wait(lock, [&] { return !stream->tasks.empty(); });
    Task task = std::move(stream->tasks.front());
    stream->tasks.pop_front();
    if (task.after) {
      all.ended.wait(lock, [&] { return task.after->is_over; });
    }
    if (task.run && !all.faults.contains(stream->card)) {
      lock.unlock();
      const std::optional<Fault> fault = task.run();
      task.run = nullptr;
      lock.lock();
      if (fault) {
        std::fprintf(stderr, "cuda_emulator: %s\n", fault->text.c_str());
        all.faults.emplace(stream->card, Result{fault->result});
      }
    }
    task.over->at = std::chrono::steady_clock::now();
    task.over->is_over = true;
    all.ended.notify_all();
  }
}

Result fault_of(int card) {
  const auto found = state().faults.find(card);
  return found == state().faults.end() ? Result::Success : found->second;
}

}  // namespace

State& state() {
  static auto* state = new State;
  return *state;
}

int num_cards() {
  const char* text = std::getenv("TRAINGRAPH_CUDA_EMULATOR_CARDS");
  return text != nullptr ? std::atoi(text) : 1;
}

int& current_card() {
  thread_local int card = -1;
  return card;
}

Call::Call(const char* symbol, Needs needs) : lock_(state().mutex) {
  State& all = state();
  ++all.num_calls[symbol];
  if (const auto told = all.refusals.find(symbol); told != all.refusals.end()) {
    refusal_ = told->second;
    all.refusals.erase(told);
  } else if (needs != kNothing && !all.is_initialized) {
    refusal_ = kNotInitialized;
  } else if (needs == kContext) {
    refusal_ = card() < 0 ? kInvalidContext : fault_of(card());
  }
}

Result Call::wait_for(const Over& over) {
  if (over) state().ended.wait(lock_, [&] { return over->is_over; });
  return fault_of(card());
}

Result Call::wait_for_all() {
  std::vector<Over> last;
  for (const auto& [handle, stream] : state().streams) {
    if (stream->card == card()) last.push_back(stream->last);
  }
  for (const Over& over : last) wait_for(over);
  return fault_of(card());
}

void submit(const std::shared_ptr<Stream>& stream, Task task) {
  stream->last = task.over;
  stream->tasks.push_back(std::move(task));
  if (!stream->has_thread) {
    stream->has_thread = true;
    std::thread(run_tasks, stream).detach();
  }
  stream->added.notify_one();
}

Result submit_node(const std::shared_ptr<Stream>& stream, Node node,
                   int end_as) {
  if (stream->captured) {
    const int before = stream->last_captured;
    stream->last_captured =
        stream->captured->add(std::move(node), Handles<Graph>::new_handle());
    if (before >= 0) {
      stream->captured->connect(before, stream->last_captured, false);
    }
    return Result::Success;
  }
  auto nodes = std::make_shared<std::vector<Node>>();
  nodes->push_back(std::move(node));
  submit(stream, {.run = runner(std::move(nodes), end_as), .after = nullptr});
  return Result::Success;
}

std::function<std::optional<Fault>()> runner(
    std::shared_ptr<const std::vector<Node>> nodes, int end_as) {
  return [nodes = std::move(nodes), end_as]() -> std::optional<Fault> {
    if (end_as != 0) return Fault{end_as, "a launch fails, as a test asks"};
    return run(*nodes, [] {
      std::scoped_lock lock(state().mutex);
      return state().memory.take_damage();
    });
  };
}

int take_next_launch_fault() {
  return std::exchange(state().next_launch_fault, 0);
}

}  // namespace cuda_emulator

using cuda_emulator::state;

void cuda_emulator_fail_next_launch(int result) {
  std::scoped_lock lock(state().mutex);
  state().next_launch_fault = result;
}

void cuda_emulator_refuse_next(const char* symbol, int result) {
  std::scoped_lock lock(state().mutex);
  state().refusals[symbol] = cuda_emulator::Result{result};
}

long cuda_emulator_num_calls(const char* symbol) {
  std::scoped_lock lock(state().mutex);
  return state().num_calls[symbol];
}

void cuda_emulator_recover() {
  std::scoped_lock lock(state().mutex);
  state().faults.clear();
}
