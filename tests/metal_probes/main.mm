// SPDX-License-Identifier: MIT
// metal_probes         asks all questions, prints "question: answer" lines and
//                      what contradicts metal/assumptions.h and gpu_limits.h.
// metal_probes <name>  asks one; what the above runs as child processes.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#import "metal/guard.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

extern char** environ;

namespace traingraph::metal::probes {
namespace {

constexpr unsigned kTimeLimit = 120;  // seconds per probe

std::vector<Probe> all_probes() {
  std::vector<Probe> all;
  for (const auto& topic :
       {memory_probes(), stream_probes(), executable_probes(), numeric_probes(),
        limit_probes(), gradient_op_probes(), window_probes(), random_probes(),
        autodiff_probes(), gru_probes(), lstm_probes(), speed_probes()}) {
    all.insert(all.end(), topic.begin(), topic.end());
  }
  return all;
}

int answer_one(const char* name) {
  for (const Probe& probe : all_probes()) {
    if (std::strcmp(probe.name, name) != 0) continue;
    alarm(kTimeLimit);
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
  std::fprintf(stderr, "there is no probe \"%s\"\n", name);
  return 2;
}

struct Outcome {
  std::string answer;
  bool has_ended_well = false;
};

Outcome outcome_of(int status, std::string output) {
  while (!output.empty() && output.back() == '\n') output.pop_back();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {output, true};
  if (!WIFSIGNALED(status)) return {"could not be asked"};
  const int signal = WTERMSIG(status);
  if (signal == SIGALRM) return {"did not end"};
  return {"aborted (signal " + std::to_string(signal) + ")"};
}

Outcome ask(const char* program, const Probe& probe) {
  int ends[2];
  if (pipe(ends) != 0) return {"could not be asked"};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  char* arguments[] = {const_cast<char*>(program),
                       const_cast<char*>(probe.name), nullptr};
  pid_t child = 0;
  const int failure =
      posix_spawnp(&child, program, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  char piece[512];
  for (ssize_t n = 0; (n = read(ends[0], piece, sizeof(piece))) > 0;) {
    output.append(piece, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  if (failure != 0 || waitpid(child, &status, 0) != child) {
    return {"could not be asked"};
  }
  return outcome_of(status, std::move(output));
}

int ask_all(const char* program) {
  int num_crashes = 0;
  std::vector<std::string> contradictions;
  for (const Probe& probe : all_probes()) {
    const Outcome outcome = ask(program, probe);
    std::printf("%s: %s\n", probe.question, outcome.answer.c_str());
    std::fflush(stdout);
    if (!outcome.has_ended_well && !probe.may_abort) ++num_crashes;
    if (probe.expected.empty() || outcome.answer.starts_with(probe.expected)) {
      continue;
    }
    contradictions.push_back(
        std::string(probe.constant) + " (" + probe.question + "): expected \"" +
        probe.expected + "\", got \"" + outcome.answer + '"');
  }
  std::printf("\nmetal/assumptions.h and gpu_limits.h: %zu contradicted\n",
              contradictions.size());
  for (const auto& line : contradictions) std::printf("%s\n", line.c_str());
  if (num_crashes > 0) std::printf("%d probes crashed\n", num_crashes);
  return num_crashes > 0 ? 1 : 0;
}

void print_machine() {
  NSString* system = [[NSProcessInfo processInfo] operatingSystemVersionString];
  id<MTLDevice> device = machine().metal.get();
  std::printf("system: %s\n", to_string(system).c_str());
  std::printf("device: %s\n",
              device ? to_string([device name]).c_str() : "none");
}

int run(int argc, char** argv) {
  if (argc > 1) return answer_one(argv[1]);
  run_guarded(^{
    print_machine();
  });
  if (!machine().metal.get()) {
    std::puts("Without a Metal device there is nothing to ask.");
    return 0;
  }
  std::fflush(stdout);
  return ask_all(argv[0]);
}

}  // namespace
}  // namespace traingraph::metal::probes

int main(int argc, char** argv) {
  return traingraph::metal::probes::run(argc, argv);
}
