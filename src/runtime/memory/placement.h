// SPDX-License-Identifier: MIT
// Placement: where a compiled graph lives on its device. Persistent tensors, by
// their index, have arenas by category that all plans share; every plan has one
// arena for the rest. It changes at compile and at link, never during a call.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "compiler/compile.h"
#include "compiler/merge.h"
#include "runtime/memory/arena.h"
#include "traingraph/memory.h"

namespace traingraph {

class Placement {
 public:
  /// Forgets everything but where parameters are: they stay on `context`.
  void reset(std::shared_ptr<DeviceContext> context);
  /// Forgets the optimizer's buffers.
  void drop_slots(TensorIndex first_slot);
  /// Gives every persistent tensor of a compilation its place. Throws
  /// StateError when a graph on another device holds one of them; then nothing
  /// has a place.
  void place(const Compilation& compilation, const UserObjects& objects);
  /// Plans whose arena has to grow for `compilation` although it is allocated.
  std::vector<PlanKind> outgrown(const Compilation& compilation) const;
  void size_arenas(const Compilation& compilation);

  /// Returns null when the tensor has no place of its own.
  const std::shared_ptr<ArenaStorage>& of(TensorIndex tensor) const;
  /// The tensor is elsewhere until redirect_back().
  void redirect(TensorIndex tensor, std::shared_ptr<ArenaStorage> storage);
  void redirect_back();

  const std::shared_ptr<DeviceContext>& context() const { return context_; }
  const std::shared_ptr<Arena>& arena(PlanKind kind) const {
    return arenas_[static_cast<int>(kind)];
  }
  Location locate(const CompiledProgram& program, const Plan& plan,
                  PlanKind kind, StorageId storage) const;
  /// Adds the sizes of arenas; staging and engine bytes are added elsewhere.
  void report(MemoryReport& report) const;
  /// Counts what the inputs of `compilation` take.
  std::size_t input_bytes(const Compilation& compilation) const;
  /// Counts the arenas in use, or those of `main` before the first execution.
  std::size_t arena_bytes(PlanKind main) const;

 private:
  enum class Category {
    Parameter,
    Statistic,
    Slot,
    Input,
    Constant,
    Accumulator
  };

  void place_parts(const MergedGraph& graph);
  void place_slots(const MergedGraph& graph, const UserObjects& objects);
  static std::vector<Category> categories(const Compilation& compilation);
  ArenaGroup& group(Category category) {
    return groups_[static_cast<int>(category)];
  }
  void place_all(const Compilation& compilation, const UserObjects& objects);
  std::shared_ptr<ArenaStorage> place_variable(
      const std::shared_ptr<TensorState>& tensor, Category category);
  void require_movable(const Tensor& tensor) const;
  bool is_own(const Arena& arena) const;

  std::shared_ptr<DeviceContext> context_;
  std::array<std::shared_ptr<Arena>, kNumPlanKinds> arenas_;
  std::array<ArenaGroup, 6> groups_;                   // by category
  std::vector<std::shared_ptr<ArenaStorage>> places_;  // by tensor
  std::vector<std::pair<TensorIndex, std::shared_ptr<ArenaStorage>>>
      redirected_;
  std::size_t shared_bytes_ = 0;
};

}  // namespace traingraph
