// SPDX-License-Identifier: MIT
// The kernels that are loaded on a card, by their text.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/card.h"
#include "cuda/code/kernel.h"

namespace traingraph::cuda {

class KernelStore {
 public:
  explicit KernelStore(std::shared_ptr<const Card> card)
      : card_(std::move(card)) {}

  /// Returns the kernels of `texts`, in their order. What is not loaded is
  /// compiled, several modules at once. Throws as compile_kernels() does.
  std::vector<std::shared_ptr<const Kernel>> find(
      const std::vector<KernelText>& texts);

 private:
  std::map<KernelText, std::shared_ptr<const Kernel>> load(
      const std::vector<KernelText>& texts);

  const std::shared_ptr<const Card> card_;
  std::mutex mutex_;
  /// Those that a graph uses: programs keep theirs alive.
  std::map<KernelText, std::weak_ptr<const Kernel>> kernels_;
};

}  // namespace traingraph::cuda
