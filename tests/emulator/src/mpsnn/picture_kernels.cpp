// SPDX-License-Identifier: MIT
#include "mpsnn/picture_kernels.h"

#include <utility>

namespace emulator::mpsnn {
namespace {

class ForwardKernel : public FilterKernel {
 public:
  ForwardKernel(ForwardRule forward, ExtentRule extent)
      : forward_(std::move(forward)), extent_(std::move(extent)) {}

  Extent result_extent(const Sizes& sizes) const override {
    return extent_ ? extent_(sizes.sources[0]) : sizes.sources[0];
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] = forward_((*run.sources[0])[i]);
    }
  }

 private:
  ForwardRule forward_;
  ExtentRule extent_;
};

class BackwardKernel : public GradientKernel {
 public:
  BackwardKernel(const char* name, GradientRule gradient, ExtentRule extent)
      : name_(name),
        gradient_(std::move(gradient)),
        extent_(std::move(extent)) {}

  Extent result_extent(const Sizes& sizes) const override {
    const Extent& source = sizes.sources[1];
    require_gradient(name_, sizes.sources[0],
                     extent_ ? extent_(source) : source);
    return source;
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] = gradient_((*run.sources[0])[i], (*run.sources[1])[i]);
    }
  }

 private:
  const char* name_;
  GradientRule gradient_;
  ExtentRule extent_;
};

}  // namespace

std::shared_ptr<FilterKernel> filter_of(ForwardRule forward,
                                        ExtentRule extent) {
  return std::make_shared<ForwardKernel>(std::move(forward), std::move(extent));
}

std::shared_ptr<FilterKernel> gradient_of(const char* name,
                                          GradientRule gradient,
                                          ExtentRule extent) {
  return std::make_shared<BackwardKernel>(name, std::move(gradient),
                                          std::move(extent));
}

void require_gradient(const char* name, const Extent& gradient,
                      const Extent& result) {
  if (gradient == result) return;
  refuse_filter(name, "the gradient image is " + to_string(gradient) +
                          ", the forward result " + to_string(result));
}

void require_positive(const char* name, const char* what, std::int64_t value) {
  if (value > 0) return;
  refuse_filter(name, std::string(what) + " is " + std::to_string(value));
}

}  // namespace emulator::mpsnn
