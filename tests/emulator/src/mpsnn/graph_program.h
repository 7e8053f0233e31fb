// SPDX-License-Identifier: MIT
// FilterProgram: what an MPSNNGraph keeps of the nodes that it was made of.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#import "cnn_kernel.h"
#import "nodes.h"
#import "objects.h"
#import "retained.h"

namespace emulator::mpsnn {

inline constexpr int kNoStep = -1;

struct ImageSlot {
  Retained<id> handle{nil};
  Retained<id> allocator{nil};
  MPSImageFeatureChannelFormat format = MPSImageFeatureChannelFormatNone;
  bool is_exported = false, synchronizes = false;
  /// The filter that makes it.
  int step = kNoStep;
  int num_reads = 0;
  /// It is what encode returns.
  bool is_result = false;

  /// How often a temporary image may be read: by filters, by the caller as
  /// the result, by the caller as an intermediate image.
  int read_count() const { return num_reads + is_exported + is_result; }
};

struct StateSlot {
  Retained<id> handle{nil};
  Class state_class = Nil;
  bool is_exported = false, synchronizes = false;
  int step = kNoStep;
  int num_reads = 0, num_updates = 0;
  /// The host looks at it after the command buffer.
  bool is_kept = false;
};

struct Step {
  std::shared_ptr<FilterKernel> kernel;
  std::vector<int> sources, source_states;
  int image = 0;
  std::optional<int> state;
  Retained<id> padding{nil};
  Retained<MPSCNNKernel*> mps_kernel{nil};
  std::string name;
  bool is_gradient = false;
};

struct FilterProgram {
  std::vector<ImageSlot> images;
  std::vector<StateSlot> states;
  /// The steps are in an order that they can run in.
  std::vector<Step> steps;
  /// Slots, in the order of the public lists: neither that of creation nor
  /// that of use.
  std::vector<int> source_images, source_states, intermediates, result_states;
  /// Returned by encode, when it is needed.
  int result = 0;
  bool result_is_needed = true;
  /// Shared by everything that was encoded and did not run.
  std::shared_ptr<int> flight = std::make_shared<int>();

  bool is_in_flight() const { return flight.use_count() > 1; }
};

/// The program is null when a data source would not load. `needed` may be
/// empty: all are.
std::unique_ptr<FilterProgram> make_filter_program(
    id<MTLDevice> device, NSArray<MPSNNImageNode*>* results,
    const std::vector<bool>& needed);

struct GraphArguments {
  id<MTLCommandBuffer> buffer;
  NSArray<MPSImageBatch*>* source_images;
  NSArray<MPSStateBatch*>* source_states;
  NSMutableArray<MPSImageBatch*>* intermediates;
  NSMutableArray<MPSStateBatch*>* result_states;
  MPSImageFeatureChannelFormat format;
  id<MPSImageAllocator> allocator;
  bool states_are_temporary;
};

/// The result, when it is needed.
MPSImageBatch* encode(FilterProgram& program, const GraphArguments& arguments);

/// graph_placement.mm
struct Destination {
  Placement placement;
  Retained<MPSImageDescriptor*> descriptor{nil};
};
Destination destination_of(const Step& step, const Sizes& sizes,
                           NSArray<MPSImage*>* images,
                           NSArray<MPSState*>* states,
                           MPSImageFeatureChannelFormat format);

}  // namespace emulator::mpsnn
