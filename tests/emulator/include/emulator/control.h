// SPDX-License-Identifier: MIT
// What tests ask of the emulator: failures on demand, and what is alive. Plain
// C++; every function may be called from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace emulator {

/// Failures are armed by these and used up by the event that they meet.
/// `after`: how many such events succeed first.
void fail_allocation(int after = 0);  // newBuffer..., newHeap... return nil
void fail_compile(int after = 0);     // compileWithDevice... raises
void delay_compile(double seconds);   // it takes that long
void fail_library(int after = 0);     // newLibraryWithSource... returns nil
void raise_in_operation(const std::string& op, int after = 0);  // at creation
/// The command buffer ends in MTLCommandBufferStatusError with this
/// MTLCommandBufferError code; its work is not done.
void fail_command_buffer(int code, int after = 0);
/// Makes it fail when this many of its commands are done, or all of them; the
/// error says `text`.
void cut_command_buffer(int code, int after, int commands,
                        const std::string& text = {});
/// The queue of the next command buffer that fails does nothing from then on:
/// everything ends in code 4, "SubmissionsIgnored".
void ignore_after_failure(bool ignores);
/// Command buffers that are committed do not begin until this is undone.
void hold_work(bool holds);
/// encodeToCommandBuffer raises, after it committed what it was going to.
void raise_in_encode(int after = 0);

/// Completion handlers run this much later.
void delay_completion(double seconds);
/// Completion handlers of buffers that finished run in reverse order, in
/// groups of so many (a group that stays incomplete runs after 20 ms).
void reorder_completions(int group);
/// This changes the results after every run of `op` (by result index).
void corrupt_operation(
    const std::string& op,
    std::function<void(std::vector<std::vector<double>>&)> change);
/// encodeToCommandBuffer commits the command buffer and goes on with another
/// one, as MPSGraph may, every n-th time (1: always; 0: never; default 2), and
/// so many `times` in a row. Silently: not by commitAndContinue.
void commit_and_continue_every(int n, int times = 2);
void commit_silently(bool is_silent);
/// The host finds buffers of heaps at other addresses than their offsets say.
void scatter_heaps(bool is_scattered);

/// Size and alignment of buffers in heaps depend on their length: those of more
/// than 256 bytes take multiples of 1024, at such offsets.
void set_heap_rules_by_length(bool are_by_length);

/// The machine: is there a GPU at all, does it share memory with the host, how
/// much of it there is. Ask before the device is created.
void set_has_device(bool has_device);
void set_has_unified_memory(bool is_unified);
/// Virtual machines have another name, an older family, or no heaps.
void set_device_name(const std::string& name);
void set_is_apple_silicon(bool is_apple_silicon);
void set_has_heaps(bool has_heaps);
void set_memory_limit(std::size_t bytes);

/// Undoes all of the above but the machine.
void reset_faults();

/// Objects of the emulated classes that are alive, by class name; only those
/// whose number is not zero.
std::map<std::string, long> live_objects();
/// The labels of heaps that are alive, or of those only that no residency set
/// keeps where the device finds them.
std::vector<std::string> heap_labels();
std::vector<std::string> heaps_not_resident();
/// Bytes of all live buffers and heaps (buffers inside heaps count once).
std::size_t allocated_bytes();
/// Returns when all committed work is done, its handlers ran, and what it kept
/// alive is released.
void wait_until_idle();

/// Work done so far.
struct Counters {
  long command_buffers = 0, executable_runs = 0, operations = 0, compiles = 0;
  /// Encodings of executables that are over.
  long encodes = 0;
  /// Temporary images and states that went with a read count above zero.
  long unread_temporaries = 0;
  /// Encodings of MPSNNGraph that ran.
  long filter_graph_runs = 0;
  /// Launches of compute kernels, and copies by blit encoders, that were
  /// encoded.
  long dispatches = 0, copies = 0;
};
Counters counters();
/// Filters of MPSNNGraphs that ran, by the class of their node.
std::map<std::string, long> filter_runs();

}  // namespace emulator
