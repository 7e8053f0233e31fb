// SPDX-License-Identifier: MIT
#include "cuda/code/kernel_store.h"

#include <algorithm>
#include <future>
#include <set>
#include <span>
#include <thread>

#include "cuda/code/compiler.h"

namespace traingraph::cuda {
namespace {

/// NVRTC takes 0.1 s to begin, and some milliseconds for each kernel.
constexpr std::size_t kKernelsPerModule = 12;

struct Module {
  Module(std::shared_ptr<const Card> card, const std::string& code)
      : card(std::move(card)) {
    this->card->check(
        this->card->driver().module_load_data(&handle, code.data()),
        "cuModuleLoadData");
  }
  ~Module() {
    if (card->try_make_current()) card->driver().module_unload(handle);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  std::shared_ptr<const Card> card;
  ModuleHandle handle = nullptr;
};

}  // namespace

std::vector<std::shared_ptr<const Kernel>> KernelStore::find(
    const std::vector<KernelText>& texts) {
  std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const Kernel>> found(texts.size());
  std::set<KernelText> missing;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto known = kernels_.find(texts[i]);
    if (known != kernels_.end()) found[i] = known->second.lock();
    if (!found[i]) missing.insert(texts[i]);
  }
  if (missing.empty()) return found;
  const auto loaded = load({missing.begin(), missing.end()});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!found[i]) found[i] = loaded.at(texts[i]);
  }
  std::erase_if(kernels_,
                [](const auto& each) { return each.second.expired(); });
  for (const auto& [text, kernel] : loaded) kernels_[text] = kernel;
  return found;
}

std::map<KernelText, std::shared_ptr<const Kernel>> KernelStore::load(
    const std::vector<KernelText>& texts) {
  using Texts = std::span<const KernelText>;
  std::vector<Texts> parts;
  for (std::size_t i = 0; i < texts.size(); i += kKernelsPerModule) {
    parts.push_back(
        Texts(texts).subspan(i, std::min(kKernelsPerModule, texts.size() - i)));
  }
  std::vector<std::future<std::string>> codes;
  for (const Texts part : parts) {
    codes.push_back(std::async(std::launch::async, [this, part] {
      return compile_kernels(part, card_->architecture());
    }));
  }
  card_->make_current();
  std::map<KernelText, std::shared_ptr<const Kernel>> kernels;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto module = std::make_shared<Module>(card_, codes[i].get());
    for (const KernelText& text : parts[i]) {
      auto kernel = std::make_shared<Kernel>();
      kernel->module = module;
      card_->check(
          card_->driver().module_get_function(&kernel->function, module->handle,
                                              kernel_name(text).c_str()),
          "cuModuleGetFunction");
      kernels[text] = std::move(kernel);
    }
  }
  return kernels;
}

}  // namespace traingraph::cuda
