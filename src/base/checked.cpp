// SPDX-License-Identifier: MIT
#include "base/checked.h"

#include <limits>
#include <string>

#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Whatever is larger has no address, and its size no signed type.
constexpr auto kMaxBytes =
    static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());

template <class T>
std::string operation(T x, const char* sign, T y) {
  return std::to_string(x) + sign + std::to_string(y);
}

[[noreturn]] void fail_size(const char* what, std::string got) {
  throw ShapeError(ErrorInfo{.what = std::string(what) + " is too large",
                             .expected = "a size below 2^63",
                             .got = std::move(got)});
}

[[noreturn]] void fail_bytes(const char* what, std::string got) {
  throw OutOfMemoryError(
      ErrorInfo{.what = std::string(what) + " needs too much memory",
                .expected = "fewer than 2^63 bytes",
                .got = std::move(got)});
}

}  // namespace

std::int64_t checked_add(std::int64_t x, std::int64_t y, const char* what) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(x, y, &sum)) {
    fail_size(what, operation(x, " + ", y));
  }
  return sum;
}

std::int64_t checked_multiply(std::int64_t x, std::int64_t y,
                              const char* what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(x, y, &product)) {
    fail_size(what, operation(x, " x ", y));
  }
  return product;
}

std::size_t checked_add(std::size_t x, std::size_t y, const char* what) {
  std::size_t sum = 0;
  if (__builtin_add_overflow(x, y, &sum) || sum > kMaxBytes) {
    fail_bytes(what, operation(x, " + ", y));
  }
  return sum;
}

std::size_t checked_multiply(std::size_t x, std::size_t y, const char* what) {
  std::size_t product = 0;
  if (__builtin_mul_overflow(x, y, &product) || product > kMaxBytes) {
    fail_bytes(what, operation(x, " x ", y));
  }
  return product;
}

std::size_t checked_align(std::size_t bytes, std::size_t alignment,
                          const char* what) {
  return checked_add(bytes, alignment - 1, what) / alignment * alignment;
}

}  // namespace traingraph
