// SPDX-License-Identifier: MIT
// A kernel for each formula of src/formulas, so that NVRTC compiles all of it
// (tests/python/test_formulas.py). No GPU runs them.
#include "formulas/activation.h"
#include "formulas/arithmetic.h"
#include "formulas/class_loss.h"
#include "formulas/ctc.h"
#include "formulas/fast_math.h"
#include "formulas/loss.h"
#include "formulas/loss_scale.h"
#include "formulas/moments.h"
#include "formulas/random.h"
#include "formulas/run_time_scalars.h"
#include "formulas/update_steps.h"
#include "formulas/update_table.h"
#include "formulas/yolo.h"

using namespace traingraph::formulas;

// --- fast_math.h
#define FUNCTION(name)                                                   \
  extern "C" __global__ void name##_kernel(const float* x, float* y) {   \
    y[threadIdx.x] = name(x[threadIdx.x]);                               \
  }
FUNCTION(fast_exp)
FUNCTION(fast_exp_below)
FUNCTION(fast_expm1)
FUNCTION(fast_log1p_unit)
FUNCTION(fast_sigmoid)
FUNCTION(fast_tanh)
FUNCTION(fast_erfc)
FUNCTION(fast_round)
FUNCTION(fast_floor)
FUNCTION(fast_ceil)

// --- activation.h
#define ACTIVATION(Map, ...)                                             \
  extern "C" __global__ void Map##_kernel(const float* x, float* value,  \
                                          float* slope, float a,         \
                                          float b) {                     \
    const functions::Map map{__VA_ARGS__};                               \
    value[threadIdx.x] = map.value(x[threadIdx.x]);                      \
    slope[threadIdx.x] = map.slope(x[threadIdx.x]);                      \
  }
ACTIVATION(Identity)
ACTIVATION(Relu, a)
ACTIVATION(LinearMap, a, b)
ACTIVATION(HardSigmoidMap, a, b)
ACTIVATION(ScaledTanh, a, b)
ACTIVATION(SigmoidMap)
ACTIVATION(AbsoluteValue)
ACTIVATION(ScaledSoftPlus, a, b)
ACTIVATION(SoftSignMap)
ACTIVATION(ReluN, a, b)
ACTIVATION(ScaledElu, 1, a, b)
ACTIVATION(HardShrinkMap, a)
ACTIVATION(SoftShrinkMap, a)
ACTIVATION(TanhShrinkMap)
ACTIVATION(ThresholdMap, a, b)
ACTIVATION(HardSwishMap)
ACTIVATION(GeluMap)
ACTIVATION(GeluTanhMap)
ACTIVATION(StoredGelu)
ACTIVATION(StoredGeluTanh)
ACTIVATION(StoredTanh, a, b)
ACTIVATION(SiluMap)
ACTIVATION(MishMap)
ACTIVATION(ClampMap, a, b)

// --- arithmetic.h
#define UNARY(Name)                                                         \
  extern "C" __global__ void Name##_kernel(const float* x, float* y) {      \
    y[threadIdx.x] = arithmetic::Name()(x[threadIdx.x]);                    \
  }
UNARY(Floor)
UNARY(Round)
UNARY(Ceil)
UNARY(Sqrt)
UNARY(Rsqrt)
UNARY(Sin)
UNARY(Cos)
UNARY(Tan)
UNARY(Asin)
UNARY(Acos)
UNARY(Atan)
UNARY(Sinh)
UNARY(Cosh)
UNARY(Tanh)
UNARY(Asinh)
UNARY(Acosh)
UNARY(Atanh)
UNARY(Exp)
UNARY(Exp2)
UNARY(Log)
UNARY(Log2)
UNARY(Erf)

#define BINARY(Name)                                                        \
  extern "C" __global__ void Name##_kernel(const float* x, const float* y,  \
                                           float* z) {                      \
    z[threadIdx.x] = arithmetic::Name()(x[threadIdx.x], y[threadIdx.x]);    \
  }
BINARY(Add)
BINARY(Subtract)
BINARY(Multiply)
BINARY(Divide)
BINARY(Pow)
BINARY(MultiplyNoNaN)
BINARY(DivideNoNaN)
BINARY(Min)
BINARY(Max)

#define COMPARISON(Name)                                                    \
  extern "C" __global__ void Name##_kernel(const float* x, const float* y,  \
                                           bool* z) {                       \
    z[threadIdx.x] = arithmetic::Name()(x[threadIdx.x], y[threadIdx.x]);    \
  }
COMPARISON(Equal)
COMPARISON(NotEqual)
COMPARISON(Less)
COMPARISON(Greater)
COMPARISON(LessOrEqual)
COMPARISON(GreaterOrEqual)
COMPARISON(LogicalAND)
COMPARISON(LogicalOR)
COMPARISON(LogicalNAND)
COMPARISON(LogicalNOR)
COMPARISON(LogicalXOR)

// --- loss.h
#define LOSS(Name, ...)                                                     \
  extern "C" __global__ void Name##_loss_kernel(const float* y, const float* t,  \
                                           float* value, float* slope,      \
                                           float a, float b) {              \
    const losses::Name loss{__VA_ARGS__};                                   \
    value[threadIdx.x] = loss.value(y[threadIdx.x], t[threadIdx.x]);        \
    slope[threadIdx.x] = loss.slope(y[threadIdx.x], t[threadIdx.x]);        \
  }
LOSS(MeanAbsoluteError)
LOSS(MeanSquaredError)
LOSS(SigmoidCrossEntropy, a, b)
LOSS(Hinge)
LOSS(Huber, a)
LOSS(KullbackLeiblerDivergence)
LOSS(Log, a)

// --- class_loss.h
extern "C" __global__ void softmax_loss_kernel(const float* y, const float* t,
                                               float* dx, double* value,
                                               float largest, double sum) {
  const uint32 i = threadIdx.x;
  value[i] = log_likelihood(y[i], t[i], largest, log(sum));
  dx[i] = softmax_slope(y[i], t[i], largest, static_cast<float>(1 / sum));
}

// --- ctc.h
extern "C" __global__ void ctc_kernel(const float* before, const float* jumps,
                                      const float* now, float* row) {
  const float* at = before + threadIdx.x;
  const float sum = ctc::one_step(at[0], at[-1], at[-2], jumps[threadIdx.x],
                                  now[threadIdx.x]);
  row[threadIdx.x] = ctc::is_none(sum) ? ctc::none() : sum;
}

// --- yolo.h
struct YoloAnchor {
  const float *y, *t, *size;
  __device__ double prediction(int channel) const { return y[channel]; }
  __device__ double label(int channel) const { return t[channel]; }
  __device__ double width() const { return size[0]; }
  __device__ double height() const { return size[1]; }
};

extern "C" __global__ void yolo_kernel(YoloAnchor anchor, yolo::Options options,
                                       yolo::Assignment* assigned,
                                       double* sums) {
  *assigned = yolo::assign(options, anchor, true);
  sums[0] = yolo::binary_cross_entropy(anchor.prediction(yolo::kConfidence),
                                       assigned->target);
  const double error =
      anchor.prediction(yolo::kWidth) - anchor.label(yolo::kWidth);
  sums[1] = yolo::huber(error);
  sums[2] = yolo::huber_slope(error);
  sums[3] = yolo::centre_slope(anchor.prediction(yolo::kX),
                               anchor.label(yolo::kX), 1.0f);
}

// --- moments.h
extern "C" __global__ void moments_kernel(const double* now, double* running,
                                          double keep, double n) {
  running[threadIdx.x] =
      moved(running[threadIdx.x], now[threadIdx.x] * unbiasing(n), keep);
}

// --- loss_scale.h
extern "C" __global__ void loss_scale_kernel(LossScale* scale, double* rate,
                                             bool is_finite) {
  *scale = next_loss_scale(*scale, is_finite, 2000.0f);
  *rate = corrected_rate(1e-3, 0.9, 0.999, 10.0 - scale->skipped_steps);
}

// --- random.h
extern "C" __global__ void dropout_kernel(const RandomState* state,
                                          const float* x, float* y,
                                          DropoutCall call) {
  const uint32 id = blockIdx.x * blockDim.x + threadIdx.x;
  const PhiloxBlock block =
      dropout_block(dropout_stream(call.seed, call.stream, *state), id);
  for (uint32 i = 0; i < 4 && 4 * id + i < call.count; ++i) {
    const float kept = x[4 * id + i] * call.scale;
    y[4 * id + i] = is_kept(block.words[i], call.rate) ? kept : 0.0f;
  }
}

// --- update_steps.h, update_table.h
template <class Step>
inline void update(float* const* buffers, const UpdateCall& call,
                   const UpdateTensor* tensors) {
  const uint32 id = blockIdx.x * blockDim.x + threadIdx.x;
  const UpdatePlace place = update_place(tensors, call.num_tensors, id);
  const UpdateTensor tensor = tensors[place.tensor];
  const ChosenOptions options{call.params.options};
  const Hyperparameters now =
      *reinterpret_cast<const Hyperparameters*>(buffers[5] +
                                                tensor.hyperparameters);
  const float scale =
      options.has(kHasScale) ? buffers[6][tensor.scale] : 1.0f;
  if (scale < 0) return;
  const Step step(call.params, now, scale, options);
  for (uint32 turn = 0; turn < kElementsPerThread; ++turn) {
    const uint32 i = place.first + turn * kThreadsPerChunk;
    if (i >= tensor.count) return;
    UpdateElement e;
    e.parameter = buffers[0][tensor.parameter + i];
    for (int s = 0; s < kMaxUpdateSlots; ++s) {
      if ((Step::slots(options) >> s & 1) == 0) continue;
      e.slots[s] = buffers[2 + s][tensor.slots[s] + i];
    }
    e = step(buffers[1][tensor.gradient + i], e);
    buffers[0][tensor.parameter + i] = e.parameter;
    for (int s = 0; s < kMaxUpdateSlots; ++s) {
      if ((Step::slots(options) >> s & 1) == 0) continue;
      buffers[2 + s][tensor.slots[s] + i] = e.slots[s];
    }
  }
}

#define UPDATE(Op, name, Step)                                              \
  extern "C" __global__ void name##_kernel(                                 \
      float* const* buffers, UpdateCall call, const UpdateTensor* tensors) { \
    update<Step<ChosenOptions>>(buffers, call, tensors);                    \
  }                                                                         \
  extern "C" __global__ void fixed_##name##_kernel(                         \
      const float* gradient, UpdateElement* elements, UpdateParams params,  \
      Hyperparameters now) {                                                \
    using Fixed = FixedOptions<kL2 | kMomentum | kAmsgrad | kCentered>;     \
    const Step<Fixed> step(params, now, 1, Fixed());                        \
    elements[threadIdx.x] = step(gradient[threadIdx.x], elements[threadIdx.x]); \
  }
TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE

extern "C" __global__ void accumulate_kernel(AccumulationFactors factors,
                                             const float* gradient,
                                             float* sum) {
  sum[threadIdx.x] =
      accumulated(factors, sum[threadIdx.x], gradient[threadIdx.x]);
}
