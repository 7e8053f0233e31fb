// SPDX-License-Identifier: MIT
// MPSCNNDropoutGradientState, MPSCNNDropoutNode and
// MPSCNNDropoutGradientNode.
#import <MPSNeuralNetwork/MPSCNNDropoutNodes.h>

#include <limits>

#include "mpsnn/arithmetic/dropout.h"
#import "mpsnn/nodes/node_class.h"
#include "mpsnn/picture_kernels.h"
#import "mpsnn/states.h"

using emulator::refuse;

namespace emulator::mpsnn {
namespace {

struct DropoutState : FilterState {
  Picture mask;

  void poison() override {
    for (float& value : mask.data) {
      value = std::numeric_limits<float>::quiet_NaN();
    }
  }
};

struct Dropout {
  double keep_probability = 0.5;
  std::uint64_t seed = 0;
  MaskStrides strides;
};

Dropout checked_dropout(const char* name, float keep_probability,
                        NSUInteger seed, MTLSize strides) {
  if (!(keep_probability > 0 && keep_probability < 1)) {
    refuse(name, @"keepProbability %g is not between 0 and 1",
           keep_probability);
  }
  if (strides.width > 1 || strides.height > 1 || strides.depth > 1) {
    refuse(name, @"mask strides are 0 or 1");
  }
  return {keep_probability,
          seed,
          {std::int64_t(strides.width), std::int64_t(strides.height),
           std::int64_t(strides.depth)}};
}

/// Its masks go on from encoding to encoding, and begin anew only with a new
/// graph.
class DropoutKernel : public FilterKernel {
 public:
  explicit DropoutKernel(const Dropout& dropout)
      : dropout_(dropout), generator_(dropout.seed) {}

  bool has_state_per_image() const override { return true; }
  std::shared_ptr<FilterState> make_state(const StateRequest&) override {
    return std::make_shared<DropoutState>();
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      const Picture& source = (*run.sources[0])[i];
      const Picture mask = generator_.mask(source.extent, dropout_.strides,
                                           dropout_.keep_probability);
      (*run.result)[i] =
          apply_mask(source, mask, dropout_.strides, dropout_.keep_probability);
      if (auto* state = run.own_state<DropoutState>(i)) state->mask = mask;
    }
  }

 private:
  Dropout dropout_;
  MaskGenerator generator_;
};

class DropoutGradientKernel : public GradientKernel {
 public:
  DropoutGradientKernel(const char* name, const Dropout& dropout)
      : name_(name), dropout_(dropout) {}

  Extent result_extent(const Sizes& sizes) const override {
    if (!dynamic_cast<const DropoutState*>(sizes.states[0])) {
      refuse_filter(name_, "the state is of another filter");
    }
    require_gradient(name_, sizes.sources[0], sizes.sources[1]);
    return sizes.sources[1];
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] =
          apply_mask((*run.sources[0])[i], run.state<DropoutState>(0, i).mask,
                     dropout_.strides, dropout_.keep_probability);
    }
  }

 private:
  const char* name_;
  Dropout dropout_;
};

}  // namespace
}  // namespace emulator::mpsnn

using emulator::mpsnn::checked_dropout;

@implementation MPSCNNDropoutGradientState
- (NSData*)maskData {
  const auto state = std::static_pointer_cast<emulator::mpsnn::DropoutState>(
      [self filterState]);
  NSMutableData* data = [NSMutableData data];
  for (float value : state->mask.data) {
    const std::uint8_t is_kept = value == 1;
    [data appendBytes:&is_kept length:1];
  }
  return data;
}
@end

@implementation MPSCNNDropoutNode
@synthesize keepProbability = _keepProbability, seed = _seed,
            maskStrideInPixels = _maskStrideInPixels;

// The defaults are not documented.
NODE() { return [self initWithSource:source keepProbability:0.5f]; }
NODE((float, keepProbability)) {
  return [self initWithSource:source
              keepProbability:keepProbability
                         seed:0
           maskStrideInPixels:MTLSizeMake(1, 1, 1)];
}
NODE(EMULATED_DROPOUT) {
  checked_dropout(object_getClassName(self), keepProbability, seed,
                  maskStrideInPixels);
  self = [super initWithSources:emulator::mpsnn::only(source) states:nil];
  EMULATED_EACH(EMULATED_KEEP, EMULATED_DROPOUT)
  return self;
}

KERNEL(std::make_shared<emulator::mpsnn::DropoutKernel>(checked_dropout(
    object_getClassName(self), _keepProbability, _seed, _maskStrideInPixels)))
- (Class)stateClass {
  return [MPSCNNDropoutGradientState class];
}

GRADIENT(MPSCNNDropoutGradientNode,
         keepProbability : _keepProbability seed : _seed
             maskStrideInPixels : _maskStrideInPixels)
@end

@implementation MPSCNNDropoutGradientNode
@synthesize keepProbability = _keepProbability, seed = _seed,
            maskStrideInPixels = _maskStrideInPixels;

GRADIENT_NODE(EMULATED_DROPOUT) {
  checked_dropout(object_getClassName(self), keepProbability, seed,
                  maskStrideInPixels);
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  EMULATED_EACH(EMULATED_KEEP, EMULATED_DROPOUT)
  return self;
}

KERNEL(std::make_shared<emulator::mpsnn::DropoutGradientKernel>(
    object_getClassName(self),
    checked_dropout(object_getClassName(self), _keepProbability, _seed,
                    _maskStrideInPixels)))
@end
