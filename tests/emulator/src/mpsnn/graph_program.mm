// SPDX-License-Identifier: MIT
// From the results back to what they need.
#import "graph_program.h"

#include <algorithm>
#include <map>

@interface EmulatedHandle : NSObject <MPSHandle>
@end

/// Stands in the lists for nodes that have no handle.
@implementation EmulatedHandle
- (NSString*)label {
  return nil;
}
+ (BOOL)supportsSecureCoding {
  return YES;
}
- (void)encodeWithCoder:(NSCoder*)coder {
  (void)coder;
}
- (instancetype)initWithCoder:(NSCoder*)coder {
  (void)coder;
  return [self init];
}
@end

namespace emulator::mpsnn {
namespace {

constexpr const char* kProgram = "MPSNNGraph";

Retained<id> handle_or_blank(id<MPSHandle> handle) {
  if (handle) return Retained<id>(handle);
  return Retained<id>([[EmulatedHandle new] autorelease]);
}

/// Always the same order, never the one given.
std::vector<int> shuffled(std::vector<int> slots, unsigned seed) {
  const std::vector<int> given = slots;
  for (std::size_t i = slots.size(); i > 1; --i) {
    seed = seed * 1664525u + 1013904223u;
    std::swap(slots[i - 1], slots[(seed >> 16) % i]);
  }
  if (slots == given && slots.size() > 1) {
    std::rotate(slots.begin(), slots.begin() + 1, slots.end());
  }
  return slots;
}

class Builder {
 public:
  explicit Builder(id<MTLDevice> device)
      : build_(device), program_(std::make_unique<FilterProgram>()) {}

  std::unique_ptr<FilterProgram> run(NSArray<MPSNNImageNode*>* results,
                                     const std::vector<bool>& needed) {
    std::vector<int> result_slots;
    for (MPSNNImageNode* node in results) {
      if (![node producer])
        refuse(kProgram, @"no filter makes the result image");
      result_slots.push_back(visit(node));
    }
    if (build_.has_failed) return nullptr;
    for (std::size_t i = 0; i < result_slots.size(); ++i) {
      const bool is_needed = needed.empty() || needed[i];
      ImageSlot& slot = program_->images[result_slots[i]];
      if (i == 0) {
        program_->result = result_slots[0];
        program_->result_is_needed = is_needed;
        slot.is_result = is_needed;
      } else if (is_needed) {
        slot.is_exported = true;
      }
    }
    prune();
    count_reads();
    list_slots();
    return std::move(program_);
  }

 private:
  int visit(MPSNNImageNode* node) {
    auto found = images_.find(node);
    if (found != images_.end()) return found->second;
    const int slot = static_cast<int>(program_->images.size());
    images_[node] = slot;
    program_->images.emplace_back();
    ImageSlot& image = program_->images.back();
    image.handle = handle_or_blank([node handle]);
    image.allocator = Retained<id>([node imageAllocator]);
    image.format = [node format];
    image.is_exported = [node exportFromGraph];
    image.synchronizes = [node synchronizeResource];
    if (MPSNNFilterNode* filter = [node producer]) {
      const int step = visit_filter(filter);
      program_->images[slot].step = step;
      program_->steps[step].image = slot;
    } else {
      // The caller has it already.
      image.is_exported = false;
    }
    return slot;
  }

  int visit_state(MPSNNStateNode* node) {
    auto found = states_.find(node);
    if (found != states_.end()) return found->second;
    const int slot = static_cast<int>(program_->states.size());
    states_[node] = slot;
    program_->states.emplace_back();
    StateSlot& state = program_->states.back();
    state.handle = handle_or_blank([node handle]);
    state.is_exported = [node exportFromGraph] && [node producer];
    state.synchronizes = [node synchronizeResource];
    if (MPSNNFilterNode* filter = [node producer]) {
      state.state_class = [filter stateClass];
      const int step = visit_filter(filter);
      program_->states[slot].step = step;
      program_->steps[step].state = slot;
    }
    return slot;
  }

  int visit_filter(MPSNNFilterNode* filter) {
    auto found = filters_.find(filter);
    if (found != filters_.end()) return found->second;
    Step step;
    for (MPSNNImageNode* node in [filter sourceImages]) {
      step.sources.push_back(visit(node));
    }
    for (MPSNNStateNode* node in [filter sourceStates]) {
      step.source_states.push_back(visit_state(node));
    }
    step.kernel = [filter makeKernel:build_];
    step.padding = Retained<id>([filter paddingPolicy]);
    step.name = object_getClassName(filter);
    step.is_gradient = [filter isKindOfClass:[MPSNNGradientFilterNode class]];
    const Window window = step.kernel->window().value_or(Window{});
    Class kernel_class = window.is_reverse ? [MPSCNNConvolutionTranspose class]
                                           : [MPSCNNKernel class];
    step.mps_kernel = Retained<MPSCNNKernel*>([[[kernel_class alloc]
        initWithDevice:build_.device()
                window:window
              edgeMode:step.kernel->edge_mode()] autorelease]);
    const int index = static_cast<int>(program_->steps.size());
    filters_[filter] = index;
    program_->steps.push_back(std::move(step));
    // Reached through its state alone, it has a result nevertheless.
    const int slot = visit([filter resultImage]);
    program_->images[slot].step = index;
    program_->steps[index].image = slot;
    return index;
  }

  /// Leaves what makes a needed image or an exported state, or updates
  /// something. An exported state also keeps the gradient that writes into it.
  void prune() {
    std::vector<Step>& steps = program_->steps;
    std::vector<bool> is_required(steps.size());
    for (std::size_t i = steps.size(); i-- > 0;) {
      const Step& step = steps[i];
      const ImageSlot& image = program_->images[step.image];
      bool keep = is_required[i] || image.is_exported || image.is_result ||
                  step.kernel->has_side_effects();
      if (step.state && program_->states[*step.state].is_exported) keep = true;
      for (int state : step.source_states) {
        if (step.is_gradient && program_->states[state].is_exported) {
          keep = true;
        }
      }
      is_required[i] = keep;
      if (!keep) continue;
      for (int source : step.sources) require_step(is_required, source);
      for (int state : step.source_states) {
        const int maker = program_->states[state].step;
        if (maker != kNoStep) is_required[maker] = true;
      }
    }
    std::vector<Step> kept;
    std::vector<int> new_index(steps.size(), kNoStep);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!is_required[i]) continue;
      new_index[i] = static_cast<int>(kept.size());
      kept.push_back(std::move(steps[i]));
    }
    steps = std::move(kept);
    for (ImageSlot& image : program_->images) {
      if (image.step != kNoStep) image.step = new_index[image.step];
    }
    for (StateSlot& state : program_->states) {
      if (state.step != kNoStep) state.step = new_index[state.step];
    }
  }

  void require_step(std::vector<bool>& is_required, int image) {
    const int maker = program_->images[image].step;
    if (maker != kNoStep) is_required[maker] = true;
  }

  void count_reads() {
    for (const Step& step : program_->steps) {
      for (int source : step.sources) ++program_->images[source].num_reads;
      for (int state : step.source_states) {
        StateSlot& slot = program_->states[state];
        ++slot.num_reads;
        slot.num_updates += step.kernel->num_updates();
        if (step.kernel->keeps_states()) slot.is_kept = true;
      }
    }
    for (Step& step : program_->steps) {
      const bool is_read =
          step.state && program_->states[*step.state].num_reads > 0;
      step.kernel->set_state_is_consumed(is_read);
      // A state that a pruned filter would have read.
      if (step.state && !is_read &&
          !program_->states[*step.state].is_exported) {
        step.state.reset();
      }
    }
  }

  void list_slots() {
    FilterProgram& program = *program_;
    for (std::size_t i = 0; i < program.images.size(); ++i) {
      const ImageSlot& image = program.images[i];
      const int slot = static_cast<int>(i);
      if (image.step == kNoStep && image.num_reads > 0) {
        program.source_images.push_back(slot);
      }
      if (image.step != kNoStep && image.is_exported) {
        program.intermediates.push_back(slot);
      }
    }
    for (std::size_t i = 0; i < program.states.size(); ++i) {
      const StateSlot& state = program.states[i];
      const int slot = static_cast<int>(i);
      if (state.step == kNoStep && state.num_reads > 0) {
        program.source_states.push_back(slot);
      }
      if (state.step != kNoStep && state.is_exported) {
        program.result_states.push_back(slot);
      }
    }
    auto by_use = [](const auto& slots) {
      return [&slots](int a, int b) { return slots[a].step < slots[b].step; };
    };
    std::sort(program.intermediates.begin(), program.intermediates.end(),
              by_use(program.images));
    std::sort(program.result_states.begin(), program.result_states.end(),
              by_use(program.states));
    program.source_images = shuffled(program.source_images, 11);
    program.source_states = shuffled(program.source_states, 22);
    program.intermediates = shuffled(program.intermediates, 33);
    program.result_states = shuffled(program.result_states, 44);
  }

  GraphBuild build_;
  std::unique_ptr<FilterProgram> program_;
  std::map<MPSNNImageNode*, int> images_;
  std::map<MPSNNStateNode*, int> states_;
  std::map<MPSNNFilterNode*, int> filters_;
};

}  // namespace

std::unique_ptr<FilterProgram> make_filter_program(
    id<MTLDevice> device, NSArray<MPSNNImageNode*>* results,
    const std::vector<bool>& needed) {
  return Builder(device).run(results, needed);
}

}  // namespace emulator::mpsnn
