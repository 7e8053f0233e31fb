// SPDX-License-Identifier: MIT
#import "convolution_kernels.h"

#import "convolution_states.h"
#include "element_types.h"
#import "encoding.h"
#import "states.h"

namespace emulator::mpsnn {
namespace {

class Convolution : public FilterKernel {
 public:
  Convolution(std::shared_ptr<ConvolutionWeights> weights,
              ConvolutionOptions options)
      : weights_(std::move(weights)), options_(options) {}

  std::optional<Window> window() const override {
    if (options_.kind == ConvolutionKind::FullyConnected) return std::nullopt;
    return weights_->shape().window;
  }

  Extent result_extent(const Sizes& sizes) const override {
    const ConvolutionShape& shape = weights_->shape();
    if (sizes.sources[0].channels != shape.inputs) {
      refuse_filter("MPSCNNConvolution",
                    "an image of " + to_string(sizes.sources[0]) + ", not " +
                        std::to_string(shape.inputs) + " channels");
    }
    return {shape.outputs, 1, 1};
  }

  std::optional<Placement> placement(const Sizes& sizes) const override {
    if (options_.kind == ConvolutionKind::FullyConnected) {
      return place_whole(sizes);
    }
    if (sizes.states.empty()) return std::nullopt;
    return place_back(sizes);
  }

  std::shared_ptr<FilterState> make_state(const StateRequest& asked) override {
    auto state = std::make_shared<ConvolutionState>();
    const ConvolutionShape& shape = weights_->shape();
    state->weights = Retained<id<MTLBuffer>>(make_state_buffer(
        asked.device, shape.num_weights(), asked.is_temporary));
    state->biases = Retained<id<MTLBuffer>>(
        make_state_buffer(asked.device, shape.outputs, asked.is_temporary));
    state->convolution =
        Retained<MPSCNNConvolution*>([[[MPSCNNConvolution alloc]
            initWithDevice:asked.device
                    window:shape.window
                descriptor:weights_->descriptor()
                dataSource:weights_->source()] autorelease]);
    return state;
  }

  void run(FilterRun& run) override {
    const std::vector<float> weights = weights_->weights();
    const std::vector<float> biases = weights_->biases();
    const Pictures& sources = *run.sources[0];
    for (std::size_t i = 0; i < sources.size(); ++i) {
      Picture& result = (*run.result)[i];
      convolve(weights_->shape(), run.placement, weights, biases, sources[i],
               result);
      if (!options_.has_half_sums) continue;
      for (float& y : result.data) {
        y = static_cast<float>(round_to_type(MPSDataTypeFloat16, y));
      }
    }
  }

  void reload() override { weights_->reload(); }

 private:
  /// The window is the image.
  Placement place_whole(const Sizes& sizes) const {
    const Extent& source = sizes.sources[0];
    const ConvolutionShape& shape = weights_->shape();
    const Window& w = shape.window;
    if (source.width != w.kernel_width || source.height != w.kernel_height) {
      refuse_filter("MPSCNNFullyConnected",
                    "an image of " + to_string(source) + " and a kernel of " +
                        std::to_string(w.kernel_height) + " x " +
                        std::to_string(w.kernel_width));
    }
    return {result_extent(sizes), w.extent_x() / 2, w.extent_y() / 2,
            EdgeMode::Zero};
  }

  /// To the size of what the convolution of the state had as its source, and
  /// to where its windows were.
  Placement place_back(const Sizes& sizes) const {
    const FilterState& forward = *sizes.states[0];
    const Window& w = weights_->shape().window;
    Placement placement;
    placement.result = {result_extent(sizes).channels,
                        forward.sources[0].height, forward.sources[0].width};
    placement.offset_x = mirrored(w.extent_x(), forward.placement.offset_x);
    placement.offset_y = mirrored(w.extent_y(), forward.placement.offset_y);
    return placement;
  }
  static std::int64_t mirrored(std::int64_t extent, std::int64_t offset) {
    return extent / 2 * 2 + 1 - extent - offset;
  }

  std::shared_ptr<ConvolutionWeights> weights_;
  ConvolutionOptions options_;
};

class ConvolutionGradient : public GradientKernel {
 public:
  ConvolutionGradient(std::shared_ptr<ConvolutionWeights> weights,
                      bool owns_weights, MPSNNTrainingStyle style)
      : weights_(std::move(weights)), owns_weights_(owns_weights) {
    SEL gpu = @selector(updateWithCommandBuffer:gradientState:sourceState:);
    SEL cpu = @selector(updateWithGradientState:sourceState:);
    const bool is_gpu = style == MPSNNTrainingStyleUpdateDeviceGPU;
    const bool is_cpu = style == MPSNNTrainingStyleUpdateDeviceCPU;
    updates_on_gpu_ = is_gpu && [weights_->source() respondsToSelector:gpu];
    updates_on_cpu_ = is_cpu && [weights_->source() respondsToSelector:cpu];
  }

  Extent result_extent(const Sizes& sizes) const override {
    const FilterState& forward = *sizes.states[0];
    if (!(sizes.sources[0] == forward.placement.result) ||
        !(sizes.sources[1] == forward.sources[0])) {
      refuse_filter("MPSCNNConvolutionGradient",
                    "gradient and source are " + to_string(sizes.sources[0]) +
                        " and " + to_string(sizes.sources[1]) +
                        ", forward they were " +
                        to_string(forward.placement.result) + " and " +
                        to_string(forward.sources[0]));
    }
    return sizes.sources[1];
  }

  void run(FilterRun& run) override {
    auto& state = run.state<ConvolutionState>(0);
    const ConvolutionShape& shape = weights_->shape();
    const std::vector<float> weights = weights_->weights();
    std::vector<double> weight_sums(shape.num_weights());
    std::vector<double> bias_sums(shape.outputs);
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      const Picture& gradient = (*run.sources[0])[i];
      convolution_data_gradient(shape, state.placement, weights, gradient,
                                (*run.result)[i]);
      add_convolution_weight_gradient(shape, state.placement,
                                      (*run.sources[1])[i], gradient,
                                      weight_sums, bias_sums);
    }
    write_floats(state.weights.get(), weight_sums);
    write_floats(state.biases.get(), bias_sums);
  }

  bool has_side_effects() const override {
    return updates_on_gpu_ || updates_on_cpu_;
  }
  int num_updates() const override { return updates_on_gpu_ ? 1 : 0; }
  bool keeps_states() const override { return updates_on_cpu_; }

  void encode_update(const Encoding& encoding) override {
    if (updates_on_gpu_) update_on_gpu(encoding);
    if (updates_on_cpu_) update_on_cpu(encoding);
  }

  /// The forward filter reloads what they share.
  void reload() override {
    if (owns_weights_) weights_->reload();
  }

 private:
  static MPSCNNConvolutionGradientState* gradient_state(
      const Encoding& encoding) {
    return (MPSCNNConvolutionGradientState*)[[encoding.states objectAtIndex:0]
        objectAtIndex:0];
  }

  /// The callback encodes; what it returns is read when the device gets there.
  void update_on_gpu(const Encoding& encoding) {
    const char* what = "updateWithCommandBuffer";
    id<MTLCommandBuffer> buffer = encoding.buffer;
    auto* used = weights_->make_state([buffer device], buffer);
    Retained<MPSCNNConvolutionWeightsAndBiasesState*> kept(used);
    record(what, buffer, [weights = weights_, kept] {
      weights->fill(kept.get());
      return 0;
    });
    auto* fresh =
        [weights_->source() updateWithCommandBuffer:buffer
                                      gradientState:gradient_state(encoding)
                                        sourceState:used];
    if ([used readCount] != 0) {
      refuse(what, @"the source state's read count was not lowered");
    }
    if (!fresh) return;
    [fresh require:what usableOn:buffer];
    weights_->require_sizes(what, fresh);
    Retained<MPSCNNConvolutionWeightsAndBiasesState*> result(fresh);
    record(what, buffer, [weights = weights_, result] {
      weights->read(result.get());
      return 0;
    });
    if ([fresh isTemporary]) [fresh setReadCount:[fresh readCount] - 1];
  }

  /// The data source changes its arrays after the command buffer, from which
  /// the weights are read again.
  void update_on_cpu(const Encoding& encoding) {
    MPSCNNConvolutionGradientState* state = gradient_state(encoding);
    [state synchronizeOnCommandBuffer:encoding.buffer];
    std::shared_ptr<ConvolutionWeights> weights = weights_;
    [encoding.buffer addCompletedHandler:^(id<MTLCommandBuffer> done) {
      if ([done error]) return;
      auto* used = weights->make_state([done device], nil);
      weights->fill(used);
      if ([weights->source() updateWithGradientState:state sourceState:used]) {
        weights->reload();
      }
    }];
  }

  std::shared_ptr<ConvolutionWeights> weights_;
  bool owns_weights_, updates_on_gpu_, updates_on_cpu_;
};

}  // namespace

std::shared_ptr<FilterKernel> make_convolution(
    std::shared_ptr<ConvolutionWeights> weights, ConvolutionOptions options) {
  return std::make_shared<Convolution>(std::move(weights), options);
}

std::shared_ptr<FilterKernel> make_convolution_gradient(
    std::shared_ptr<ConvolutionWeights> weights, bool owns_weights,
    MPSNNTrainingStyle style) {
  return std::make_shared<ConvolutionGradient>(std::move(weights), owns_weights,
                                               style);
}

}  // namespace emulator::mpsnn
