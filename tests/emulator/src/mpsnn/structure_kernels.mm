// SPDX-License-Identifier: MIT
#import "mpsnn/structure_kernels.h"

#import "mpsnn/encoding.h"
#include "mpsnn/picture_kernels.h"
#import "retained.h"

namespace emulator::mpsnn {
namespace {

/// The state as this filter's forward kernel made it.
template <class State>
const State& forward_state(const char* name, const FilterState* state) {
  const auto* known = dynamic_cast<const State*>(state);
  if (!known) refuse_filter(name, "the state is of another filter");
  return *known;
}

void require_source(const char* name, const Extent& got,
                    const Extent& expected) {
  if (got == expected) return;
  refuse_filter(name, "the source image is " + to_string(got) + ", expected " +
                          to_string(expected));
}

struct ConcatenationState : FilterState {};

class ConcatenationKernel : public FilterKernel {
 public:
  explicit ConcatenationKernel(const char* name) : name_(name) {}

  Extent result_extent(const Sizes& sizes) const override {
    const Extent& first = sizes.sources[0];
    for (const Extent& source : sizes.sources) {
      if (source.height != first.height || source.width != first.width) {
        refuse_filter(name_, to_string(source) + " and " + to_string(first) +
                                 " differ in height or width");
      }
    }
    return concatenated_extent(sizes.sources);
  }
  std::shared_ptr<FilterState> make_state(const StateRequest&) override {
    return std::make_shared<ConcatenationState>();
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      std::vector<const Picture*> sources;
      for (const Pictures* batch : run.sources) {
        sources.push_back(&(*batch)[i]);
      }
      (*run.result)[i] = concatenate(sources);
    }
  }

 private:
  const char* name_;
};

class ConcatenationGradientKernel : public GradientKernel {
 public:
  ConcatenationGradientKernel(const char* name, std::size_t index)
      : name_(name), index_(index) {}

  Extent result_extent(const Sizes& sizes) const override {
    const auto& state =
        forward_state<ConcatenationState>(name_, sizes.states[0]);
    require_gradient(name_, sizes.sources[0],
                     concatenated_extent(state.sources));
    require_source(name_, sizes.sources[1], state.sources[index_]);
    return sizes.sources[1];
  }
  void run(FilterRun& run) override {
    const auto& sources = run.state<FilterState>(0).sources;
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] =
          slice_channels((*run.sources[0])[i], channel_offset(sources, index_),
                         sources[index_].channels);
    }
  }

 private:
  const char* name_;
  std::size_t index_;
};

class ReshapeGradientKernel : public GradientKernel {
 public:
  explicit ReshapeGradientKernel(const char* name) : name_(name) {}

  Extent result_extent(const Sizes& sizes) const override {
    require_gradient(name_, sizes.sources[0],
                     sizes.states[0]->placement.result);
    require_source(name_, sizes.sources[1], sizes.states[0]->sources[0]);
    return sizes.sources[1];
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] =
          reshape((*run.sources[0])[i], (*run.sources[1])[i].extent);
    }
  }

 private:
  const char* name_;
};

struct PadState : FilterState {
  Padding padding;
};

class PadKernel : public FilterKernel {
 public:
  PadKernel(const char* name, const Padding& padding)
      : name_(name), padding_(padding) {}

  Extent result_extent(const Sizes& sizes) const override {
    if (!can_pad(padding_, sizes.sources[0])) {
      refuse_filter(name_, "mirrors more than there is of " +
                               to_string(sizes.sources[0]));
    }
    return padded_extent(padding_, sizes.sources[0]);
  }
  std::shared_ptr<FilterState> make_state(const StateRequest&) override {
    auto state = std::make_shared<PadState>();
    state->padding = padding_;
    return state;
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] = pad(padding_, (*run.sources[0])[i]);
    }
  }

 private:
  const char* name_;
  Padding padding_;
};

class PadGradientKernel : public GradientKernel {
 public:
  explicit PadGradientKernel(const char* name) : name_(name) {}

  Extent result_extent(const Sizes& sizes) const override {
    const auto& state = forward_state<PadState>(name_, sizes.states[0]);
    require_gradient(name_, sizes.sources[0],
                     padded_extent(state.padding, sizes.sources[1]));
    return sizes.sources[1];
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] =
          pad_gradient(run.state<PadState>(0).padding, (*run.sources[0])[i],
                       (*run.sources[1])[i].extent);
    }
  }

 private:
  const char* name_;
};

Extent gram_extent(const Extent& source) {
  return {source.channels, 1, source.channels};
}

class GramMatrixKernel : public FilterKernel {
 public:
  GramMatrixKernel(double alpha, id<MPSNNGramMatrixCallback> callback)
      : alpha_(alpha), callback_(callback) {}

  Extent result_extent(const Sizes& sizes) const override {
    return gram_extent(sizes.sources[0]);
  }
  Answer ask(const EncodedImages& images) override {
    id<MPSNNGramMatrixCallback> callback = callback_.get();
    if (!callback) return {};
    return {[callback alphaForSourceImage:images.source
                         destinationImage:images.result]};
  }
  void run(FilterRun& run) override {
    const double alpha = run.answer.empty() ? alpha_ : run.answer[0];
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] = gram_matrix((*run.sources[0])[i], alpha);
    }
  }

 private:
  double alpha_;
  Retained<id> callback_;
};

class GramMatrixGradientKernel : public GradientKernel {
 public:
  GramMatrixGradientKernel(const char* name, double alpha)
      : name_(name), alpha_(alpha) {}

  Extent result_extent(const Sizes& sizes) const override {
    require_gradient(name_, sizes.sources[0], gram_extent(sizes.sources[1]));
    return sizes.sources[1];
  }
  void run(FilterRun& run) override {
    const Answer& answer = run.state<FilterState>(0).answer;
    const double alpha = answer.empty() ? alpha_ : answer[0];
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] = gram_matrix_gradient((*run.sources[0])[i],
                                              (*run.sources[1])[i], alpha);
    }
  }

 private:
  const char* name_;
  double alpha_;
};

struct ReduceState : FilterState {
  Clip clip;
};

class ReduceKernel : public FilterKernel {
 public:
  ReduceKernel(const char* name, const Reduce& operation, const Clip& clip)
      : name_(name), operation_(operation), clip_(clip) {}

  Extent result_extent(const Sizes& sizes) const override {
    const Clip part = clip_within(clip_, sizes.sources[0]);
    if (part.width <= 0 || part.height <= 0) {
      refuse_filter(name_, "clipRectSource leaves nothing of " +
                               to_string(sizes.sources[0]));
    }
    return reduced_extent(operation_, sizes.sources[0], part);
  }
  std::shared_ptr<FilterState> make_state(const StateRequest&) override {
    auto state = std::make_shared<ReduceState>();
    state->clip = clip_;
    return state;
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      const Picture& source = (*run.sources[0])[i];
      (*run.result)[i] =
          reduce(operation_, source, clip_within(clip_, source.extent));
    }
  }

 private:
  const char* name_;
  Reduce operation_;
  Clip clip_;
};

class SpatialMeanGradientKernel : public GradientKernel {
 public:
  explicit SpatialMeanGradientKernel(const char* name) : name_(name) {}

  Extent result_extent(const Sizes& sizes) const override {
    forward_state<ReduceState>(name_, sizes.states[0]);
    require_gradient(name_, sizes.sources[0],
                     {sizes.sources[1].channels, 1, 1});
    return sizes.sources[1];
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      const Extent& source = (*run.sources[1])[i].extent;
      (*run.result)[i] = spatial_mean_gradient(
          (*run.sources[0])[i], source,
          clip_within(run.state<ReduceState>(0).clip, source));
    }
  }

 private:
  const char* name_;
};

}  // namespace

std::shared_ptr<FilterKernel> concatenation_kernel(const char* name) {
  return std::make_shared<ConcatenationKernel>(name);
}
std::shared_ptr<FilterKernel> concatenation_gradient_kernel(const char* name,
                                                            std::size_t index) {
  return std::make_shared<ConcatenationGradientKernel>(name, index);
}

std::shared_ptr<FilterKernel> reshape_gradient_kernel(const char* name) {
  return std::make_shared<ReshapeGradientKernel>(name);
}

std::shared_ptr<FilterKernel> pad_kernel(const char* name,
                                         const Padding& padding) {
  return std::make_shared<PadKernel>(name, padding);
}
std::shared_ptr<FilterKernel> pad_gradient_kernel(const char* name) {
  return std::make_shared<PadGradientKernel>(name);
}

std::shared_ptr<FilterKernel> gram_matrix_kernel(
    double alpha, id<MPSNNGramMatrixCallback> callback) {
  return std::make_shared<GramMatrixKernel>(alpha, callback);
}
std::shared_ptr<FilterKernel> gram_matrix_gradient_kernel(const char* name,
                                                          double alpha) {
  return std::make_shared<GramMatrixGradientKernel>(name, alpha);
}

std::shared_ptr<FilterKernel> reduce_kernel(const char* name,
                                            const Reduce& operation,
                                            const Clip& clip) {
  return std::make_shared<ReduceKernel>(name, operation, clip);
}
std::shared_ptr<FilterKernel> spatial_mean_gradient_kernel(const char* name) {
  return std::make_shared<SpatialMeanGradientKernel>(name);
}

}  // namespace emulator::mpsnn
