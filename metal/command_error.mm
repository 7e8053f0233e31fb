// SPDX-License-Identifier: MIT
#import "metal/command_error.h"

#include <initializer_list>

#import "metal/guard.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

// Codes of the driver, which come as codes or in the text alone.
constexpr NSInteger kImpactingInteractivity = 0xe;
constexpr NSInteger kSubmissionsIgnored = 4;

bool is_of_command_buffers(NSError* error) {
  return [[error domain] isEqualToString:MTLCommandBufferErrorDomain];
}

/// All of an error's text, with that of the errors below it.
bool mentions(NSError* error, std::initializer_list<const char*> phrases) {
  const std::string text = describe(error) + ' ' +
                           to_string([error description]) + ' ' +
                           to_string([[error userInfo] description]);
  for (const char* phrase : phrases) {
    if (text.find(phrase) != std::string::npos) return true;
  }
  return false;
}

/// The watchdog's errors came with several codes, also as "Internal Error".
bool took_too_long(NSError* error) {
  if ([error code] == kImpactingInteractivity) return true;
  const bool is_timeout = is_of_command_buffers(error) &&
                          [error code] == MTLCommandBufferErrorTimeout;
  return is_timeout || mentions(error, {"Impacting Interactivity",
                                        "ImpactingInteractivity", "(0000000e"});
}

/// Two sentences, either of which may be empty.
std::string join(std::string first, const std::string& second) {
  if (!first.empty() && !second.empty()) first += ' ';
  return first + second;
}

std::string hint_of(id<MTLCommandBuffer> buffer, NSError* error) {
  if (error && took_too_long(error)) {
    return "Compile with a smaller max_gpu_ms: macOS ends work that keeps the "
           "display waiting. macOS 26 may end short work as well while a "
           "display is on: let it sleep (run under caffeinate -s), or set "
           "AGX_RELAX_CDM_CTXSTORE_TIMEOUT=1 for the process.";
  }
  if (ignores_submissions(buffer)) {
    return "macOS ignored this work because of earlier errors; what is "
           "executed from now on goes to a new queue.";
  }
  return {};
}

}  // namespace

std::exception_ptr device_error(std::string node, std::string got,
                                std::string hint) {
  return std::make_exception_ptr(
      DeviceError(ErrorInfo{.op = "execute",
                            .node = std::move(node),
                            .what = "the GPU did not run these layers",
                            .expected = {},
                            .got = std::move(got),
                            .hint = std::move(hint)}));
}

bool ignores_submissions(id<MTLCommandBuffer> buffer) {
  if ([buffer status] != MTLCommandBufferStatusError) return false;
  NSError* error = [buffer error];
  if (!error) return false;
  const bool is_code =
      is_of_command_buffers(error) && [error code] == kSubmissionsIgnored;
  return is_code || mentions(error, {"SubmissionsIgnored", "(00000004"});
}

std::exception_ptr error_of(id<MTLCommandBuffer> buffer,
                            const std::string& label,
                            bool leaves_partial_write) {
  if ([buffer status] != MTLCommandBufferStatusError) return nullptr;
  NSError* error = [buffer error];
  const std::string got = error ? describe(error) : "a command buffer error";
  const char* restore =
      leaves_partial_write
          ? "The parameters may be half updated: restore a checkpoint."
          : "";
  if (error && is_of_command_buffers(error) &&
      [error code] == MTLCommandBufferErrorOutOfMemory) {
    return std::make_exception_ptr(OutOfMemoryError(ErrorInfo{
        .op = "execute",
        .node = label,
        .what = "the GPU ran out of memory",
        .expected = {},
        .got = got,
        .hint = join(restore, "Use a smaller batch, or free other graphs.")}));
  }
  return device_error(label, got, join(restore, hint_of(buffer, error)));
}

}  // namespace traingraph::metal
