// SPDX-License-Identifier: MIT
// What nodes of batch, instance and group normalization become.
#include "convolution_states.h"
#import "encoding.h"
#import "normalization_weights.h"
#import "states.h"

namespace emulator::mpsnn {
namespace {

Class kernel_class(StatisticsOf kind) {
  switch (kind) {
    case StatisticsOf::Batch:
      return [MPSCNNBatchNormalization class];
    case StatisticsOf::Instance:
      return [MPSCNNInstanceNormalization class];
    case StatisticsOf::Group:
      break;
  }
  return [MPSCNNGroupNormalization class];
}

bool computes_statistics(StatisticsOf kind, MPSCNNBatchNormalizationFlags flags,
                         bool is_consumed) {
  if (kind != StatisticsOf::Batch) return true;
  switch (flags & MPSCNNBatchNormalizationFlagsCalculateStatisticsMask) {
    case MPSCNNBatchNormalizationFlagsCalculateStatisticsAlways:
      return true;
    case MPSCNNBatchNormalizationFlagsCalculateStatisticsNever:
      return false;
    default:
      return is_consumed;
  }
}

std::vector<double> upcast(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

class NormalizationFilter : public FilterKernel {
 public:
  NormalizationFilter(std::shared_ptr<NormalizationWeights> weights,
                      MPSCNNBatchNormalizationFlags flags)
      : weights_(std::move(weights)), flags_(flags) {}

  Extent result_extent(const Sizes& sizes) const override {
    if (sizes.sources[0].channels != weights_->channels()) {
      refuse_filter("normalization",
                    "an image of " + to_string(sizes.sources[0]) + ", not " +
                        std::to_string(weights_->channels()) + " channels");
    }
    return sizes.sources[0];
  }

  void set_state_is_consumed(bool is_consumed) override {
    computes_ = computes_statistics(weights_->kind(), flags_, is_consumed);
  }
  bool has_state_per_image() const override {
    return weights_->kind() != StatisticsOf::Batch;
  }

  std::shared_ptr<FilterState> make_state(const StateRequest& asked) override {
    auto state = std::make_shared<NormalizationState>();
    auto buffer = [&] {
      return Retained<id<MTLBuffer>>(make_state_buffer(
          asked.device, weights_->channels(), asked.is_temporary));
    };
    for (auto* one : {&state->gamma, &state->beta, &state->gamma_gradient,
                      &state->beta_gradient}) {
      *one = buffer();
    }
    if (weights_->kind() == StatisticsOf::Batch) {
      state->mean = buffer();
      state->variance = buffer();
    }
    state->kernel = Retained<id>([[[kernel_class(weights_->kind()) alloc]
        initWithDevice:asked.device
            dataSource:weights_->source()] autorelease]);
    return state;
  }

  void run(FilterRun& run) override {
    const Normalization used = weights_->values();
    const Statistics statistics = computes_
                                      ? statistics_of(used, *run.sources[0])
                                      : weights_->statistics();
    normalize(used, statistics, *run.sources[0], *run.result);
    for (std::size_t i = 0; i < run.own_states.size(); ++i) {
      auto* state = run.own_state<NormalizationState>(i);
      state->used = used;
      state->statistics = statistics;
      write_floats(state->gamma.get(), upcast(used.gamma));
      write_floats(state->beta.get(), upcast(used.beta));
      if (!state->mean.get()) continue;
      write_floats(state->mean.get(), statistics.mean);
      write_floats(state->variance.get(), statistics.variance);
    }
  }

  void reload() override { weights_->reload(); }

 private:
  std::shared_ptr<NormalizationWeights> weights_;
  MPSCNNBatchNormalizationFlags flags_;
  bool computes_ = false;
};

class NormalizationGradient : public GradientKernel {
 public:
  NormalizationGradient(std::shared_ptr<NormalizationWeights> weights,
                        MPSCNNBatchNormalizationFlags flags,
                        MPSNNTrainingStyle style)
      : weights_(std::move(weights)),
        varies_(computes_statistics(weights_->kind(), flags, true)) {
    if (style == MPSNNTrainingStyleUpdateDeviceGPU) find_gpu_updates();
    if (style == MPSNNTrainingStyleUpdateDeviceCPU) find_cpu_updates();
  }

  Extent result_extent(const Sizes& sizes) const override {
    if (!(sizes.sources[0] == sizes.sources[1]) ||
        !(sizes.sources[1] == sizes.states[0]->sources[0])) {
      refuse_filter("normalization gradient",
                    "gradient and source are " + to_string(sizes.sources[0]) +
                        " and " + to_string(sizes.sources[1]));
    }
    return sizes.sources[1];
  }

  void run(FilterRun& run) override {
    const auto& first = run.state<NormalizationState>(0);
    std::vector<std::vector<double>> gamma, beta;
    normalization_gradient(first.used, first.statistics, varies_,
                           *run.sources[0], *run.sources[1], *run.result, gamma,
                           beta);
    if (weights_->kind() == StatisticsOf::Batch) {
      add_up(gamma);
      add_up(beta);
    }
    const std::size_t count =
        weights_->kind() == StatisticsOf::Batch ? 1 : gamma.size();
    for (std::size_t i = 0; i < count; ++i) {
      auto& state = run.state<NormalizationState>(0, i);
      write_floats(state.gamma_gradient.get(), gamma[i]);
      write_floats(state.beta_gradient.get(), beta[i]);
    }
  }

  bool has_side_effects() const override {
    return gamma_and_beta_ || mean_and_variance_;
  }
  int num_updates() const override {
    return on_gpu_ ? gamma_and_beta_ + mean_and_variance_ : 0;
  }
  bool keeps_states() const override { return on_cpu_ && has_side_effects(); }

  void encode_update(const Encoding& encoding) override {
    if (on_gpu_) update_on_gpu(encoding);
    if (on_cpu_ && has_side_effects()) update_on_cpu(encoding);
  }

 private:
  bool responds(SEL selector) const {
    return [weights_->source() respondsToSelector:selector];
  }

  void find_gpu_updates() {
    on_gpu_ = true;
    switch (weights_->kind()) {
      case StatisticsOf::Batch:
        gamma_and_beta_ =
            responds(@selector(updateGammaAndBetaWithCommandBuffer:
                                           batchNormalizationState:));
        mean_and_variance_ =
            varies_ &&
            responds(@selector(updateMeanAndVarianceWithCommandBuffer:
                                              batchNormalizationState:));
        break;
      case StatisticsOf::Instance:
        gamma_and_beta_ =
            responds(@selector(updateGammaAndBetaWithCommandBuffer:
                                   instanceNormalizationStateBatch:));
        break;
      case StatisticsOf::Group:
        gamma_and_beta_ =
            responds(@selector(updateGammaAndBetaWithCommandBuffer:
                                      groupNormalizationStateBatch:));
    }
  }

  void find_cpu_updates() {
    on_cpu_ = true;
    switch (weights_->kind()) {
      case StatisticsOf::Batch:
        gamma_and_beta_ =
            responds(@selector(updateGammaAndBetaWithBatchNormalizationState:));
        mean_and_variance_ =
            varies_ && responds(@selector(
                           updateMeanAndVarianceWithBatchNormalizationState:));
        break;
      case StatisticsOf::Instance:
        gamma_and_beta_ = responds(
            @selector(updateGammaAndBetaWithInstanceNormalizationStateBatch:));
        break;
      case StatisticsOf::Group:
        gamma_and_beta_ = responds(
            @selector(updateGammaAndBetaWithGroupNormalizationStateBatch:));
    }
  }

  static void add_up(std::vector<std::vector<double>>& by_image) {
    for (std::size_t n = 1; n < by_image.size(); ++n) {
      for (std::size_t c = 0; c < by_image[n].size(); ++c) {
        by_image[0][c] += by_image[n][c];
      }
    }
  }

  id ask_gamma_and_beta(id<MTLCommandBuffer> buffer, NSArray* batch) const {
    id source = weights_->source();
    switch (weights_->kind()) {
      case StatisticsOf::Batch:
        return [source
            updateGammaAndBetaWithCommandBuffer:buffer
                        batchNormalizationState:[batch objectAtIndex:0]];
      case StatisticsOf::Instance:
        return [source updateGammaAndBetaWithCommandBuffer:buffer
                           instanceNormalizationStateBatch:batch];
      case StatisticsOf::Group:
        break;
    }
    return [source updateGammaAndBetaWithCommandBuffer:buffer
                          groupNormalizationStateBatch:batch];
  }

  /// What the callbacks return is read when the device gets there.
  void update_on_gpu(const Encoding& encoding) {
    NSArray* batch = [encoding.states objectAtIndex:0];
    if (gamma_and_beta_) {
      take(encoding, ask_gamma_and_beta(encoding.buffer, batch), true);
    }
    if (mean_and_variance_) {
      id source = weights_->source();
      take(encoding,
           [source
               updateMeanAndVarianceWithCommandBuffer:encoding.buffer
                              batchNormalizationState:[batch objectAtIndex:0]],
           false);
    }
  }

  void take(const Encoding& encoding, MPSState* fresh, bool is_gamma) {
    const char* what = "normalization update";
    if (!fresh) return;
    Class wanted = is_gamma ? [MPSCNNNormalizationGammaAndBetaState class]
                            : [MPSCNNNormalizationMeanAndVarianceState class];
    if (![fresh isKindOfClass:wanted]) refuse(what, @"returned %@", fresh);
    [fresh require:what usableOn:encoding.buffer];
    const std::size_t count = weights_->channels();
    for (NSUInteger i = 0; i < 2; ++i) {
      auto buffer = (id<MTLBuffer>)[fresh resourceAtIndex:i allocateMemory:YES];
      if ([buffer length] < count * sizeof(float)) {
        refuse(what, @"the new values are too few");
      }
    }
    Retained<MPSState*> kept(fresh);
    record(what, encoding.buffer, [weights = weights_, kept, is_gamma, count] {
      auto values = [&](NSUInteger i) {
        return read_floats((id<MTLBuffer>)[kept.get() resourceAtIndex:i
                                                       allocateMemory:YES],
                           count);
      };
      if (is_gamma) {
        weights->set_gamma_and_beta(values(0), values(1));
      } else {
        weights->set_statistics(values(0), values(1));
      }
      return 0;
    });
    if ([fresh isTemporary]) [fresh setReadCount:[fresh readCount] - 1];
  }

  void update_on_cpu(const Encoding& encoding) {
    NSArray* batch = [encoding.states objectAtIndex:0];
    MPSStateBatchSynchronize(batch, encoding.buffer);
    std::shared_ptr<NormalizationWeights> weights = weights_;
    const bool gamma_and_beta = gamma_and_beta_;
    const bool mean_and_variance = mean_and_variance_;
    [encoding.buffer addCompletedHandler:^(id<MTLCommandBuffer> done) {
      if ([done error]) return;
      id source = weights->source();
      if (gamma_and_beta && update_gamma_and_beta(*weights, batch)) {
        weights->reload(true, false);
      }
      if (mean_and_variance &&
          [source updateMeanAndVarianceWithBatchNormalizationState:
                      [batch objectAtIndex:0]]) {
        weights->reload(false, true);
      }
    }];
  }

  static bool update_gamma_and_beta(const NormalizationWeights& weights,
                                    NSArray* batch) {
    id source = weights.source();
    switch (weights.kind()) {
      case StatisticsOf::Batch:
        return [source
            updateGammaAndBetaWithBatchNormalizationState:[batch
                                                              objectAtIndex:0]];
      case StatisticsOf::Instance:
        return [source
            updateGammaAndBetaWithInstanceNormalizationStateBatch:batch];
      case StatisticsOf::Group:
        break;
    }
    return [source updateGammaAndBetaWithGroupNormalizationStateBatch:batch];
  }

  std::shared_ptr<NormalizationWeights> weights_;
  bool varies_;
  bool on_gpu_ = false, on_cpu_ = false;
  bool gamma_and_beta_ = false, mean_and_variance_ = false;
};

}  // namespace

std::shared_ptr<FilterKernel> make_normalization(
    std::shared_ptr<NormalizationWeights> weights,
    MPSCNNBatchNormalizationFlags flags) {
  return std::make_shared<NormalizationFilter>(std::move(weights), flags);
}

std::shared_ptr<FilterKernel> make_normalization_gradient(
    std::shared_ptr<NormalizationWeights> weights,
    MPSCNNBatchNormalizationFlags flags, MPSNNTrainingStyle style) {
  return std::make_shared<NormalizationGradient>(std::move(weights), flags,
                                                 style);
}

}  // namespace emulator::mpsnn
