// SPDX-License-Identifier: MIT
#include "tests/metal_probes/children.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

extern char** environ;

namespace traingraph::metal::probes {
namespace {

Outcome aborted(std::string how) {
  return {.state = Outcome::State::Aborted, .answer = std::move(how)};
}

Outcome outcome_of(int status, std::string output) {
  while (!output.empty() && output.back() == '\n') output.pop_back();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {.answer = std::move(output)};
  }
  if (!WIFSIGNALED(status)) {
    return aborted("ended with exit code " +
                   std::to_string(WEXITSTATUS(status)));
  }
  const int signal = WTERMSIG(status);
  if (signal == SIGALRM) return aborted("did not end");
  return aborted("aborted (signal " + std::to_string(signal) + ")");
}

Outcome run_child(const char* program, const Probe& probe) {
  int ends[2];
  if (pipe(ends) != 0) return aborted("could not be asked");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  char option[] = "--child";
  char* arguments[] = {const_cast<char*>(program), option,
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
    return aborted("could not be asked");
  }
  return outcome_of(status, std::move(output));
}

}  // namespace

unsigned time_limit(const Probe& probe) { return probe.is_slow ? 900 : 120; }

Outcome ask_child(const char* program, const Probe& probe) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = run_child(program, probe);
  outcome.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return outcome;
}

}  // namespace traingraph::metal::probes
