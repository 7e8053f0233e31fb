// SPDX-License-Identifier: MIT
#include "mpsnn/local_normalization_kernels.h"

#include "mpsnn/picture_kernels.h"

namespace emulator::mpsnn {
namespace {

using Type = LocalNormalizationType;

struct LocalNormalizationState : FilterState {
  LocalNormalization normalization;
};

void check(const char* name, Type type, const LocalNormalization& n) {
  require_positive(name, "kernelWidth", n.kernel_width);
  require_positive(name, "kernelHeight", n.kernel_height);
  require_positive(name, "kernelSize", n.kernel_channels);
  if (n.alpha < 0) refuse_filter(name, "alpha is negative");
  if (type == Type::kSpatial && n.kernel_width != n.kernel_height) {
    refuse_filter(name, "kernelWidth and kernelHeight must be equal");
  }
}

class ForwardKernel : public FilterKernel {
 public:
  ForwardKernel(Type type, const LocalNormalization& n) : type_(type), n_(n) {}

  std::shared_ptr<FilterState> make_state(const StateRequest&) override {
    auto state = std::make_shared<LocalNormalizationState>();
    state->normalization = n_;
    return state;
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] = normalized((*run.sources[0])[i]);
    }
  }

 private:
  Picture normalized(const Picture& source) const {
    if (type_ == Type::kCrossChannel) return cross_channel(n_, source);
    if (type_ == Type::kSpatial) return spatial(n_, source);
    return local_contrast(n_, source);
  }

  Type type_;
  LocalNormalization n_;
};

class BackwardKernel : public GradientKernel {
 public:
  BackwardKernel(const char* name, Type type, const LocalNormalization& n)
      : name_(name), type_(type), n_(n) {}

  Extent result_extent(const Sizes& sizes) const override {
    if (!dynamic_cast<const LocalNormalizationState*>(sizes.states[0])) {
      refuse_filter(name_, "the state is of another filter");
    }
    require_gradient(name_, sizes.sources[0], sizes.sources[1]);
    return sizes.sources[1];
  }
  void run(FilterRun& run) override {
    LocalNormalization n = n_;
    if (type_ == Type::kCrossChannel) {
      n = run.state<LocalNormalizationState>(0).normalization;
      n.kernel_channels = n_.kernel_channels;
    }
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] =
          gradient(n, (*run.sources[0])[i], (*run.sources[1])[i]);
    }
  }

 private:
  Picture gradient(const LocalNormalization& n, const Picture& g,
                   const Picture& source) const {
    if (type_ == Type::kCrossChannel) {
      return cross_channel_gradient(n, g, source);
    }
    if (type_ == Type::kSpatial) return spatial_gradient(n, g, source);
    return local_contrast_gradient(n, g, source);
  }

  const char* name_;
  Type type_;
  LocalNormalization n_;
};

}  // namespace

std::shared_ptr<FilterKernel> local_normalization_kernel(
    const char* name, LocalNormalizationType type,
    const LocalNormalization& normalization) {
  check(name, type, normalization);
  return std::make_shared<ForwardKernel>(type, normalization);
}

std::shared_ptr<FilterKernel> local_normalization_gradient_kernel(
    const char* name, LocalNormalizationType type,
    const LocalNormalization& normalization) {
  check(name, type, normalization);
  return std::make_shared<BackwardKernel>(name, type, normalization);
}

}  // namespace emulator::mpsnn
