// SPDX-License-Identifier: MIT
#import "mpsnn/resample_kernels.h"

#include <cmath>

#import "mpsnn/encoding.h"
#include "mpsnn/picture_kernels.h"
#import "retained.h"

namespace emulator::mpsnn {
namespace {

/// The taps of one axis.
AxisTaps taps_of(const Upsampling& u, double factor, std::int64_t source) {
  const auto whole = static_cast<std::int64_t>(factor);
  if (!u.is_linear) return nearest_taps(source, whole);
  return linear_taps(source, source * whole, u.aligns_corners);
}

Extent upsampled(const Upsampling& u, const Extent& source) {
  return {source.channels,
          source.height * static_cast<std::int64_t>(u.factor_y),
          source.width * static_cast<std::int64_t>(u.factor_x)};
}

struct UpsamplingState : FilterState {
  Upsampling upsampling;
};

class UpsamplingKernel : public FilterKernel {
 public:
  explicit UpsamplingKernel(const Upsampling& upsampling)
      : upsampling_(upsampling) {}

  Extent result_extent(const Sizes& sizes) const override {
    return upsampled(upsampling_, sizes.sources[0]);
  }
  std::shared_ptr<FilterState> make_state(const StateRequest&) override {
    auto state = std::make_shared<UpsamplingState>();
    state->upsampling = upsampling_;
    return state;
  }
  void run(FilterRun& run) override {
    const Upsampling& u = upsampling_;
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      const Picture& source = (*run.sources[0])[i];
      (*run.result)[i] =
          resample(source, taps_of(u, u.factor_y, source.extent.height),
                   taps_of(u, u.factor_x, source.extent.width));
    }
  }

 private:
  Upsampling upsampling_;
};

class UpsamplingGradientKernel : public GradientKernel {
 public:
  UpsamplingGradientKernel(const char* name, double factor_x, double factor_y)
      : name_(name), factor_x_(factor_x), factor_y_(factor_y) {}

  Extent result_extent(const Sizes& sizes) const override {
    const auto* state = dynamic_cast<const UpsamplingState*>(sizes.states[0]);
    if (!state || state->upsampling.factor_x != factor_x_ ||
        state->upsampling.factor_y != factor_y_) {
      refuse_filter(name_, "the state is of another filter");
    }
    require_gradient(name_, sizes.sources[0],
                     upsampled(state->upsampling, sizes.sources[1]));
    return sizes.sources[1];
  }
  void run(FilterRun& run) override {
    const Upsampling& u = run.state<UpsamplingState>(0).upsampling;
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      const Extent& source = (*run.sources[1])[i].extent;
      (*run.result)[i] = resample_gradient(
          (*run.sources[0])[i], source, taps_of(u, u.factor_y, source.height),
          taps_of(u, u.factor_x, source.width));
    }
  }

 private:
  const char* name_;
  double factor_x_, factor_y_;
};

class ScaleKernel : public FilterKernel {
 public:
  ScaleKernel(const MTLSize& size, id<MPSImageTransformProvider> provider,
              id<MPSHandle> handle)
      : size_(size), provider_(provider), handle_(handle) {}

  Extent result_extent(const Sizes& sizes) const override {
    return {sizes.sources[0].channels, std::int64_t(size_.height),
            std::int64_t(size_.width)};
  }
  Answer ask(const EncodedImages& images) override {
    id<MPSImageTransformProvider> provider = provider_.get();
    if (!provider) return {};
    const MPSScaleTransform t =
        [provider transformForSourceImage:images.source handle:handle_.get()];
    return {t.scaleX, t.scaleY, t.translateX, t.translateY};
  }
  void run(FilterRun& run) override {
    const auto height = std::int64_t(size_.height);
    const auto width = std::int64_t(size_.width);
    const Answer& t = run.answer;
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      const Picture& source = (*run.sources[0])[i];
      const Extent& e = source.extent;
      (*run.result)[i] =
          t.empty()
              ? resample(source, linear_taps(e.height, height, false),
                         linear_taps(e.width, width, false))
              : resample(source, transformed_taps(e.height, height, t[1], t[3]),
                         transformed_taps(e.width, width, t[0], t[2]));
    }
  }

 private:
  MTLSize size_;
  Retained<id> provider_, handle_;
};

}  // namespace

std::shared_ptr<FilterKernel> upsampling_kernel(const char* name,
                                                const Upsampling& upsampling) {
  for (double factor : {upsampling.factor_x, upsampling.factor_y}) {
    if (factor < 1 || factor != std::floor(factor)) {
      refuse_filter(name, "scale factor " + std::to_string(factor));
    }
  }
  return std::make_shared<UpsamplingKernel>(upsampling);
}

std::shared_ptr<FilterKernel> upsampling_gradient_kernel(const char* name,
                                                         double factor_x,
                                                         double factor_y) {
  return std::make_shared<UpsamplingGradientKernel>(name, factor_x, factor_y);
}

std::shared_ptr<FilterKernel> scale_kernel(
    const char* name, const MTLSize& size,
    id<MPSImageTransformProvider> provider, id<MPSHandle> handle) {
  require_positive(name, "the width", std::int64_t(size.width));
  require_positive(name, "the height", std::int64_t(size.height));
  return std::make_shared<ScaleKernel>(size, provider, handle);
}

}  // namespace emulator::mpsnn
