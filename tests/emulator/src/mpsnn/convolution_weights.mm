// SPDX-License-Identifier: MIT
#import "convolution_weights.h"

#include <cstring>

#include "element_types.h"
#import "objects.h"

namespace emulator::mpsnn {
namespace {

constexpr const char* kSource = "MPSCNNConvolutionDataSource";

ConvolutionShape shape_of(MPSCNNConvolutionDescriptor* d, bool is_reverse) {
  ConvolutionShape shape;
  shape.window = {std::int64_t([d kernelWidth]),
                  std::int64_t([d kernelHeight]),
                  std::int64_t([d strideInPixelsX]),
                  std::int64_t([d strideInPixelsY]),
                  std::int64_t([d dilationRateX]),
                  std::int64_t([d dilationRateY]),
                  is_reverse};
  shape.inputs = [d inputFeatureChannels];
  shape.outputs = [d outputFeatureChannels];
  shape.groups = [d groups];
  shape.is_depthwise =
      [d isKindOfClass:[MPSCNNDepthWiseConvolutionDescriptor class]];
  return shape;
}

void require_shape(const ConvolutionShape& s) {
  const Window& w = s.window;
  if (w.kernel_width < 1 || w.kernel_height < 1 || w.stride_x < 1 ||
      w.stride_y < 1 || w.dilation_x < 1 || w.dilation_y < 1 || s.inputs < 1 ||
      s.outputs < 1 || s.groups < 1) {
    refuse(kSource, @"the descriptor has a zero");
  }
  if (s.is_depthwise) {
    if (s.outputs != s.inputs) {
      refuse(kSource, @"depthwise: the channel multiplier must be 1");
    }
    return;
  }
  if (s.groups == 1) return;
  if (s.inputs % s.groups || s.outputs % s.groups || s.inputs_per_group() % 4 ||
      s.outputs_per_group() % 4) {
    refuse(kSource, @"%ld and %ld channels in %ld groups: not multiples of 4",
           (long)s.inputs, (long)s.outputs, (long)s.groups);
  }
}

}  // namespace

std::shared_ptr<ConvolutionWeights> ConvolutionWeights::make(
    id<MPSCNNConvolutionDataSource> source, bool is_reverse,
    GraphBuild& build) {
  std::shared_ptr<ConvolutionWeights> weights(new ConvolutionWeights(source));
  if (![source load]) {
    build.has_failed = true;
    return weights;
  }
  weights->inspect(is_reverse);
  weights->read_source();
  [source purge];
  return weights;
}

void ConvolutionWeights::inspect(bool is_reverse) {
  id<MPSCNNConvolutionDataSource> source = source_.get();
  MPSCNNConvolutionDescriptor* descriptor = [source descriptor];
  if (![descriptor isKindOfClass:[MPSCNNConvolutionDescriptor class]]) {
    refuse(kSource, @"the descriptor is %@", descriptor);
  }
  if ([descriptor fusedNeuronDescriptor]) {
    refuse(kSource, @"fused neurons are not emulated; none may be trained");
  }
  descriptor_ =
      Retained<MPSCNNConvolutionDescriptor*>([[descriptor copy] autorelease]);
  shape_ = shape_of(descriptor, is_reverse);
  require_shape(shape_);
  const MPSDataType type = [source dataType];
  if (type != MPSDataTypeFloat32 && type != MPSDataTypeFloat16) {
    refuse(kSource, @"weights of type %@ are not emulated",
           to_ns(type_name(type)));
  }
  MPSDataType kernel_type = MPSDataTypeFloat16;
  if ([source respondsToSelector:@selector(kernelWeightsDataType)]) {
    kernel_type = [source kernelWeightsDataType];
  }
  if (kernel_type != MPSDataTypeFloat16 &&
      (kernel_type != MPSDataTypeFloat32 || type != MPSDataTypeFloat32)) {
    refuse(kSource, @"kernelWeightsDataType %@ of weights of type %@",
           to_ns(type_name(kernel_type)), to_ns(type_name(type)));
  }
  has_half_weights_ = kernel_type == MPSDataTypeFloat16;
}

/// The source may be read between load and purge only.
void ConvolutionWeights::read_source() {
  id<MPSCNNConvolutionDataSource> source = source_.get();
  const void* bytes = [source weights];
  if (!bytes) refuse(kSource, @"the weights are NULL");
  std::vector<double> values(shape_.num_weights());
  decode([source dataType], bytes, values.size(), values.data());
  const std::vector<float> weights(values.begin(), values.end());
  store(weights.data(), [source biasTerms]);
}

std::vector<float> ConvolutionWeights::weights() const {
  std::lock_guard lock(mutex_);
  return weights_;
}

std::vector<float> ConvolutionWeights::biases() const {
  std::lock_guard lock(mutex_);
  return biases_;
}

void ConvolutionWeights::store(const float* weights, const float* biases) {
  std::lock_guard lock(mutex_);
  weights_.assign(weights, weights + shape_.num_weights());
  biases_.assign(shape_.outputs, 0);
  if (biases) biases_.assign(biases, biases + shape_.outputs);
  if (!has_half_weights_) return;
  for (float& w : weights_) {
    w = static_cast<float>(round_to_type(MPSDataTypeFloat16, w));
  }
}

bool ConvolutionWeights::reload() {
  if (![source_.get() load]) return false;
  read_source();
  [source_.get() purge];
  return true;
}

MPSCNNConvolutionWeightsAndBiasesState* ConvolutionWeights::make_state(
    id<MTLDevice> device, id<MTLCommandBuffer> on) {
  using State = MPSCNNConvolutionWeightsAndBiasesState;
  if (on) {
    return
        [State temporaryCNNConvolutionWeightsAndBiasesStateWithCommandBuffer:on
                                                    cnnConvolutionDescriptor:
                                                        descriptor()];
  }
  return [[[State alloc] initWithDevice:device
               cnnConvolutionDescriptor:descriptor()] autorelease];
}

void ConvolutionWeights::fill(
    MPSCNNConvolutionWeightsAndBiasesState* state) const {
  std::lock_guard lock(mutex_);
  std::memcpy(device_bytes([state weights]) + [state weightsOffset],
              weights_.data(), weights_.size() * sizeof(float));
  std::memcpy(device_bytes([state biases]) + [state biasesOffset],
              biases_.data(), biases_.size() * sizeof(float));
  synchronize_to_host([state weights]);
  synchronize_to_host([state biases]);
}

void ConvolutionWeights::read(MPSCNNConvolutionWeightsAndBiasesState* state) {
  const char* weights = device_bytes([state weights]) + [state weightsOffset];
  const char* biases = nullptr;
  if ([state biases]) {
    biases = device_bytes([state biases]) + [state biasesOffset];
  }
  store(reinterpret_cast<const float*>(weights),
        reinterpret_cast<const float*>(biases));
}

void ConvolutionWeights::require_sizes(
    const char* what, MPSCNNConvolutionWeightsAndBiasesState* state) const {
  const std::size_t weights = shape_.num_weights() * sizeof(float);
  const std::size_t biases = shape_.outputs * sizeof(float);
  if ([state weightsOffset] + weights > [[state weights] length] ||
      ([state biases] &&
       [state biasesOffset] + biases > [[state biases] length])) {
    refuse(what, @"the new weights or biases are too few");
  }
}

}  // namespace emulator::mpsnn
