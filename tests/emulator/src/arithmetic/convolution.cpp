// SPDX-License-Identifier: MIT
#include "convolution.h"

namespace emulator {
namespace {

/// Calls visit(source offset, result offset) for every place where element
/// (kz, ky, kx) of the kernel meets the source.
template <class Visit>
void visit_space(const Convolution& c, const Space& k, Visit visit) {
  const auto source_at = [&](int axis, std::int64_t at) {
    return at * c.stride[axis] - c.before[axis] + k[axis] * c.dilation[axis];
  };
  const auto is_inside = [&](int axis, std::int64_t at) {
    return at >= 0 && at < c.source[axis];
  };
  const Space& from = c.source_steps.space;
  const Space& to = c.result_steps.space;
  for (std::int64_t z = 0; z < c.result[0]; ++z) {
    const std::int64_t source_z = source_at(0, z);
    if (!is_inside(0, source_z)) continue;
    for (std::int64_t y = 0; y < c.result[1]; ++y) {
      const std::int64_t source_y = source_at(1, y);
      if (!is_inside(1, source_y)) continue;
      const std::int64_t source = source_z * from[0] + source_y * from[1];
      const std::int64_t result = z * to[0] + y * to[1];
      for (std::int64_t x = 0; x < c.result[2]; ++x) {
        const std::int64_t source_x = source_at(2, x);
        if (!is_inside(2, source_x)) continue;
        visit(source + source_x * from[2], result + x * to[2]);
      }
    }
  }
}

/// Calls visit(source, weight, result offset) for every product of the
/// convolution.
template <class Visit>
void visit_products(const Convolution& c, Visit visit) {
  Space k;
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (std::int64_t g = 0; g < c.groups; ++g) {
      for (std::int64_t o = 0; o < c.outputs; ++o) {
        for (std::int64_t i = 0; i < c.inputs; ++i) {
          const std::int64_t source_base =
              n * c.source_steps.batch +
              (g * c.inputs + i) * c.source_steps.channel;
          const std::int64_t result_base =
              n * c.result_steps.batch +
              (g * c.outputs + o) * c.result_steps.channel;
          const std::int64_t weight_base = g * c.weight_steps.group +
                                           o * c.weight_steps.output +
                                           i * c.weight_steps.input;
          for (k[0] = 0; k[0] < c.kernel[0]; ++k[0]) {
            for (k[1] = 0; k[1] < c.kernel[1]; ++k[1]) {
              for (k[2] = 0; k[2] < c.kernel[2]; ++k[2]) {
                const std::int64_t weight = weight_base +
                                            k[0] * c.weight_steps.space[0] +
                                            k[1] * c.weight_steps.space[1] +
                                            k[2] * c.weight_steps.space[2];
                visit_space(c, k, [&](auto source, auto result) {
                  visit(source_base + source, weight, result_base + result);
                });
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace

Kernel convolve(const Convolution& convolution) {
  return [=](const std::vector<const Array*>& inputs,
             std::vector<Array>& results) {
    const double* source = inputs[0]->data.data();
    const double* weights = inputs[1]->data.data();
    double* result = results[0].data.data();
    visit_products(convolution, [=](auto s, auto w, auto r) {
      result[r] += source[s] * weights[w];
    });
  };
}

Kernel convolve_data_gradient(const Convolution& convolution) {
  return [=](const std::vector<const Array*>& inputs,
             std::vector<Array>& results) {
    const double* incoming = inputs[0]->data.data();
    const double* weights = inputs[1]->data.data();
    double* result = results[0].data.data();
    visit_products(convolution, [=](auto s, auto w, auto r) {
      result[s] += incoming[r] * weights[w];
    });
  };
}

Kernel convolve_weights_gradient(const Convolution& convolution) {
  return [=](const std::vector<const Array*>& inputs,
             std::vector<Array>& results) {
    const double* incoming = inputs[0]->data.data();
    const double* source = inputs[1]->data.data();
    double* result = results[0].data.data();
    visit_products(convolution, [=](auto s, auto w, auto r) {
      result[w] += incoming[r] * source[s];
    });
  };
}

}  // namespace emulator
