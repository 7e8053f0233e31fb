// SPDX-License-Identifier: MIT
// Arithmetic on sizes that fails where it would wrap. Sizes of shapes are
// std::int64_t and throw ShapeError; bytes are std::size_t and throw
// OutOfMemoryError, above what a pointer difference can hold. `what` names the
// quantity in the message.
#pragma once

#include <cstddef>
#include <cstdint>

namespace traingraph {

/// Returns false, and no result, where the product would wrap. For callers with
/// a message of their own; checked_multiply() throws.
[[nodiscard]] inline bool try_multiply(std::int64_t x, std::int64_t y,
                                       std::int64_t* product) {
  return !__builtin_mul_overflow(x, y, product);
}

std::int64_t checked_add(std::int64_t x, std::int64_t y, const char* what);
std::int64_t checked_multiply(std::int64_t x, std::int64_t y, const char* what);

std::size_t checked_add(std::size_t x, std::size_t y, const char* what);
std::size_t checked_multiply(std::size_t x, std::size_t y, const char* what);
/// The next multiple of `alignment`, which is not 0.
std::size_t checked_align(std::size_t bytes, std::size_t alignment,
                          const char* what);
/// `count` elements of a type: for scratch memory and states.
template <class T>
std::size_t checked_bytes(std::int64_t count, const char* what) {
  return checked_multiply(static_cast<std::size_t>(count), sizeof(T), what);
}

}  // namespace traingraph
