// SPDX-License-Identifier: MIT
#include "cuda/abi/libraries.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace traingraph::cuda {
namespace {

constexpr const char* kPathVariable = "TRAINGRAPH_CUDA_PATH";
constexpr const char* kInstall =
    "pip install \"traingraph[cuda]\", or add its folder to "
    "TRAINGRAPH_CUDA_PATH";

struct Folders {
  std::mutex mutex;
  std::vector<std::string> names;
};

Folders& folders() {
  static auto* folders = new Folders;
  return *folders;
}

/// The first of `names` that can be loaded. They are never closed.
void* open_first(std::span<const char* const> names, std::string& reason) {
  const char* only = std::getenv(kPathVariable);
  std::vector<std::string> paths;
  for (const char* name : names) {
    if (only != nullptr) {
      paths.push_back(std::string(only) + "/" + name);
      continue;
    }
    paths.emplace_back(name);
    Folders& all = folders();
    std::scoped_lock lock(all.mutex);
    for (const std::string& folder : all.names) {
      paths.push_back(folder + "/" + name);
    }
  }
  for (const std::string& path : paths) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return handle;
    }
    if (reason.empty()) reason = dlerror();
  }
  return nullptr;
}

/// Why the symbol is missing; empty when it is not.
template <class Function>
bool find(void* handle, const char* symbol, Function& function,
          std::string& reason) {
  function = reinterpret_cast<Function>(dlsym(handle, symbol));
  if (function == nullptr && reason.empty()) {
    reason = "it has no " + std::string(symbol);
  }
  return function != nullptr;
}

Library<Driver> load_driver() {
  static Driver functions;
  constexpr std::array kNames = {"libcuda.so.1"};
  Library<Driver> library;
  void* handle = open_first(kNames, library.reason);
  if (handle == nullptr) {
    library.reason =
        "the NVIDIA driver is not installed (" + library.reason + ")";
    return library;
  }
  bool is_whole = true;
#define FUNCTION(member, symbol, parameters) \
  is_whole &= find(handle, #symbol, functions.member, library.reason);
  TRAINGRAPH_CUDA_DRIVER(FUNCTION)
#undef FUNCTION
  if (is_whole) {
    library.functions = &functions;
  } else {
    library.reason = "the NVIDIA driver is too old: " + library.reason +
                     "; install release 560 or a newer one";
  }
  return library;
}

Library<Nvrtc> load_nvrtc() {
  static Nvrtc functions;
  constexpr std::array kNames = {"libnvrtc.so.13", "libnvrtc.so.12"};
  Library<Nvrtc> library;
  void* handle = open_first(kNames, library.reason);
  if (handle == nullptr) {
    library.reason = "NVRTC, the compiler of kernels, is not installed (" +
                     library.reason + "): " + kInstall;
    return library;
  }
  bool is_whole = true;
#define FUNCTION(member, symbol, parameters) \
  is_whole &= find(handle, #symbol, functions.member, library.reason);
  TRAINGRAPH_CUDA_NVRTC(FUNCTION)
#undef FUNCTION
  if (is_whole) library.functions = &functions;
  return library;
}

}  // namespace

void add_library_folder(std::string folder) {
  Folders& all = folders();
  std::scoped_lock lock(all.mutex);
  all.names.push_back(std::move(folder));
}

const Library<Driver>& driver_library() {
  static const auto* library = new Library<Driver>(load_driver());
  return *library;
}

Library<Nvrtc> nvrtc_library() {
  static std::mutex mutex;
  static Library<Nvrtc> library;
  std::scoped_lock lock(mutex);
  if (library.functions == nullptr) library = load_nvrtc();
  return library;
}

}  // namespace traingraph::cuda
