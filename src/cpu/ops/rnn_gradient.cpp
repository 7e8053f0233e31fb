// SPDX-License-Identifier: MIT
// lstm_gradient: arguments and scratch memory; the loops are in
// rnn_gradient_loops.h.
#include "cpu/ops/rnn_gradient_loops.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {

void lower_lstm_gradient(NodeLowering& lowering) {
  using namespace lstm_gradient;
  const auto& attrs = lowering.attrs<LstmAttrs>();
  const Shape& shape = lowering.input_shape(kGates);
  const std::int64_t samples = shape[1], rows = shape[0] * samples;
  const std::int64_t hidden = lowering.input_shape(kWeights)[1];
  const std::int64_t width = kNumLstmGates * hidden;
  const LstmSteps steps{shape[0], samples, hidden, attrs.reverse};
  const DataType type = lowering.input_desc(kGates).data_type;

  std::array<int, kNumResults> out;
  for (int r = 0; r < kNumResults; ++r) {
    const bool is_written = r == kDx || lowering.is_used(r);
    out[r] = is_written ? lowering.write(r) : -1;
  }
  const bool has_weights = out[kDWeights] >= 0;
  // The step before has the state that a step went on from, but for the first.
  const bool has_shift = lowering.has(kHidden) &&
                         !lowering.has(kInitialState) && !lowering.has(kMask);
  std::array<int, kNumInputs> in;
  for (int i = 0; i < kNumInputs; ++i) {
    const bool is_read =
        lowering.has(i) && (i != kHidden || (has_weights && has_shift));
    in[i] = is_read ? lowering.read(i) : -1;
  }
  lowering.may_run_in_place(kDx, kGates);

  const StepProduct product(lowering, MatrixView::plain(samples, width),
                            MatrixView::plain(width, hidden), type);
  const std::int64_t summed = has_shift ? rows - samples : rows;
  std::optional<Product> weights;
  if (has_weights && summed > 0) {
    weights.emplace(lowering, MatrixView::plain(summed, width).transposed(),
                    MatrixView::plain(summed, hidden), type);
  }
  const auto scratch = [&] {
    return lowering.scratch(checked_bytes<float>(samples * hidden, "scratch"));
  };
  const int products = scratch(), dstate = scratch(), dcell = scratch();
  const int dmask = out[kDMask] >= 0 ? scratch() : -1;
  visit_float_type(lowering, type, [&]<class T>(T) {
    const bool has_states = has_weights && !has_shift;
    const int states =
        has_states
            ? lowering.scratch(checked_bytes<T>(rows * hidden, "scratch"))
            : -1;
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      const auto address = [&](int arg) { return arg < 0 ? nullptr : at[arg]; };
      GradientArgs<T> args{};
      for (int i = 0; i < kNumInputs; ++i) {
        if (i != kLengths) args.in[i] = typed<T>(address(in[i]));
      }
      args.lengths = typed<std::int32_t>(address(in[kLengths]));
      for (int r = 0; r < kNumResults; ++r) {
        args.out[r] = typed<T>(address(out[r]));
      }
      args.states = typed<T>(address(states));
      args.product = floats(at[products]);
      args.dstate = floats(at[dstate]);
      args.dcell = floats(at[dcell]);
      args.dmask = floats(address(dmask));
      std::optional<BoundPrimitive> last;
      if (weights) {
        // Steps go on from the one before, or in reverse from the one after.
        const std::int64_t skipped = has_shift ? samples : 0;
        const bool is_reverse = steps.is_reverse;
        T* const d = args.out[kDx] + (is_reverse ? 0 : skipped * width);
        T* const k = has_shift ? const_cast<T*>(args.in[kHidden]) +
                                     (is_reverse ? skipped * hidden : 0)
                               : args.states;
        last =
            weights->bind(at, reinterpret_cast<std::byte*>(d),
                          reinterpret_cast<std::byte*>(k), at[out[kDWeights]]);
      }
      return LstmBackward<T>(
          attrs, steps, args,
          product.bind(at, at[out[kDx]], at[in[kWeights]], at[products]),
          std::move(last));
    });
  });
}

}  // namespace traingraph::cpu
