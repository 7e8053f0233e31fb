// SPDX-License-Identifier: MIT
// Optimizer updates; the loops are in update_loops.h. The hyper-parameters that
// change between steps come from the rates tensor.
#include "cpu/float_types.h"
#include "cpu/ops/update_loops.h"
#include "cpu/ops/update_rows.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

/// Argument of an optional input; -1 when it is absent.
int mutate_if(NodeLowering& lowering, int input) {
  return lowering.has(input) ? lowering.mutate(input) : -1;
}
int read_if(NodeLowering& lowering, int input) {
  return lowering.has(input) ? lowering.read(input) : -1;
}
float* address_if(std::span<std::byte* const> at, int arg) {
  return arg < 0 ? nullptr : floats(at[arg]);
}

/// All ops here have it as input 1.
DataType gradient_type(const NodeLowering& lowering) {
  return lowering.input_desc(1).data_type;
}

}  // namespace

void lower_sgd_update(NodeLowering& lowering) {
  if (auto gradient = lowering.join_producer(1)) {
    return lower_row_update(lowering, *gradient);
  }
  const auto attrs = lowering.attrs<SgdUpdateAttrs>();
  const std::int64_t n = lowering.input_shape(0).num_elements();
  const int p = lowering.mutate(0), gradient = lowering.read(1);
  const int m = mutate_if(lowering, 2);
  const int rates = lowering.read(3), scale = read_if(lowering, 4);
  visit_float_type(lowering, gradient_type(lowering), [&]<class G>(G) {
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      const SgdArgs<G> args{floats(at[p]), typed<G>(at[gradient]),
                            address_if(at, m), floats(at[rates]),
                            address_if(at, scale)};
      return [=] {
        with_regularization(attrs.regularization_type,
                            [&](auto type) { sgd<type()>(attrs, args, n); });
      };
    });
  });
}

void lower_adam_update(NodeLowering& lowering) {
  const auto attrs = lowering.attrs<AdamUpdateAttrs>();
  const std::int64_t n = lowering.input_shape(0).num_elements();
  const int p = lowering.mutate(0), gradient = lowering.read(1);
  const int m = lowering.mutate(2), v = lowering.mutate(3);
  const int v_max = mutate_if(lowering, 4);
  const int rates = lowering.read(5), scale = read_if(lowering, 6);
  const RegularizationType regularization = attrs.decoupled_decay
                                                ? RegularizationType::None
                                                : attrs.regularization_type;
  visit_float_type(lowering, gradient_type(lowering), [&]<class G>(G) {
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      const AdamArgs<G> args{floats(at[p]),         typed<G>(at[gradient]),
                             floats(at[m]),         floats(at[v]),
                             address_if(at, v_max), floats(at[rates]),
                             address_if(at, scale)};
      return [=] {
        with_regularization(regularization,
                            [&](auto type) { adam<type()>(attrs, args, n); });
      };
    });
  });
}

void lower_rmsprop_update(NodeLowering& lowering) {
  const auto attrs = lowering.attrs<RmspropUpdateAttrs>();
  const std::int64_t n = lowering.input_shape(0).num_elements();
  const int p = lowering.mutate(0), gradient = lowering.read(1);
  const int square = lowering.mutate(2), momentum = mutate_if(lowering, 3);
  const int average = mutate_if(lowering, 4);
  const int rates = lowering.read(5), scale = read_if(lowering, 6);
  visit_float_type(lowering, gradient_type(lowering), [&]<class G>(G) {
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      const RmspropArgs<G> args{
          floats(at[p]),           typed<G>(at[gradient]),
          floats(at[square]),      address_if(at, momentum),
          address_if(at, average), floats(at[rates]),
          address_if(at, scale)};
      return [=] { rmsprop(attrs, args, n); };
    });
  });
}

void lower_clip_scale(NodeLowering& lowering) {
  const auto attrs = lowering.attrs<ClipScaleAttrs>();
  const int num_inputs = static_cast<int>(lowering.node().inputs.size());
  for (int i = 0; i < num_inputs; ++i) lowering.read(i);
  const int result = lowering.write(0);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    const float* rates = floats(at[0]);
    std::vector<const float*> squares;
    for (int i = 1; i < num_inputs; ++i) squares.push_back(floats(at[i]));
    return [=, scale = floats(at[result])] {
      double sum = 0;
      for (const float* square : squares) sum += *square;
      const float norm = attrs.custom_norm != 0
                             ? attrs.custom_norm
                             : static_cast<float>(std::sqrt(sum));
      const bool is_within = norm <= attrs.maximum_norm;  // NaN is not
      const bool clips = rates[kClips] != 0 && !is_within;
      *scale = clips ? attrs.maximum_norm / norm : 1.0f;
    };
  });
}

void lower_accumulate_gradient(NodeLowering& lowering) {
  const std::int64_t n = lowering.input_shape(0).num_elements();
  const int sum = lowering.mutate(0), gradient = lowering.read(1);
  const int factor = lowering.read(2);
  visit_float_type(lowering, gradient_type(lowering), [&]<class G>(G) {
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      return [=, sum = floats(at[sum]), gradient = typed<G>(at[gradient]),
              factor = floats(at[factor])] {
        accumulate(*factor, sum, gradient, n);
      };
    });
  });
}

}  // namespace traingraph::cpu
