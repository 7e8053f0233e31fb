// SPDX-License-Identifier: MIT
#include "nvrtc/compile.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace cuda_emulator {
namespace {

namespace fs = std::filesystem;

/// A folder that goes when this does.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "cuda_emulator_XXXXXX");
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path path;
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Its output goes to `log`. False: it did not succeed.
bool run(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr,
                                 arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 1;
  if (error != 0 || waitpid(child, &status, 0) != child) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

bool has_fast_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return false;  // or nothing has to be said
#endif
}

Compiled compile(const std::string& text,
                 const std::vector<std::string>& options) {
  const Folder folder;
  const fs::path source = folder.path / "module.cpp";
  const fs::path library = folder.path / "module.so";
  const fs::path log = folder.path / "log";
  std::ofstream(source) << text;
  std::vector<std::string> command = {
      CUDA_EMULATOR_COMPILER,
      "-std=c++17",
      "-Og",  // as fast as -O1 on what was measured, in half the time
      "-ffp-contract=off",
      "-fno-math-errno",
      "-fno-strict-aliasing",
      "-fno-exceptions",
      "-fno-rtti",
      "-fno-threadsafe-statics",
      "-fno-asynchronous-unwind-tables",
      "-fno-gnu-unique",
      "-fvisibility=hidden",
      "-fPIC",
      "-w",
      "-include",
      CUDA_EMULATOR_DEVICE "/shim.h"};
  if (has_fast_fma()) command.emplace_back("-mfma");
  command.insert(command.end(), options.begin(), options.end());
  for (const std::string& last :
       {std::string("-shared"), std::string("-nostdlib"),
        std::string("-fno-use-linker-plugin"), std::string("-o"),
        library.string(), source.string(), std::string("-lm"),
        std::string("-lgcc")}) {
    command.push_back(last);
  }
  Compiled compiled;
  compiled.is_success = run(command, log);
  compiled.log = read(log);
  if (compiled.is_success) compiled.library = read(library);
  return compiled;
}

}  // namespace cuda_emulator
