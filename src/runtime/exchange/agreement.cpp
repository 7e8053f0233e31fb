// SPDX-License-Identifier: MIT
#include "runtime/exchange/agreement.h"

#include <algorithm>
#include <cstdint>

#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::size_t kBefore = 40, kAfter = 60;  // shown around a difference

std::string around(const std::string& text, std::size_t at) {
  if (at >= text.size()) return "the end";
  std::size_t begin = at > kBefore ? at - kBefore : 0;
  const std::size_t line = text.rfind('\n', at == 0 ? 0 : at - 1);
  if (line != std::string::npos && line >= begin) begin = line + 1;
  const std::size_t end =
      std::min({text.size(), at + kAfter, text.find('\n', at)});
  return text.substr(begin, end - begin);
}

}  // namespace

/// FNV-1a in 64 bits, in hexadecimal digits.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::string digits(kHashSize, '0');
  for (char& digit : digits) {
    digit = "0123456789abcdef"[hash & 15];
    hash >>= 4;
  }
  return digits;
}

void report_difference(const Fact& fact, int rank, const std::string& text,
                       const std::string& text_of_first) {
  const auto [a, b] = std::ranges::mismatch(text, text_of_first);
  const auto at = static_cast<std::size_t>(a - text.begin());
  throw InvalidArgument(
      ErrorInfo{.op = "compile",
                .node = "rank " + std::to_string(rank),
                .what = fact.name + " differ between the processes",
                .expected = around(text_of_first, at) + ", as rank 0 has",
                .got = around(text, at),
                .hint = "All processes build and compile the same graph."});
}

}  // namespace traingraph
