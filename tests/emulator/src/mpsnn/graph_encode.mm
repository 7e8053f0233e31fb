// SPDX-License-Identifier: MIT
// Encoding of an MPSNNGraph: images and states are made and read counts
// settled now, the filters run when the command buffer does.
#include <algorithm>

#import "encoding.h"
#include "faults.h"
#import "graph_program.h"
#import "images.h"
#import "states.h"

namespace emulator::mpsnn {
namespace {

constexpr const char* kEncode = "MPSNNGraph encode";

using ImageBatch = Retained<MPSImageBatch*>;
using StateBatch = Retained<MPSStateBatch*>;

/// One filter of one encoding, on the device's thread.
struct StepRun {
  std::shared_ptr<FilterKernel> kernel;
  Placement placement;
  Answer answer;
  std::vector<ImageBatch> sources;
  std::vector<StateBatch> states;
  std::vector<std::shared_ptr<FilterState>> own_states;
  ImageBatch result{nil};
  std::shared_ptr<int> flight;

  int run() const {
    std::vector<Pictures> pictures;
    for (const ImageBatch& batch : sources) {
      pictures.emplace_back();
      for (MPSImage* image in batch.get()) {
        pictures.back().push_back([image picture]);
      }
    }
    Pictures results([result.get() count], Picture(placement.result));
    FilterRun run;
    for (const Pictures& source : pictures) run.sources.push_back(&source);
    for (const StateBatch& batch : states) {
      run.states.emplace_back();
      for (MPSState* state in batch.get()) {
        run.states.back().push_back([state filterState].get());
      }
    }
    for (const auto& state : own_states) run.own_states.push_back(state.get());
    run.placement = placement;
    run.answer = answer;
    run.result = &results;
    kernel->run(run);
    for (NSUInteger i = 0; i < results.size(); ++i) {
      [[result.get() objectAtIndex:i] setPicture:results[i]];
    }
    return 0;
  }
};

class Encoder {
 public:
  Encoder(FilterProgram& program, const GraphArguments& arguments)
      : program_(program), arguments_(arguments) {
    images_.assign(program.images.size(), nil);
    states_.assign(program.states.size(), nil);
  }

  MPSImageBatch* run() {
    take_images();
    take_states();
    const int num_steps = static_cast<int>(program_.steps.size());
    const int commits = num_commits();
    for (int i = 0, done = 0; i < num_steps; ++i) {
      encode(program_.steps[i]);
      for (;
           done < commits && (i + 1) * (commits + 1) >= num_steps * (done + 1);
           ++done) {
        go_on();
      }
    }
    record(kEncode, buffer(), [] {
      count_filter_graph_run();
      return 0;
    });
    if (meets_encode_fault()) refuse(kEncode, @"fails on demand");
    for (int slot : program_.intermediates) {
      [arguments_.intermediates addObject:images_[slot]];
    }
    for (int slot : program_.result_states) {
      [arguments_.result_states addObject:states_[slot]];
    }
    return program_.result_is_needed ? images_[program_.result] : nil;
  }

 private:
  id<MTLCommandBuffer> buffer() const { return arguments_.buffer; }

  void take_images() {
    if (!buffer()) refuse(kEncode, @"the command buffer is nil");
    record(kEncode, buffer(), nullptr);
    NSArray* given = arguments_.source_images;
    if ([given count] != program_.source_images.size()) {
      refuse(kEncode, @"%lu source images, %lu expected",
             (unsigned long)[given count],
             (unsigned long)program_.source_images.size());
    }
    for (NSUInteger i = 0; i < [given count]; ++i) {
      MPSImageBatch* batch = [given objectAtIndex:i];
      if (![batch isKindOfClass:[NSArray class]]) {
        refuse(kEncode, @"source image %lu is no batch", (unsigned long)i);
      }
      require_batch(kEncode, batch);
      if (i == 0) batch_size_ = [batch count];
      if ([batch count] != batch_size_) {
        refuse(kEncode, @"source images %lu are %lu, not %lu", (unsigned long)i,
               (unsigned long)[batch count], (unsigned long)batch_size_);
      }
      const int slot = program_.source_images[i];
      const NSUInteger reads = program_.images[slot].num_reads;
      for (MPSImage* image in batch) {
        [image require:kEncode usableOn:buffer()];
        if (![image isKindOfClass:[MPSTemporaryImage class]]) continue;
        if ([(MPSTemporaryImage*)image readCount] >= reads) continue;
        refuse(kEncode,
               @"source image %lu is read %lu times, its read count is %lu",
               (unsigned long)i, (unsigned long)reads,
               (unsigned long)[(MPSTemporaryImage*)image readCount]);
      }
      images_[slot] = batch;
    }
  }

  void take_states() {
    NSArray* given = arguments_.source_states;
    if ([given count] != program_.source_states.size()) {
      refuse(kEncode, @"%lu source states, %lu expected",
             (unsigned long)[given count],
             (unsigned long)program_.source_states.size());
    }
    for (NSUInteger i = 0; i < [given count]; ++i) {
      MPSStateBatch* batch = [given objectAtIndex:i];
      if (![batch isKindOfClass:[NSArray class]] ||
          [batch count] != batch_size_) {
        refuse(kEncode, @"source state %lu: %lu states for %lu images",
               (unsigned long)i, (unsigned long)[batch count],
               (unsigned long)batch_size_);
      }
      for (MPSState* state in batch) {
        if (![state isKindOfClass:[MPSState class]]) {
          refuse(kEncode, @"%@ is no MPSState", state);
        }
        [state require:kEncode usableOn:buffer()];
      }
      states_[program_.source_states[i]] = batch;
    }
  }

  /// Counts as Apple does with an MPSCommandBuffer.
  int num_commits() {
    if (![buffer() isKindOfClass:[MPSCommandBuffer class]]) return 0;
    return commits_of_encode();
  }
  void go_on() {
    auto* own = (MPSCommandBuffer*)buffer();
    if (commits_silently()) return [own replaceCommandBuffer];
    [[MPSCommandBuffer commandBufferWithCommandBuffer:own] commitAndContinue];
  }

  void encode(const Step& step) {
    auto run = std::make_shared<StepRun>();
    run->kernel = step.kernel;
    run->flight = program_.flight;
    Sizes sizes;
    NSMutableArray* first_images = [NSMutableArray array];
    NSMutableArray* first_states = [NSMutableArray array];
    for (int source : step.sources) {
      MPSImageBatch* batch = images_[source];
      for (MPSImage* image in batch) {
        [image require:step.name.c_str() usableOn:buffer()];
      }
      run->sources.emplace_back(batch);
      [first_images addObject:[batch objectAtIndex:0]];
      sizes.sources.push_back(extent_of([batch objectAtIndex:0]));
    }
    for (int state : step.source_states) {
      MPSStateBatch* batch = states_[state];
      for (MPSState* one in batch) {
        [one require:step.name.c_str() usableOn:buffer()];
      }
      run->states.emplace_back(batch);
      [first_states addObject:[batch objectAtIndex:0]];
      sizes.states.push_back([[batch objectAtIndex:0] filterState].get());
    }
    const ImageSlot& image = program_.images[step.image];
    const Destination destination =
        destination_of(step, sizes, first_images, first_states,
                       image.format ? image.format : arguments_.format);
    run->placement = destination.placement;
    run->result = ImageBatch(allocate(step, destination));
    images_[step.image] = run->result.get();
    run->answer = step.kernel->ask(
        {[first_images objectAtIndex:0], [run->result.get() objectAtIndex:0]});
    if (step.state) make_states(step, *run, sizes);
    record(step.name.c_str(), buffer(), [run, name = step.name] {
      count_filter_run(name);
      return run->run();
    });
    if (image.synchronizes) {
      MPSImageBatchSynchronize(run->result.get(), buffer());
    }
    settle(step);
  }

  MPSImageBatch* allocate(const Step& step, const Destination& destination) {
    const ImageSlot& slot = program_.images[step.image];
    id<MPSImageAllocator> allocator =
        slot.is_result ? arguments_.allocator : slot.allocator.get();
    MPSImageDescriptor* descriptor = destination.descriptor.get();
    MPSKernel* kernel = step.mps_kernel.get();
    MPSImageBatch* batch;
    if ([allocator respondsToSelector:@selector
                   (imageBatchForCommandBuffer:
                               imageDescriptor:kernel:count:)]) {
      batch = [allocator imageBatchForCommandBuffer:buffer()
                                    imageDescriptor:descriptor
                                             kernel:kernel
                                              count:batch_size_];
    } else {
      NSMutableArray* images = [NSMutableArray array];
      for (NSUInteger i = 0; i < batch_size_; ++i) {
        [images addObject:[allocator imageForCommandBuffer:buffer()
                                           imageDescriptor:descriptor
                                                    kernel:kernel]];
      }
      batch = images;
    }
    require_batch(step.name.c_str(), batch);
    if ([batch count] != batch_size_ ||
        !(extent_of([batch objectAtIndex:0]) == destination.placement.result)) {
      refuse(step.name.c_str(), @"the allocator made other images");
    }
    const NSUInteger count = slot.read_count();
    for (MPSImage* image in batch) {
      if (![image isKindOfClass:[MPSTemporaryImage class]]) continue;
      [(MPSTemporaryImage*)image setReadCount:std::max<NSUInteger>(count, 1)];
    }
    return batch;
  }

  void make_states(const Step& step, StepRun& run, const Sizes& sizes) {
    const StateSlot& slot = program_.states[*step.state];
    const bool is_kept =
        slot.is_kept || (slot.is_exported && !arguments_.states_are_temporary);
    const NSUInteger num_states =
        step.kernel->has_state_per_image() ? batch_size_ : 1;
    NSMutableArray* batch = [NSMutableArray array];
    for (NSUInteger i = 0; i < num_states; ++i) {
      auto state = step.kernel->make_state({[buffer() device], !is_kept});
      state->sources = sizes.sources;
      state->placement = run.placement;
      state->answer = run.answer;
      MPSState* object = [[[slot.state_class alloc]
          initWithFilterState:state
                commandBuffer:is_kept ? nil : buffer()] autorelease];
      [object
          setReadCount:slot.num_reads + slot.num_updates + slot.is_exported];
      [batch addObject:object];
    }
    while ([batch count] < batch_size_) {
      [batch addObject:[batch objectAtIndex:0]];
    }
    for (MPSState* state in batch) {
      run.own_states.push_back([state filterState]);
    }
    states_[*step.state] = batch;
  }

  /// Reads are counted when they are encoded.
  void settle(const Step& step) {
    for (int source : step.sources) {
      for (MPSImage* image in images_[source]) [image countRead];
    }
    // Nobody will ever read it.
    const ImageSlot& slot = program_.images[step.image];
    if (slot.read_count() == 0) {
      for (MPSImage* image in images_[step.image]) [image countRead];
    }
    NSMutableArray* states = [NSMutableArray array];
    std::vector<NSUInteger> counts;
    for (int state : step.source_states) {
      MPSStateBatchIncrementReadCount(states_[state], -1);
      [states addObject:states_[state]];
      counts.push_back([[states_[state] objectAtIndex:0] readCount]);
    }
    step.kernel->encode_update({buffer(), states});
    const NSUInteger used = step.kernel->num_updates();
    for (NSUInteger i = 0; i < counts.size(); ++i) {
      MPSState* state = [[states objectAtIndex:i] objectAtIndex:0];
      if (![state isTemporary] || counts[i] - [state readCount] == used) {
        continue;
      }
      refuse(step.name.c_str(),
             @"the data source's update shall lower the state's read count by "
             @"%lu, not by %ld",
             (unsigned long)used, (long)(counts[i] - [state readCount]));
    }
    if (step.state && program_.states[*step.state].synchronizes) {
      MPSStateBatchSynchronize(states_[*step.state], buffer());
    }
  }

  FilterProgram& program_;
  const GraphArguments& arguments_;
  NSUInteger batch_size_ = 0;
  std::vector<MPSImageBatch*> images_;
  std::vector<MPSStateBatch*> states_;
};

}  // namespace

MPSImageBatch* encode(FilterProgram& program, const GraphArguments& arguments) {
  return Encoder(program, arguments).run();
}

}  // namespace emulator::mpsnn
