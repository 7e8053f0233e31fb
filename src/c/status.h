// SPDX-License-Identifier: MIT
// Errors of the library as statuses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>

#include "traingraph/c.h"
#include "traingraph/error.h"

namespace traingraph::c {

struct Failure {
  tg_status status = TG_OK;
  std::string text;
};
Failure failure_of(const std::exception_ptr& error) noexcept;
/// tg_error_text() gives this on the thread.
tg_status remember(Failure failure) noexcept;

/// Nothing is thrown out of it.
template <class Action>
tg_status guarded(const Action& action) noexcept {
  try {
    action();
    return TG_OK;
  } catch (...) {
    return remember(failure_of(std::current_exception()));
  }
}

/// Throws InvalidArgument when there is none.
template <class Pointer>
Pointer* required(const char* call, const char* name, Pointer* pointer) {
  if (pointer) return pointer;
  throw InvalidArgument(
      ErrorInfo{.op = call, .node = name, .what = "the pointer is null"});
}

/// TG_INIT.
template <class Struct>
Struct empty() {
  Struct result{};
  result.size = sizeof(Struct);
  return result;
}

/// The caller's struct, as it was when this one was compiled: what is behind
/// its size has defaults. Throws InvalidArgument.
template <class Struct>
Struct sized(const char* call, const Struct* given) {
  Struct result = empty<Struct>();
  if (!given) return result;
  const std::size_t size = given->size;
  if (size < sizeof(std::size_t) || size > 4096) {
    throw InvalidArgument(ErrorInfo{.op = call,
                                    .what = "a struct says a wrong size",
                                    .expected = "TG_INIT",
                                    .got = std::to_string(size)});
  }
  const auto* from = reinterpret_cast<const char*>(given);
  auto* to = reinterpret_cast<char*>(&result);
  std::copy_n(from, std::min(size, sizeof(Struct)), to);
  result.size = sizeof(Struct);
  return result;
}

/// The reverse, into what the caller's struct has room for.
template <class Struct>
void give(const Struct& value, Struct* to) {
  const std::size_t size = std::min(to->size, sizeof(Struct));
  const std::size_t kept = to->size;
  std::copy_n(reinterpret_cast<const char*>(&value), size,
              reinterpret_cast<char*>(to));
  to->size = kept;
}

}  // namespace traingraph::c
