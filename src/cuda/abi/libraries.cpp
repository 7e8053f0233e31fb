// SPDX-License-Identifier: MIT
#include "cuda/abi/libraries.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace traingraph::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPathVariable = "TRAINGRAPH_CUDA_PATH";
constexpr const char* kInstall =
    "pip install \"traingraph[cuda]\", or add its folder to "
    "TRAINGRAPH_CUDA_PATH";

/// Of NVIDIA's wheels, from the folder that packages are in.
constexpr std::array kWheelFolders = {
    "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "nvidia/cublas/lib"};

void add_chosen_folders(std::vector<std::string>& folders) {
  const char* const chosen = std::getenv(kPathVariable);
  std::istringstream list(chosen != nullptr ? chosen : "");
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty()) folders.push_back(folder + "/");
  }
}

/// Our package is a folder or two above this library.
void add_wheel_folders(std::vector<std::string>& folders) {
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&add_wheel_folders), &here) == 0) {
    return;
  }
  std::error_code error;
  fs::path folder = fs::canonical(here.dli_fname, error).parent_path();
  for (int level = 0; level < 3 && folder.has_relative_path(); ++level) {
    for (const char* const each : kWheelFolders) {
      const fs::path path = folder / each;
      if (fs::is_directory(path, error)) folders.push_back(path.string() + "/");
    }
    folder = folder.parent_path();
  }
}

/// The first of `names` that can be loaded. They are never closed.
void* open_first(std::span<const char* const> names, std::string& reason) {
  std::vector<std::string> folders;
  add_chosen_folders(folders);
  if (is_turned_off()) {
    reason = std::string(kPathVariable) + " is \"off\"";
    return nullptr;
  }
  add_wheel_folders(folders);
  folders.emplace_back();  // the system's
  for (const std::string& folder : folders) {
    for (const char* const name : names) {
      const std::string path = folder + name;
      if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        return handle;
      }
      reason = dlerror();
    }
  }
  return nullptr;
}

/// False, with a reason, when the symbol is missing.
template <class Function>
bool find(void* handle, const char* symbol, Function& function,
          std::string& reason) {
  function = reinterpret_cast<Function>(dlsym(handle, symbol));
  if (function == nullptr && reason.empty()) {
    reason = "it has no " + std::string(symbol);
  }
  return function != nullptr;
}

/// Says how to get what a wheel of NVIDIA's has.
template <class Functions>
Library<Functions> with_install(Library<Functions> library) {
  if (library.functions == nullptr)
    library.reason += ": " + std::string(kInstall);
  return library;
}

/// Finds all functions in the first of `names` that is there. `missing` says
/// what it is that is not installed.
template <class Functions, class FindAll>
Library<Functions> load(std::span<const char* const> names,
                        const std::string& missing, const FindAll& find_all) {
  static Functions functions;
  Library<Functions> library;
  void* const handle = open_first(names, library.reason);
  if (handle == nullptr) {
    library.reason = missing + " is not installed (" + library.reason + ")";
  } else if (find_all(handle, functions, library.reason)) {
    library.functions = &functions;
  }
  return library;
}

#define FUNCTION(member, symbol, parameters) \
  is_whole &= find(handle, #symbol, functions.member, reason);

Library<Driver> load_driver() {
  constexpr std::array kNames = {"libcuda.so.1"};
  return load<Driver>(kNames, "the NVIDIA driver",
                      [](void* handle, Driver& functions, std::string& reason) {
                        bool is_whole = true;
                        TRAINGRAPH_CUDA_DRIVER(FUNCTION)
                        if (!is_whole) {
                          reason = "the NVIDIA driver is too old: " + reason +
                                   "; install release 560 or a newer one";
                        }
                        return is_whole;
                      });
}

Library<Nvrtc> load_nvrtc() {
  constexpr std::array kNames = {"libnvrtc.so.13", "libnvrtc.so.12"};
  auto library =
      load<Nvrtc>(kNames, "NVRTC, the compiler of kernels,",
                  [](void* handle, Nvrtc& functions, std::string& reason) {
                    bool is_whole = true;
                    TRAINGRAPH_CUDA_NVRTC(FUNCTION)
                    return is_whole;
                  });
  return with_install(std::move(library));
}

Library<CublasLt> load_cublaslt() {
  constexpr std::array kNames = {"libcublasLt.so.13", "libcublasLt.so.12"};
  auto library = load<CublasLt>(
      kNames, "cuBLASLt, which has large matrix products,",
      [](void* handle, CublasLt& functions, std::string& reason) {
        bool is_whole = true;
        TRAINGRAPH_CUDA_CUBLASLT(FUNCTION)
        return is_whole;
      });
  return with_install(std::move(library));
}
#undef FUNCTION

/// Tried anew by each call until it is there.
template <class Functions, Library<Functions> (*load_it)()>
Library<Functions> loaded_once() {
  static std::mutex mutex;
  static Library<Functions> library;
  std::scoped_lock lock(mutex);
  if (library.functions == nullptr) library = load_it();
  return library;
}

}  // namespace

bool is_turned_off() {
  const char* const chosen = std::getenv(kPathVariable);
  return chosen != nullptr && std::string_view(chosen) == "off";
}

const Library<Driver>& driver_library() {
  static const auto* library = new Library<Driver>(load_driver());
  return *library;
}

Library<Nvrtc> nvrtc_library() { return loaded_once<Nvrtc, load_nvrtc>(); }

Library<CublasLt> cublaslt_library() {
  return loaded_once<CublasLt, load_cublaslt>();
}

}  // namespace traingraph::cuda
