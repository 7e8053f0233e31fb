// SPDX-License-Identifier: MIT
#include "nvrtc/text.h"

#include <cctype>
#include <cstdlib>
#include <set>
#include <string_view>

namespace cuda_emulator {
namespace {

constexpr std::string_view kInclude = "#include \"";
constexpr std::string_view kOnce = "#pragma once";
constexpr std::string_view kKernel = "extern \"C\" __global__ void";
constexpr std::string_view kBounds = "__launch_bounds__(";

/// A line of a header that is another one, as tools/cuda_mutants.py asks:
/// TRAINGRAPH_CUDA_EMULATOR_MUTANT is HEADER:LINE=TEXT.
class Mutant {
 public:
  Mutant() {
    const char* variable = std::getenv("TRAINGRAPH_CUDA_EMULATOR_MUTANT");
    if (variable == nullptr) return;
    const std::string_view all = variable;
    const std::size_t equals = all.find('=');
    place_ = all.substr(0, equals);
    if (equals != all.npos) text_ = all.substr(equals + 1);
  }
  std::string_view applied_to(std::string_view line, const std::string& header,
                              int number) const {
    if (place_.empty()) return line;
    return header + ":" + std::to_string(number) == place_ ? text_ : line;
  }

 private:
  std::string place_, text_;
};

class Flattener {
 public:
  explicit Flattener(const Headers& headers) : headers_(headers) {}

  void add(std::string_view text, const std::string& name) {
    mark(1, name);
    for (int line = 1; !text.empty(); ++line) {
      const std::size_t end = text.find('\n');
      const std::string_view current = text.substr(0, end);
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
      if (!current.starts_with(kInclude)) {
        if (!current.starts_with(kOnce)) {
          all_ += mutant_.applied_to(current, name, line);
        }
        all_ += '\n';
        continue;
      }
      std::string_view included = current.substr(kInclude.size());
      included = included.substr(0, included.find('"'));
      const auto header = headers_.find(std::string(included));
      if (header == headers_.end()) {
        (all_ += current) += '\n';  // g++ says what is missing
        continue;
      }
      if (!added_.insert(header->first).second) {
        all_ += '\n';
        continue;
      }
      add(header->second, header->first);
      mark(line + 1, name);
    }
  }
  std::string all() && { return std::move(all_); }

 private:
  void mark(int line, const std::string& name) {
    all_ += "# " + std::to_string(line) + " \"" + name + "\"\n";
  }

  const Headers& headers_;
  const Mutant mutant_;
  std::set<std::string> added_;
  std::string all_;
};

void skip_space(std::string_view& text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0]))) {
    text.remove_prefix(1);
  }
}

std::string take_word(std::string_view& text) {
  std::string word;
  while (!text.empty() && (std::isalnum(static_cast<unsigned char>(text[0])) ||
                           text[0] == '_')) {
    word += text[0];
    text.remove_prefix(1);
  }
  return word;
}

std::string listed_kernels(std::string_view text) {
  std::string rows;
  for (std::size_t at; (at = text.find(kKernel)) != text.npos;) {
    text.remove_prefix(at + kKernel.size());
    skip_space(text);
    std::string max_threads = "0";
    if (text.starts_with(kBounds)) {
      text.remove_prefix(kBounds.size());
      skip_space(text);
      max_threads = take_word(text);
      text.remove_prefix(std::min(text.size(), text.find(')') + 1));
      skip_space(text);
    }
    const std::string name = take_word(text);
    rows += "CUDA_EMULATOR_KERNEL(" + name + ", " + max_threads + ")\n";
  }
  return rows;
}

}  // namespace

std::string host_text(const std::string& text, const std::string& name,
                      const Headers& headers) {
  Flattener flattener(headers);
  flattener.add(text, name);
  return std::move(flattener).all() + "\nCUDA_EMULATOR_MODULE(\n" +
         listed_kernels(text) + ")\n";
}

}  // namespace cuda_emulator
