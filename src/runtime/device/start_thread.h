// SPDX-License-Identifier: MIT
// Starting a thread, with an error that says which one could not be started.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "traingraph/error.h"

namespace traingraph {

/// Throws DeviceError: "the thread for `purpose` cannot be started".
template <class Function>
std::thread start_thread(const char* purpose, Function&& function) {
  try {
    return std::thread(std::forward<Function>(function));
  } catch (const std::system_error& error) {
    throw DeviceError(ErrorInfo{
        .op = "device",
        .what = std::string("the thread for ") + purpose + " cannot be started",
        .got = error.what(),
        .hint = "The limit on processes or on memory is reached."});
  }
}

}  // namespace traingraph
