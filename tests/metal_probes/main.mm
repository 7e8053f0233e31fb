// SPDX-License-Identifier: MIT
// metal_probes: prints "question: answer" lines and what of it contradicts the
// code, with what to change; options.cpp has the arguments.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#import "metal/guard.h"
#include "tests/metal_probes/children.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/options.h"

namespace traingraph::metal::probes {
namespace {

const Probe* find(const std::vector<Probe>& probes, const std::string& name) {
  const auto found = std::ranges::find(probes, name, &Probe::name);
  return found == probes.end() ? nullptr : &*found;
}

/// In this process; an exception is an answer.
int answer_one(const Probe& probe) {
  alarm(time_limit(probe));
  std::string answer;
  std::string* to_fill = &answer;
  const auto ask = probe.answer;
  const auto exception = run_guarded(^{
    *to_fill = ask();
  });
  std::puts(exception ? ("raised " + *exception).c_str() : answer.c_str());
  std::fflush(stdout);
  _exit(0);  // what Metal does at exit is no question of ours
}

/// The SDK of macOS 13 has no name for it.
constexpr auto kApple9 = static_cast<MTLGPUFamily>(1009);

/// Apple's generations: 7 is M1.
int family_of(id<MTLDevice> device) {
  int family = 0;
  for (const auto candidate :
       {MTLGPUFamilyApple7, MTLGPUFamilyApple8, kApple9}) {
    if ([device supportsFamily:candidate]) {
      family = static_cast<int>(candidate - MTLGPUFamilyApple7) + 7;
    }
  }
  return family;
}

std::size_t memory_of_machine() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// What a probe may take: half of a Mac. The emulator computes in doubles, on
/// machines that do something else meanwhile.
std::size_t default_budget(std::size_t memory) {
#ifdef __APPLE__
  return memory / 2;
#else
  return std::min(memory / 8, std::size_t{64} << 20);
#endif
}

MachineText describe_machine(const Options& options) {
  MachineText text;
  text.memory = memory_of_machine();
  text.budget = options.memory ? options.memory : default_budget(text.memory);
  MachineText* to_fill = &text;
  run_guarded(^{
    to_fill->system = metal::to_string(
        [[NSProcessInfo processInfo] operatingSystemVersionString]);
    id<MTLDevice> device = machine().metal.get();
    if (!device) return;
    to_fill->device = metal::to_string([device name]);
    to_fill->apple_family = family_of(device);
  });
  return text;
}

/// Empty: it is.
std::string reason_not_asked(const Probe& probe, const Options& options,
                             std::size_t budget) {
  if (options.lists_only) return "only listed";
  if (probe.bytes > budget) {
    return "takes " + std::to_string(probe.bytes >> 20) + " MB of " +
           std::to_string(budget >> 20) + " (--memory)";
  }
  const bool is_named = options.names.contains(probe.name);
  if (probe.is_slow && !options.asks_slow && !is_named) return "slow (--slow)";
  return {};
}

Outcome outcome_of(const char* program, const Probe& probe,
                   const Options& options, std::size_t budget) {
  const auto given = options.answers.find(probe.name);
  if (given != options.answers.end()) return {.answer = given->second};
  std::string reason = reason_not_asked(probe, options, budget);
  if (!reason.empty()) {
    return {.state = Outcome::State::NotAsked, .answer = std::move(reason)};
  }
  return ask_child(program, probe);
}

void require_known(const std::vector<Probe>& probes, const Options& options) {
  std::vector<std::string> names(options.names.begin(), options.names.end());
  for (const auto& [name, answer] : options.answers) names.push_back(name);
  for (const auto& name : names) {
    if (find(probes, name)) continue;
    std::fprintf(stderr, "there is no probe \"%s\" (see --list)\n",
                 name.c_str());
    std::exit(64);
  }
}

Report ask_all(const char* program, const Options& options) {
  Report report;
  report.machine = describe_machine(options);
  std::printf("system: %s\ndevice: %s\n", report.machine.system.c_str(),
              report.machine.device.c_str());
  const bool has_device = !report.machine.device.empty();
  if (!has_device) std::puts("Without a Metal device there is nothing to ask.");
  std::fflush(stdout);
  for (const Probe& probe : all_probes()) {
    if (!options.names.empty() && !options.names.contains(probe.name)) continue;
    report.probes.push_back(probe);
    report.outcomes.push_back(
        has_device || options.lists_only
            ? outcome_of(program, probe, options, report.machine.budget)
            : Outcome{Outcome::State::NotAsked, "no device"});
    const Outcome& outcome = report.outcomes.back();
    if (!has_device && !options.lists_only) continue;
    std::printf("%s: %s%s\n", probe.question,
                outcome.state == Outcome::State::NotAsked ? "not asked: " : "",
                outcome.answer.c_str());
    std::fflush(stdout);
  }
  return report;
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const std::vector<Probe> probes = all_probes();
  require_known(probes, options);
  if (!options.child.empty()) {
    const Probe* probe = find(probes, options.child);
    return probe ? answer_one(*probe) : 64;
  }
  const Report report = ask_all(argv[0], options);
  if (!options.lists_only) std::fputs(report.summary().c_str(), stdout);
  if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << report.json();
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write %s\n", options.json.c_str());
      return 74;
    }
  }
  if (options.lists_only) return 0;
  const int code = report.exit_code();
  return options.is_tolerant && code != 1 ? 0 : code;
}

}  // namespace
}  // namespace traingraph::metal::probes

int main(int argc, char** argv) {
  return traingraph::metal::probes::run(argc, argv);
}
