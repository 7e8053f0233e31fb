// SPDX-License-Identifier: MIT
#include "emulator/control.h"

#include <condition_variable>
#include <map>
#include <mutex>

#include "device_memory.h"
#include "faults.h"

namespace emulator {
namespace {

/// An event that fails once, after so many that succeed.
class Fault {
 public:
  void arm(int after) { countdown_ = after; }
  bool meets() {
    if (countdown_ < 0) return false;
    return countdown_-- == 0;
  }

 private:
  int countdown_ = -1;
};

struct Faults {
  Fault allocation, compile, command_buffer, encode, library;
  std::map<std::string, Fault> operations;
  std::map<std::string, std::function<void(std::vector<std::vector<double>>&)>>
      corruptions;
  CommandBufferFault command_buffer_fault;
  bool ignores = false, holds = false;
  double delay = 0, compile_delay = 0;
  int group = 1;
  int continue_every = 2, continue_times = 2;
  bool is_silent = false, is_scattered = false, is_by_length = false;
  int encodes = 0;
};

struct Machine {
  bool has_device = true;
  bool has_unified_memory = true, is_apple_silicon = true, has_heaps = true;
  std::string name = "Emulated GPU";
  std::size_t memory_limit = std::size_t{8} << 30;
};

struct State {
  std::mutex mutex;
  std::condition_variable released;
  Faults faults;
  Machine machine;
  std::map<std::string, long> objects;
  Counters counters;
  std::map<std::string, long> filters;  // that ran, by class
};

// Never destroyed: threads may outlive main.
State& state() {
  static State* const state = new State;
  return *state;
}

template <class Function>
auto locked(Function function) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return function(s);
}

}  // namespace

void fail_allocation(int after) {
  locked([&](State& s) { s.faults.allocation.arm(after); });
}

void fail_compile(int after) {
  locked([&](State& s) { s.faults.compile.arm(after); });
}

void fail_library(int after) {
  locked([&](State& s) { s.faults.library.arm(after); });
}

void delay_compile(double seconds) {
  locked([&](State& s) { s.faults.compile_delay = seconds; });
}

void raise_in_operation(const std::string& op, int after) {
  locked([&](State& s) { s.faults.operations[op].arm(after); });
}

void fail_command_buffer(int code, int after) {
  cut_command_buffer(code, after, /*commands=*/0);
}

void cut_command_buffer(int code, int after, int commands,
                        const std::string& text) {
  locked([&](State& s) {
    s.faults.command_buffer_fault = {code, commands, text};
    s.faults.command_buffer.arm(after);
  });
}

void ignore_after_failure(bool ignores) {
  locked([&](State& s) { s.faults.ignores = ignores; });
}

void hold_work(bool holds) {
  locked([&](State& s) {
    s.faults.holds = holds;
    s.released.notify_all();
  });
}

void raise_in_encode(int after) {
  locked([&](State& s) { s.faults.encode.arm(after); });
}

void delay_completion(double seconds) {
  locked([&](State& s) { s.faults.delay = seconds; });
}

void reorder_completions(int group) {
  locked([&](State& s) { s.faults.group = group; });
}

void corrupt_operation(
    const std::string& op,
    std::function<void(std::vector<std::vector<double>>&)> change) {
  locked([&](State& s) { s.faults.corruptions[op] = std::move(change); });
}

void commit_and_continue_every(int n, int times) {
  locked([&](State& s) {
    s.faults.continue_every = n;
    s.faults.continue_times = times;
    s.faults.encodes = 0;
  });
}

void commit_silently(bool is_silent) {
  locked([&](State& s) { s.faults.is_silent = is_silent; });
}

void scatter_heaps(bool is_scattered) {
  locked([&](State& s) { s.faults.is_scattered = is_scattered; });
}

void set_heap_rules_by_length(bool are_by_length) {
  locked([&](State& s) { s.faults.is_by_length = are_by_length; });
}

void set_device_name(const std::string& name) {
  locked([&](State& s) { s.machine.name = name; });
}

void set_is_apple_silicon(bool is_apple_silicon) {
  locked([&](State& s) { s.machine.is_apple_silicon = is_apple_silicon; });
}

void set_has_heaps(bool has_heaps) {
  locked([&](State& s) { s.machine.has_heaps = has_heaps; });
}

void set_has_device(bool has_device) {
  locked([&](State& s) { s.machine.has_device = has_device; });
}

void set_has_unified_memory(bool is_unified) {
  locked([&](State& s) { s.machine.has_unified_memory = is_unified; });
}

void set_memory_limit(std::size_t bytes) {
  locked([&](State& s) { s.machine.memory_limit = bytes; });
}

void reset_faults() {
  locked([](State& s) {
    s.faults = {};
    s.released.notify_all();
  });
}

std::map<std::string, long> live_objects() {
  return locked([](State& s) {
    std::erase_if(s.objects, [](auto& entry) { return entry.second == 0; });
    return s.objects;
  });
}

std::size_t allocated_bytes() { return Memory::total_bytes(); }

Counters counters() {
  return locked([](State& s) { return s.counters; });
}

std::map<std::string, long> filter_runs() {
  return locked([](State& s) { return s.filters; });
}

bool meets_allocation_fault() {
  return locked([](State& s) { return s.faults.allocation.meets(); });
}

bool meets_compile_fault() {
  return locked([](State& s) { return s.faults.compile.meets(); });
}

bool meets_library_fault() {
  return locked([](State& s) { return s.faults.library.meets(); });
}

bool meets_operation_fault(const std::string& op) {
  return locked([&](State& s) {
    auto fault = s.faults.operations.find(op);
    return fault != s.faults.operations.end() && fault->second.meets();
  });
}

bool meets_encode_fault() {
  return locked([](State& s) { return s.faults.encode.meets(); });
}

CommandBufferFault meets_command_buffer_fault() {
  return locked([](State& s) {
    return s.faults.command_buffer.meets() ? s.faults.command_buffer_fault
                                           : CommandBufferFault();
  });
}

bool ignores_after_failure() {
  return locked([](State& s) { return s.faults.ignores; });
}

void wait_while_held() {
  State& s = state();
  std::unique_lock lock(s.mutex);
  s.released.wait(lock, [&] { return !s.faults.holds; });
}

int commits_of_encode() {
  return locked([](State& s) {
    const int every = s.faults.continue_every;
    const bool commits = every > 0 && ++s.faults.encodes % every == 0;
    return commits ? s.faults.continue_times : 0;
  });
}

bool commits_silently() {
  return locked([](State& s) { return s.faults.is_silent; });
}

bool scatters_heaps() {
  return locked([](State& s) { return s.faults.is_scattered; });
}

double compile_delay() {
  return locked([](State& s) { return s.faults.compile_delay; });
}

double completion_delay() {
  return locked([](State& s) { return s.faults.delay; });
}

int completion_group() {
  return locked([](State& s) { return s.faults.group; });
}

std::function<void(std::vector<std::vector<double>>&)> corruption_of(
    const std::string& op) {
  return locked([&](State& s) {
    auto change = s.faults.corruptions.find(op);
    return change == s.faults.corruptions.end() ? nullptr : change->second;
  });
}

bool has_heap_rules_by_length() {
  return locked([](State& s) { return s.faults.is_by_length; });
}

std::string device_name() {
  return locked([](State& s) { return s.machine.name; });
}

bool is_apple_silicon() {
  return locked([](State& s) { return s.machine.is_apple_silicon; });
}

bool has_heaps() {
  return locked([](State& s) { return s.machine.has_heaps; });
}

bool has_device() {
  return locked([](State& s) { return s.machine.has_device; });
}

bool has_unified_memory() {
  return locked([](State& s) { return s.machine.has_unified_memory; });
}

std::size_t memory_limit() {
  return locked([](State& s) { return s.machine.memory_limit; });
}

// No piece of memory may be that large.
std::size_t max_buffer_length() { return memory_limit() / 2; }

void count_object(const std::string& class_name, int change) {
  locked([&](State& s) { s.objects[class_name] += change; });
}

void count_command_buffer() {
  locked([](State& s) { ++s.counters.command_buffers; });
}

void count_executable_run() {
  locked([](State& s) { ++s.counters.executable_runs; });
}

void count_encode() {
  locked([](State& s) { ++s.counters.encodes; });
}

void count_operation() {
  locked([](State& s) { ++s.counters.operations; });
}

void count_compile() {
  locked([](State& s) { ++s.counters.compiles; });
}

void count_unread_temporary() {
  locked([](State& s) { ++s.counters.unread_temporaries; });
}

void count_filter_graph_run() {
  locked([](State& s) { ++s.counters.filter_graph_runs; });
}

void count_dispatch() {
  locked([](State& s) { ++s.counters.dispatches; });
}

void count_copy() {
  locked([](State& s) { ++s.counters.copies; });
}

void count_filter_run(const std::string& class_name) {
  locked([&](State& s) { ++s.filters[class_name]; });
}

}  // namespace emulator
