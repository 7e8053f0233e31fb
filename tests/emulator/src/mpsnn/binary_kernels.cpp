// SPDX-License-Identifier: MIT
#include "mpsnn/binary_kernels.h"

#include "mpsnn/picture_kernels.h"

namespace emulator::mpsnn {
namespace {

void require_strides(const char* name, const Strides& s) {
  const auto is_valid = [](std::int64_t stride) {
    return stride == 0 || stride == 1;
  };
  if (is_valid(s.x) && is_valid(s.y) && is_valid(s.channels)) return;
  refuse_filter(name, "strides are 0 or 1");
}

class BinaryKernel : public FilterKernel {
 public:
  BinaryKernel(const char* name, const Binary& binary)
      : name_(name), binary_(binary) {}

  Extent result_extent(const Sizes& sizes) const override {
    const auto extent =
        binary_extent(binary_, sizes.sources[0], sizes.sources[1]);
    if (!extent) {
      refuse_filter(name_, to_string(sizes.sources[0]) + " and " +
                               to_string(sizes.sources[1]) + " do not fit");
    }
    return *extent;
  }
  std::shared_ptr<FilterState> make_state(const StateRequest&) override {
    auto state = std::make_shared<BinaryState>();
    state->binary = binary_;
    return state;
  }
  void run(FilterRun& run) override {
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] =
          apply_binary(binary_, (*run.sources[0])[i], (*run.sources[1])[i]);
    }
  }

 private:
  const char* name_;
  Binary binary_;
};

class BinaryGradientKernel : public FilterKernel {
 public:
  BinaryGradientKernel(const char* name, const BinaryGradientNode& node)
      : name_(name), node_(node) {}

  Extent result_extent(const Sizes& sizes) const override {
    const BinaryState& state = forward(sizes.states[0]);
    const Strides& own = of_own(state.binary);
    if (!(own == node_.strides)) {
      refuse_filter(name_,
                    "the secondary strides are not those that the "
                    "forward filter had for this source");
    }
    require_gradient(
        name_, sizes.sources[0],
        *binary_extent(state.binary, state.sources[0], state.sources[1]));
    const std::size_t image = node_.is_product ? 1 - own_index() : own_index();
    if (sizes.sources[1] != state.sources[image]) {
      refuse_filter(name_, "the source image is " +
                               to_string(sizes.sources[1]) + ", expected " +
                               to_string(state.sources[image]));
    }
    return state.sources[own_index()];
  }
  void run(FilterRun& run) override {
    const auto& state = run.state<BinaryState>(0);
    BinaryGradient rule;
    rule.is_product = node_.is_product;
    rule.scale = node_.primary_scale;
    rule.other_scale = node_.secondary_scale;
    rule.own = of_own(state.binary);
    rule.other =
        node_.is_secondary ? state.binary.primary : state.binary.secondary;
    for (std::size_t i = 0; i < run.result->size(); ++i) {
      (*run.result)[i] =
          binary_gradient(rule, (*run.sources[0])[i], (*run.sources[1])[i],
                          state.sources[own_index()]);
    }
  }

 private:
  std::size_t own_index() const { return node_.is_secondary ? 1 : 0; }
  const Strides& of_own(const Binary& binary) const {
    return node_.is_secondary ? binary.secondary : binary.primary;
  }
  const BinaryState& forward(const FilterState* state) const {
    const auto* binary = dynamic_cast<const BinaryState*>(state);
    if (!binary) refuse_filter(name_, "the state is of another filter");
    return *binary;
  }

  const char* name_;
  BinaryGradientNode node_;
};

}  // namespace

std::shared_ptr<FilterKernel> binary_kernel(const char* name,
                                            const Binary& binary) {
  require_strides(name, binary.primary);
  require_strides(name, binary.secondary);
  return std::make_shared<BinaryKernel>(name, binary);
}

std::shared_ptr<FilterKernel> binary_gradient_kernel(
    const char* name, const BinaryGradientNode& node) {
  require_strides(name, node.strides);
  return std::make_shared<BinaryGradientKernel>(name, node);
}

}  // namespace emulator::mpsnn
