// SPDX-License-Identifier: MIT
#include "metal/compile_unit.h"

#include <mutex>

#import "metal/compile_graph.h"
#import "metal/kernel_code.h"
#include "metal/kernels/dropout.h"
#import "metal/mpsnn/compile_image_graph.h"
#include "metal/scratch.h"
#import "metal/update_code.h"

namespace traingraph::metal {
namespace {

/// Makes the parts of one unit, each by its engine.
class UnitCompiler {
 public:
  UnitCompiler(const GpuDevice& device, const Program& program,
               const GpuUnit& unit, const UnitArgs& args)
      : device_(device), program_(program), unit_(unit), args_(args) {}

  std::unique_ptr<UnitCode> run() {
    code_->label = label_of(program_, unit_);
    code_->estimated_ms = unit_.estimated_ms;
    code_->scratch_bytes = scratch_bytes(program_, unit_);
    switch (unit_.engine) {
      case Engine::Graph:
        for (std::size_t i = 0; i < unit_.masks.size(); ++i) add_mask(i);
        if (has_graph()) add(compile_graph(device_, program_, unit_, args_));
        add_in_place();
        break;
      case Engine::Kernel:
        add_dropout(program_.node(unit_.nodes.front()));
        break;
      case Engine::ImageGraph:
        code_->updates_variables = !unit_.updates.empty();
        add(compile_image_graph(device_, program_, unit_, args_));
        break;
      case Engine::Host:
        break;
    }
    add_write_backs();
    return std::move(code_);
  }

 private:
  /// Is there anything that MPSGraph computes?
  bool has_graph() const {
    return !unit_.targets.empty() || !unit_.updated.empty();
  }

  void add_in_place() {
    for (const bool is_deferred : args_.are_in_place_deferred) {
      auto& code = is_deferred ? code_->deferred_in_place : code_->in_place;
      if (code) continue;
      code = std::make_unique<UpdateCode>(device_, program_, unit_, args_,
                                          is_deferred);
    }
    code_->updates_variables |= code_->in_place != nullptr;
  }

  void add(std::unique_ptr<EngineCode> part) {
    code_->parts.push_back(std::move(part));
  }

  void add(KernelLaunch launch, std::vector<KernelCode::Buffer> buffers) {
    add(std::make_unique<KernelCode>(device_, std::move(launch),
                                     std::move(buffers)));
  }

  void add_mask(std::size_t i) {
    const Mask& mask = unit_.masks[i];
    const std::int64_t count = mask.desc.shape.num_elements();
    add(launch_dropout(Kernel::DropoutMask, mask.attrs, count),
        {{args_.states[i], sizeof(formulas::RandomState)},
         {args_.masks[i], mask.desc.size_bytes()}});
  }

  /// The unit's feeds are the node's inputs: the source, the random state.
  void add_dropout(const Node& node) {
    const TensorDescriptor& desc = program_.desc(node.outputs[0]);
    add(launch_dropout(Kernel::Dropout, std::get<DropoutAttrs>(node.attrs),
                       desc.shape.num_elements()),
        {{args_.feeds[1], sizeof(formulas::RandomState)},
         {args_.feeds[0], desc.size_bytes()},
         {args_.targets[0], desc.size_bytes()}});
  }

  void add_write_backs() {
    code_->write_backs = write_backs(program_, unit_, args_);
    for (const auto& write : code_->write_backs) {
      code_->updates_variables |= !write.is_deferred;
    }
  }

  const GpuDevice& device_;
  const Program& program_;
  const GpuUnit& unit_;
  const UnitArgs& args_;
  std::unique_ptr<MetalUnitCode> code_ = std::make_unique<MetalUnitCode>();
};

}  // namespace

std::unique_ptr<UnitCode> compile_unit(const GpuDevice& device,
                                       const Program& program,
                                       const GpuUnit& unit,
                                       const UnitArgs& args) {
  // MPSGraph does not say that graphs may be built on several threads.
  static auto* mutex = new std::mutex;
  std::scoped_lock lock(*mutex);
  return UnitCompiler(device, program, unit, args).run();
}

}  // namespace traingraph::metal
