// SPDX-License-Identifier: MIT
#include "mpsnn/pooling_kernels.h"

#include "mpsnn/picture_kernels.h"

namespace emulator::mpsnn {
namespace {

void check(const char* name, const Window& w) {
  require_positive(name, "kernelWidth", w.kernel_width);
  require_positive(name, "kernelHeight", w.kernel_height);
  require_positive(name, "strideInPixelsX", w.stride_x);
  require_positive(name, "strideInPixelsY", w.stride_y);
  require_positive(name, "dilationRateX", w.dilation_x);
  require_positive(name, "dilationRateY", w.dilation_y);
}

void require_edge(const char* name, EdgeMode mode) {
  if (mode == EdgeMode::Zero || mode == EdgeMode::Clamp) return;
  refuse_filter(name, "edge modes beyond Clamp are for padding filters");
}

class PoolingKernel : public FilterKernel {
 public:
  PoolingKernel(PoolType type, const Window& window)
      : type_(type), window_(window) {}

  std::optional<Window> window() const override { return window_; }
  EdgeMode edge_mode() const override { return EdgeMode::Clamp; }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] =
          pool({type_, window_, run.placement}, (*run.sources[0])[i]);
    }
  }

 private:
  PoolType type_;
  Window window_;
};

class PoolingGradientKernel : public GradientKernel {
 public:
  PoolingGradientKernel(const char* name, PoolType type, const Window& window)
      : name_(name), type_(type), window_(window) {}

  Extent result_extent(const Sizes& sizes) const override {
    const FilterState& state = *sizes.states[0];
    require_edge(name_, state.placement.edge_mode);
    require_gradient(name_, sizes.sources[0], state.placement.result);
    return sizes.sources[1];
  }
  void run(FilterRun& run) override {
    const Placement placement = run.state<FilterState>(0).placement;
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] =
          pool_gradient({type_, window_, placement}, (*run.sources[0])[i],
                        (*run.sources[1])[i]);
    }
  }

 private:
  const char* name_;
  PoolType type_;
  Window window_;
};

}  // namespace

std::shared_ptr<FilterKernel> pooling_kernel(const char* name, PoolType type,
                                             const Window& window) {
  check(name, window);
  return std::make_shared<PoolingKernel>(type, window);
}

std::shared_ptr<FilterKernel> pooling_gradient_kernel(const char* name,
                                                      PoolType type,
                                                      const Window& window) {
  check(name, window);
  return std::make_shared<PoolingGradientKernel>(name, type, window);
}

}  // namespace emulator::mpsnn
