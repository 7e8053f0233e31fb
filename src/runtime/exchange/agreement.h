// SPDX-License-Identifier: MIT
// Do all processes train the same graph?
#pragma once

#include <string>
#include <vector>

namespace traingraph {

/// Something that must be the same in all processes, as text.
struct Fact {
  std::string name;
  std::string text;
};

/// Of kHashSize bytes, the same on every machine.
inline constexpr std::size_t kHashSize = 16;
std::string hash_of(const std::string& text);

/// Throws InvalidArgument with the first difference from rank 0.
[[noreturn]] void report_difference(const Fact& fact, int rank,
                                    const std::string& text,
                                    const std::string& text_of_first);

}  // namespace traingraph
