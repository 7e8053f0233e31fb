// SPDX-License-Identifier: MIT
// NormalizationWeights: what a graph keeps of a normalization's data source.
// NormalizationState: what data sources see of a run.
#pragma once

#include <memory>
#include <mutex>

#include "mpsnn/arithmetic/normalization.h"
#import "nodes.h"
#import "retained.h"

namespace emulator::mpsnn {

class NormalizationWeights {
 public:
  static std::shared_ptr<NormalizationWeights> make(id source,
                                                    StatisticsOf kind,
                                                    GraphBuild& build);

  id source() const { return source_.get(); }
  StatisticsOf kind() const { return kind_; }
  std::int64_t channels() const { return channels_; }

  // Any thread may call this.
  Normalization values() const;
  /// The statistics of the data source, which only batch normalization has.
  Statistics statistics() const;
  void set_gamma_and_beta(std::vector<float> gamma, std::vector<float> beta);
  void set_statistics(const std::vector<float>& mean,
                      const std::vector<float>& variance);
  void reload(bool gamma_and_beta = true, bool mean_and_variance = true);

 private:
  NormalizationWeights(id source, StatisticsOf kind)
      : source_(source), kind_(kind) {}
  bool load();
  void purge();
  void read_source(bool gamma_and_beta, bool mean_and_variance);

  Retained<id> source_;
  StatisticsOf kind_;
  std::int64_t channels_ = 0;
  mutable std::mutex mutex_;
  Normalization values_;
  Statistics statistics_;
};

struct NormalizationState : FilterState {
  Retained<id<MTLBuffer>> gamma{nil}, beta{nil}, mean{nil}, variance{nil};
  Retained<id<MTLBuffer>> gamma_gradient{nil}, beta_gradient{nil};
  Retained<id> kernel{nil};
  /// These have full precision; the first image's state has all sets.
  Normalization used;
  Statistics statistics;

  void poison() override;
  void synchronize() override;
};

std::shared_ptr<FilterKernel> make_normalization(
    std::shared_ptr<NormalizationWeights> weights,
    MPSCNNBatchNormalizationFlags flags);
std::shared_ptr<FilterKernel> make_normalization_gradient(
    std::shared_ptr<NormalizationWeights> weights,
    MPSCNNBatchNormalizationFlags flags, MPSNNTrainingStyle style);

}  // namespace emulator::mpsnn

@interface MPSCNNKernel (EmulatorDataSource)
/// Kernels of normalizations.
- (instancetype)initWithDevice:(id<MTLDevice>)device dataSource:(id)source;
@end
