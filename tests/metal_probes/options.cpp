// SPDX-License-Identifier: MIT
#include "tests/metal_probes/options.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace traingraph::metal::probes {
namespace {

constexpr const char* kUsage =
    "metal_probes [options] [name...]\n"
    "  Asks this machine what Apple's documentation leaves open: the named\n"
    "  probes, or all that are quick and fit into memory.\n"
    "  --json FILE         writes questions, answers and verdicts there\n"
    "  --list              writes the questions without asking\n"
    "  --slow              asks slow ones as well\n"
    "  --memory BYTES      the largest probe to ask\n"
    "  --tolerant          exit code 0 also when answers contradict the code\n"
    "  --answer NAME=TEXT  takes this as an answer, to test what follows\n"
    "Exit code: 0, 1 a probe crashed, 2 an answer contradicts the code,\n"
    "3 there is no Metal device, 64 wrong arguments.\n";

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "%s\n%s", why.c_str(), kUsage);
  std::exit(64);
}

void set_answer(Options& options, const std::string& text) {
  const auto sign = text.find('=');
  if (sign == std::string::npos) refuse("--answer takes NAME=TEXT");
  options.answers[text.substr(0, sign)] = text.substr(sign + 1);
}

void set_memory(Options& options, const std::string& text) {
  char* end = nullptr;
  options.memory = std::strtoull(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != 0 || options.memory == 0) {
    refuse("--memory takes a number of bytes");
  }
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= argc) refuse(argument + " takes a value");
      return argv[++i];
    };
    if (argument == "--help" || argument == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (argument == "--json") {
      options.json = value();
    } else if (argument == "--child") {
      options.child = value();
    } else if (argument == "--memory") {
      set_memory(options, value());
    } else if (argument == "--answer") {
      set_answer(options, value());
    } else if (argument == "--list") {
      options.lists_only = true;
    } else if (argument == "--slow") {
      options.asks_slow = true;
    } else if (argument == "--tolerant") {
      options.is_tolerant = true;
    } else if (argument.starts_with("-")) {
      refuse("there is no option " + argument);
    } else {
      options.names.insert(argument);
    }
  }
  return options;
}

}  // namespace traingraph::metal::probes
