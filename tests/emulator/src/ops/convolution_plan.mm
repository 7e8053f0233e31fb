// SPDX-License-Identifier: MIT
#include "convolution_plan.h"

#include <algorithm>

#include "../arithmetic/index.h"
#include "layouts.h"

namespace emulator {
namespace {

void require_rank_4(const char* op, const Dims& source, const Dims& weights) {
  if (source.size() == 4 && weights.size() == 4) return;
  refuse(op, @"source %@ and weights %@ must have rank 4", describe(source),
         describe(weights));
}

/// Strides, dilation and padding of one axis of a 2-D descriptor.
template <class Descriptor>
Extent extent_in_y(Descriptor* d) {
  return {0,
          0,
          std::int64_t([d strideInY]),
          std::int64_t([d dilationRateInY]),
          std::int64_t([d paddingTop]),
          std::int64_t([d paddingBottom])};
}
template <class Descriptor>
Extent extent_in_x(Descriptor* d) {
  return {0,
          0,
          std::int64_t([d strideInX]),
          std::int64_t([d dilationRateInX]),
          std::int64_t([d paddingLeft]),
          std::int64_t([d paddingRight])};
}

void set_axis(const char* op, Convolution& c, int axis, Extent extent,
              std::int64_t source, std::int64_t kernel,
              MPSGraphPaddingStyle style) {
  extent.source = source;
  extent.kernel = kernel;
  const Placement placement = place(op, extent, style);
  c.source[axis] = source;
  c.kernel[axis] = kernel;
  c.stride[axis] = extent.stride;
  c.dilation[axis] = extent.dilation;
  c.before[axis] = placement.before;
  c.result[axis] = placement.result;
}

DataSteps data_steps(const Dims& dims, const Layout& at) {
  const Dims strides = strides_of(dims);
  return {strides[at.first],
          strides[at.second],
          {0, strides[at.height], strides[at.width]}};
}

/// What all 2-D convolutions share; channels are still to be set.
template <class Descriptor>
ConvolutionPlan plan_2d(const char* op, const Dims& source, const Dims& weights,
                        Descriptor* d, std::int64_t output_channels) {
  const Layout data = data_layout(op, [d dataLayout]);
  const Layout kernel = weights_layout(op, [d weightsLayout]);
  ConvolutionPlan plan{{}, source, weights, source};
  Convolution& c = plan.convolution;
  c.batch = source[data.first];
  set_axis(op, c, 1, extent_in_y(d), source[data.height],
           weights[kernel.height], [d paddingStyle]);
  set_axis(op, c, 2, extent_in_x(d), source[data.width], weights[kernel.width],
           [d paddingStyle]);
  plan.result[data.second] = output_channels;
  plan.result[data.height] = c.result[1];
  plan.result[data.width] = c.result[2];
  c.source_steps = data_steps(source, data);
  c.result_steps = data_steps(plan.result, data);
  const Dims strides = strides_of(weights);
  c.weight_steps.space = {0, strides[kernel.height], strides[kernel.width]};
  return plan;
}

}  // namespace

ConvolutionPlan plan_convolution(const char* op, const Dims& source,
                                 const Dims& weights,
                                 MPSGraphConvolution2DOpDescriptor* d) {
  constexpr std::int64_t kMaxChannels = 65536;
  if (d == nil) refuse(op, @"the descriptor is nil");
  require_rank_4(op, source, weights);
  const Layout kernel = weights_layout(op, [d weightsLayout]);
  const std::int64_t channels = source[data_layout(op, [d dataLayout]).second];
  const std::int64_t outputs = weights[kernel.first];
  const std::int64_t inputs = weights[kernel.second];
  const auto groups = static_cast<std::int64_t>([d groups]);
  if (groups < 1 || inputs * groups != channels || outputs % groups != 0) {
    refuse(op, @"weights %@ in %lld groups do not fit the source %@",
           describe(weights), (long long)groups, describe(source));
  }
  if (outputs > kMaxChannels) {
    refuse(op, @"%lld output channels are too many", (long long)outputs);
  }
  ConvolutionPlan plan = plan_2d(op, source, weights, d, outputs);
  Convolution& c = plan.convolution;
  const Dims strides = strides_of(weights);
  c.groups = groups;
  c.inputs = inputs;
  c.outputs = outputs / groups;
  c.weight_steps.output = strides[kernel.first];
  c.weight_steps.input = strides[kernel.second];
  c.weight_steps.group = c.outputs * c.weight_steps.output;
  return plan;
}

// The weights' "output" is how many results each channel has.
ConvolutionPlan plan_convolution(
    const char* op, const Dims& source, const Dims& weights,
    MPSGraphDepthwiseConvolution2DOpDescriptor* d) {
  if (d == nil) refuse(op, @"the descriptor is nil");
  require_rank_4(op, source, weights);
  const Layout kernel = weights_layout(op, [d weightsLayout]);
  const std::int64_t channels = source[data_layout(op, [d dataLayout]).second];
  const std::int64_t multiplier = weights[kernel.first];
  if (weights[kernel.second] != channels) {
    refuse(op, @"weights %@ do not have the channels of the source %@",
           describe(weights), describe(source));
  }
  ConvolutionPlan plan = plan_2d(op, source, weights, d, channels * multiplier);
  Convolution& c = plan.convolution;
  const Dims strides = strides_of(weights);
  c.groups = channels;
  c.outputs = multiplier;
  c.weight_steps.output = strides[kernel.first];
  c.weight_steps.group = strides[kernel.second];
  return plan;
}

// The last four axes are the channels and three axes of space.
ConvolutionPlan plan_convolution(
    const char* op, const Dims& source, const Dims& weights,
    MPSGraphDepthwiseConvolution3DOpDescriptor* d) {
  if (d == nil) refuse(op, @"the descriptor is nil");
  if (source.size() < 4 || weights.size() != 4) {
    refuse(op, @"source %@ must have rank 4 or more, weights %@ rank 4",
           describe(source), describe(weights));
  }
  const Dims strides = numbers_of(op, @"strides", [d strides], 3, 1);
  const Dims dilation =
      numbers_of(op, @"dilationRates", [d dilationRates], 3, 1);
  const Dims padding =
      numbers_of(op, @"paddingValues", [d paddingValues], 6, 0);
  const NSInteger index = [d channelDimensionIndex];
  if (index < -4 || index > -1) {
    refuse(op, @"channelDimensionIndex %ld is not in -4 ... -1", (long)index);
  }

  const std::size_t lead = source.size() - 4;
  const std::size_t channel = 4 + index;
  if (source[lead + channel] != weights[channel]) {
    refuse(op, @"weights %@ do not have the channels of the source %@",
           describe(weights), describe(source));
  }
  ConvolutionPlan plan{{}, source, weights, source};
  Convolution& c = plan.convolution;
  c.batch = count_of(Dims(source.begin(), source.begin() + lead));
  c.groups = weights[channel];
  std::array<std::size_t, 3> space;
  for (std::size_t axis = 0, found = 0; axis < 4; ++axis) {
    if (axis != channel) space[found++] = axis;
  }
  for (int i = 0; i < 3; ++i) {
    const std::size_t axis = space[i];
    set_axis(
        op, c, i,
        {0, 0, strides[i], dilation[i], padding[2 * i], padding[2 * i + 1]},
        source[lead + axis], weights[axis], [d paddingStyle]);
    plan.result[lead + axis] = c.result[i];
  }
  const Dims source_strides = strides_of(source);
  const Dims result_strides = strides_of(plan.result);
  const Dims weight_strides = strides_of(weights);
  c.source_steps.batch = source_strides[lead] * source[lead];
  c.result_steps.batch = result_strides[lead] * plan.result[lead];
  c.source_steps.channel = source_strides[lead + channel];
  c.result_steps.channel = result_strides[lead + channel];
  c.weight_steps.group = weight_strides[channel];
  for (int i = 0; i < 3; ++i) {
    c.source_steps.space[i] = source_strides[lead + space[i]];
    c.result_steps.space[i] = result_strides[lead + space[i]];
    c.weight_steps.space[i] = weight_strides[space[i]];
  }
  return plan;
}

}  // namespace emulator
