// SPDX-License-Identifier: MIT
#import "normalization_weights.h"

#include <cfloat>

#import "objects.h"

namespace emulator::mpsnn {
namespace {

std::vector<float> copied(const float* values, std::int64_t count,
                          float otherwise) {
  if (!values) return std::vector<float>(count, otherwise);
  return {values, values + count};
}

}  // namespace

std::shared_ptr<NormalizationWeights> NormalizationWeights::make(
    id source, StatisticsOf kind, GraphBuild& build) {
  std::shared_ptr<NormalizationWeights> weights(
      new NormalizationWeights(source, kind));
  if (!weights->load()) {
    build.has_failed = true;
    return weights;
  }
  const char* what = "normalization data source";
  weights->channels_ = [source numberOfFeatureChannels];
  Normalization& values = weights->values_;
  values.kind = kind;
  values.epsilon = FLT_MIN;
  if ([source respondsToSelector:@selector(epsilon)]) {
    values.epsilon = [(id<MPSCNNBatchNormalizationDataSource>)source epsilon];
  }
  if (kind == StatisticsOf::Group) {
    values.groups =
        [(id<MPSCNNGroupNormalizationDataSource>)source numberOfGroups];
  }
  if (weights->channels_ < 1 || values.groups < 1 ||
      weights->channels_ % values.groups != 0) {
    refuse(what, @"%ld channels in %ld groups", (long)weights->channels_,
           (long)values.groups);
  }
  weights->read_source(true, true);
  weights->purge();
  return weights;
}

/// Only batch normalization must have it.
bool NormalizationWeights::load() {
  if (![source_.get() respondsToSelector:@selector(load)]) return true;
  return [(id<MPSCNNBatchNormalizationDataSource>)source_.get() load];
}

void NormalizationWeights::purge() {
  if (![source_.get() respondsToSelector:@selector(purge)]) return;
  [(id<MPSCNNBatchNormalizationDataSource>)source_.get() purge];
}

void NormalizationWeights::read_source(bool gamma_and_beta,
                                       bool mean_and_variance) {
  id<MPSCNNBatchNormalizationDataSource> source = source_.get();
  if (gamma_and_beta) {
    set_gamma_and_beta(copied([source gamma], channels_, 1),
                       copied([source beta], channels_, 0));
  }
  if (mean_and_variance && kind_ == StatisticsOf::Batch) {
    set_statistics(copied([source mean], channels_, 0),
                   copied([source variance], channels_, 1));
  }
}

Normalization NormalizationWeights::values() const {
  std::lock_guard lock(mutex_);
  return values_;
}

Statistics NormalizationWeights::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

void NormalizationWeights::set_gamma_and_beta(std::vector<float> gamma,
                                              std::vector<float> beta) {
  std::lock_guard lock(mutex_);
  values_.gamma = std::move(gamma);
  values_.beta = std::move(beta);
}

void NormalizationWeights::set_statistics(const std::vector<float>& mean,
                                          const std::vector<float>& variance) {
  std::lock_guard lock(mutex_);
  statistics_.mean.assign(mean.begin(), mean.end());
  statistics_.variance.assign(variance.begin(), variance.end());
}

void NormalizationWeights::reload(bool gamma_and_beta, bool mean_and_variance) {
  if (!load()) return;
  read_source(gamma_and_beta, mean_and_variance);
  purge();
}

}  // namespace emulator::mpsnn
