// SPDX-License-Identifier: MIT
// What the emulator asks of control.h's state: which failures are armed, what
// the machine is, and where to count.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace emulator {

// Each uses up a failure that is armed.
bool meets_allocation_fault();
bool meets_compile_fault();
bool meets_library_fault();
bool meets_operation_fault(const std::string& op);
bool meets_encode_fault();
struct CommandBufferFault {
  int code = 0;      // MTLCommandBufferError; 0 to succeed
  int commands = 0;  // that are done before
  std::string text;
};
CommandBufferFault meets_command_buffer_fault();
bool ignores_after_failure();
/// Returns when no work is held.
void wait_while_held();
/// How often this encodeToCommandBuffer shall commit and continue.
int commits_of_encode();
bool commits_silently();
bool scatters_heaps();
bool has_heap_rules_by_length();

double compile_delay();
double completion_delay();
int completion_group();
/// May be empty.
std::function<void(std::vector<std::vector<double>>&)> corruption_of(
    const std::string& op);

bool has_device();
bool has_unified_memory();
std::string device_name();
bool is_apple_silicon();
bool has_heaps();
std::size_t memory_limit();
std::size_t max_buffer_length();

void count_object(const std::string& class_name, int change);
void count_command_buffer();
void count_executable_run();
void count_encode();
void count_operation();
void count_compile();
void count_unread_temporary();
void count_filter_graph_run();
void count_dispatch();
void count_copy();
void count_filter_run(const std::string& class_name);

}  // namespace emulator
