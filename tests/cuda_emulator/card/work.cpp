// SPDX-License-Identifier: MIT
#include "card/work.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string>

#include "nvrtc/image.h"

namespace cuda_emulator {
namespace {

/// Blocks run one at a time, of whatever stream.
std::mutex& execution() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::uint64_t seed() {
  const char* text = std::getenv("TRAINGRAPH_CUDA_EMULATOR_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

Random next_random() {
  static std::atomic<std::uint64_t> num_runs;
  return Random(Random(seed() + (num_runs++ << 32)).next());
}

/// A kernel some of whose blocks are to run.
struct Active {
  int node;
  Grid grid;
  std::vector<unsigned> blocks;
};

Active activate(const std::vector<Node>& nodes, int index) {
  const Node& node = nodes[static_cast<std::size_t>(index)];
  Active active{.node = index, .grid = {}, .blocks = {}};
  if (!node.kernel) return active;
  const KernelCall& call = *node.kernel;
  active.grid = {.module = &call.module->content(),
                 .kernel = call.kernel,
                 .parameters = call.parameters->addresses(),
                 .size = call.grid,
                 .block_size = call.block,
                 .shared_bytes = call.shared_bytes,
                 .must_wait = node.must_wait};
  active.blocks.resize(std::size_t{call.grid.x} * call.grid.y * call.grid.z);
  std::iota(active.blocks.begin(), active.blocks.end(), 0u);
  return active;
}

template <class T>
T take(std::vector<T>& from, Random& random) {
  std::swap(from[random.below(from.size())], from.back());
  T taken = std::move(from.back());
  from.pop_back();
  return taken;
}

Fault explained(const Fault& fault, const Kernel& kernel) {
  return {fault.result, "kernel " + std::string(kernel.name) + ": " +
                            fault.text + " (seed " + std::to_string(seed()) +
                            ")"};
}

std::optional<Fault> run_one_block(Active& active, Random& random) {
  const unsigned linear = take(active.blocks, random);
  const Index3 size = active.grid.size;
  std::scoped_lock lock(execution());
  return run_block(
      active.grid,
      {linear % size.x, linear / size.x % size.y, linear / size.x / size.y},
      random);
}

}  // namespace

std::shared_ptr<LoadedModule> LoadedModule::load(const void* image) {
  ImageHeader header;
  std::memcpy(&header, image, sizeof header);
  if (header.magic != kImageMagic) return nullptr;
  std::string path = "/tmp/cuda_emulator_XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return nullptr;
  const auto* code = static_cast<const char*>(image) + sizeof header;
  const bool is_written =
      write(file, code, header.bytes) == static_cast<ssize_t>(header.bytes);
  close(file);
  std::shared_ptr<LoadedModule> module(new LoadedModule);
  if (is_written) module->handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module->handle_ == nullptr) {
    std::fprintf(stderr, "cuda_emulator: %s\n", dlerror());
  }
  unlink(path.c_str());
  if (module->handle_ == nullptr) return nullptr;
  module->module_ = static_cast<const Module*>(
      dlsym(module->handle_, "cuda_emulator_module"));
  return module->module_ == nullptr ? nullptr : module;
}

LoadedModule::~LoadedModule() {
  if (handle_ != nullptr) dlclose(handle_);
}

Parameters::Parameters(const Kernel& kernel, void** values) {
  constexpr std::size_t kAlignment = 16;
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  for (unsigned i = 0; i < kernel.num_parameters; ++i) {
    offsets.push_back(bytes);
    bytes +=
        (kernel.parameter_bytes[i] + kAlignment - 1) / kAlignment * kAlignment;
  }
  bytes_ = std::make_unique<std::byte[]>(bytes);
  addresses_ = std::make_unique<void*[]>(kernel.num_parameters);
  for (unsigned i = 0; i < kernel.num_parameters; ++i) {
    addresses_[i] = bytes_.get() + offsets[i];
    std::memcpy(addresses_[i], values[i], kernel.parameter_bytes[i]);
  }
}

std::optional<Fault> run(const std::vector<Node>& nodes,
                         const std::function<std::string()>& damage) {
  Random random = next_random();
  std::vector<int> missing;
  std::vector<Active> active;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    missing.push_back(nodes[i].num_before);
    if (nodes[i].num_before == 0) {
      active.push_back(activate(nodes, static_cast<int>(i)));
    }
  }
  while (!active.empty()) {
    const std::uint32_t chosen = random.below(active.size());
    std::swap(active[chosen], active.back());
    Active& current = active.back();
    const Node& node = nodes[static_cast<std::size_t>(current.node)];
    if (node.kernel) {
      const Kernel& kernel = *node.kernel->kernel;
      if (auto fault = run_one_block(current, random)) {
        return explained(*fault, kernel);
      }
      if (!current.blocks.empty()) continue;
      if (const std::string where = damage(); !where.empty()) {
        return explained(
            {kIllegalAddress, "somebody writes " + where + ", in or before it"},
            kernel);
      }
    } else if (node.other) {
      node.other();
    }
    active.pop_back();
    for (const int next : node.followers) {
      if (--missing[static_cast<std::size_t>(next)] == 0) {
        active.push_back(activate(nodes, next));
      }
    }
  }
  return std::nullopt;
}

}  // namespace cuda_emulator
