// SPDX-License-Identifier: MIT
// Optimizer updates in place, for many tensors in one launch, and sums of
// gradients. The formulas, operation by operation, are those of the CPU
// (src/cpu/ops/update_steps.h). In the Metal shading language; see
// dropout.metal.
TRAINGRAPH_MSL(

struct UpdateParams {
  uint num_tensors;
  uint options;
  float lr_scale, rescale, clip_min, clip_max;
  float strength;  // of regularization, or of decoupled decay
  float momentum;  // momentum_scale
  float beta1;     // RMSProp: alpha
  float beta2, epsilon;
};

/// Places are in elements, from where the buffers begin.
struct UpdateTensor {
  ulong parameter, gradient, slots[3], hyperparameters, scale;
  uint first_chunk;  // of this tensor; chunks are numbered through the launch
  uint count;        // of elements
};

// UpdateParams::options.
constant uint kHasScale = 1;
constant uint kClipsByValue = 2;
constant uint kL1 = 4;
constant uint kL2 = 8;
constant uint kMomentum = 16;
constant uint kNesterov = 32;
constant uint kAmsgrad = 64;
constant uint kDecoupledDecay = 128;
constant uint kCentered = 256;

// A thread takes elements that are so far apart, so that neighbours among the
// threads read neighbours among the elements.
constant uint kThreadsPerChunk = 256;
constant uint kPerThread = 4;

/// Entries of the hyperparameters tensor.
constant uint kLearningRate = 0;
constant uint kCorrectedRate = 1;
constant uint kClips = 2;

/// The tensor that a thread works on, and the first of its elements there.
struct UpdatePlace {
  uint tensor, first;
};

inline UpdatePlace place_of(constant UpdateTensor* tensors, uint num_tensors,
                            uint id) {
  const uint chunk = id / kThreadsPerChunk;
  uint low = 0;
  uint high = num_tensors;
  while (high - low > 1) {
    const uint middle = (low + high) / 2;
    if (tensors[middle].first_chunk <= chunk) {
      low = middle;
    } else {
      high = middle;
    }
  }
  UpdatePlace place;
  place.tensor = low;
  place.first = (chunk - tensors[low].first_chunk) *
                    (kThreadsPerChunk * kPerThread) +
                id % kThreadsPerChunk;
  return place;
}

/// What every update does to the raw gradient first.
struct Preparation {
  float scale, clip_min, clip_max, rescale, strength;
  uint options;
};

inline Preparation preparation(constant UpdateParams& params,
                               device const float* hyperparameters,
                               device const float* scale) {
  const bool clips =
      (params.options & kClipsByValue) != 0 && hyperparameters[kClips] != 0;
  Preparation prepare;
  prepare.scale = (params.options & kHasScale) != 0 ? *scale : 1.0f;
  prepare.clip_min = clips ? params.clip_min : -INFINITY;
  prepare.clip_max = clips ? params.clip_max : INFINITY;
  prepare.rescale = params.rescale;
  prepare.strength = params.strength;
  prepare.options = params.options;
  return prepare;
}

inline float prepared(Preparation prepare, float gradient, float parameter) {
  float g = gradient * prepare.scale;
  g = g < prepare.clip_min ? prepare.clip_min : g;
  g = g > prepare.clip_max ? prepare.clip_max : g;
  g *= prepare.rescale;
  if ((prepare.options & kL1) != 0) {
    const float sign = float(parameter > 0) - float(parameter < 0);
    g += prepare.strength * sign;
  }
  if ((prepare.options & kL2) != 0) g += prepare.strength * parameter;
  return g;
}

kernel void sgd_update(device float* parameters [[buffer(0)]],
                       device const float* gradients [[buffer(1)]],
                       device float* momenta [[buffer(2)]],
                       device const float* all_hyperparameters [[buffer(5)]],
                       device const float* scales [[buffer(6)]],
                       constant UpdateParams& params [[buffer(7)]],
                       constant UpdateTensor* tensors [[buffer(8)]],
                       uint id [[thread_position_in_grid]]) {
  const UpdatePlace place = place_of(tensors, params.num_tensors, id);
  constant UpdateTensor& tensor = tensors[place.tensor];
  device const float* hyperparameters =
      all_hyperparameters + tensor.hyperparameters;
  const Preparation prepare =
      preparation(params, hyperparameters, scales + tensor.scale);
  if (prepare.scale < 0) return;  // this step is skipped
  const float rate = hyperparameters[kLearningRate] * params.lr_scale;
  const float mu = params.momentum;
  for (uint turn = 0; turn < kPerThread; ++turn) {
    const uint i = place.first + turn * kThreadsPerChunk;
    if (i >= tensor.count) return;
    const float p = parameters[tensor.parameter + i];
    const float g = prepared(prepare, gradients[tensor.gradient + i], p);
    if ((params.options & kMomentum) == 0) {
      parameters[tensor.parameter + i] = p - rate * g;
    } else if ((params.options & kNesterov) != 0) {
      const float m = mu * momenta[tensor.slots[0] + i] + g;
      momenta[tensor.slots[0] + i] = m;
      parameters[tensor.parameter + i] = p - rate * (g + mu * m);
    } else {
      const float m = mu * momenta[tensor.slots[0] + i] + rate * g;
      momenta[tensor.slots[0] + i] = m;
      parameters[tensor.parameter + i] = p - m;
    }
  }
}

kernel void adam_update(device float* parameters [[buffer(0)]],
                        device const float* gradients [[buffer(1)]],
                        device float* momenta [[buffer(2)]],
                        device float* velocities [[buffer(3)]],
                        device float* maxima [[buffer(4)]],
                        device const float* all_hyperparameters [[buffer(5)]],
                        device const float* scales [[buffer(6)]],
                        constant UpdateParams& params [[buffer(7)]],
                        constant UpdateTensor* tensors [[buffer(8)]],
                        uint id [[thread_position_in_grid]]) {
  const UpdatePlace place = place_of(tensors, params.num_tensors, id);
  constant UpdateTensor& tensor = tensors[place.tensor];
  device const float* hyperparameters =
      all_hyperparameters + tensor.hyperparameters;
  const Preparation prepare =
      preparation(params, hyperparameters, scales + tensor.scale);
  if (prepare.scale < 0) return;  // this step is skipped
  const float rate = hyperparameters[kCorrectedRate] * params.lr_scale;
  const float decay =
      (params.options & kDecoupledDecay) != 0
          ? hyperparameters[kLearningRate] * params.lr_scale * params.strength
          : 0.0f;
  const float rest1 = 1 - params.beta1;
  const float rest2 = 1 - params.beta2;
  for (uint turn = 0; turn < kPerThread; ++turn) {
    const uint i = place.first + turn * kThreadsPerChunk;
    if (i >= tensor.count) return;
    const float p = parameters[tensor.parameter + i];
    const float g = prepared(prepare, gradients[tensor.gradient + i], p);
    const float m = params.beta1 * momenta[tensor.slots[0] + i] + rest1 * g;
    const float v =
        params.beta2 * velocities[tensor.slots[1] + i] + rest2 * (g * g);
    momenta[tensor.slots[0] + i] = m;
    velocities[tensor.slots[1] + i] = v;
    float second = v;
    if ((params.options & kAmsgrad) != 0) {
      const float most = maxima[tensor.slots[2] + i];
      second = most > v ? most : v;
      maxima[tensor.slots[2] + i] = second;
    }
    parameters[tensor.parameter + i] =
        p - (rate * m / (sqrt(second) + params.epsilon) + decay * p);
  }
}

kernel void rmsprop_update(device float* parameters [[buffer(0)]],
                           device const float* gradients [[buffer(1)]],
                           device float* squares [[buffer(2)]],
                           device float* momenta [[buffer(3)]],
                           device float* averages [[buffer(4)]],
                           device const float* all_hyperparameters
                               [[buffer(5)]],
                           device const float* scales [[buffer(6)]],
                           constant UpdateParams& params [[buffer(7)]],
                           constant UpdateTensor* tensors [[buffer(8)]],
                           uint id [[thread_position_in_grid]]) {
  const UpdatePlace place = place_of(tensors, params.num_tensors, id);
  constant UpdateTensor& tensor = tensors[place.tensor];
  device const float* hyperparameters =
      all_hyperparameters + tensor.hyperparameters;
  const Preparation prepare =
      preparation(params, hyperparameters, scales + tensor.scale);
  if (prepare.scale < 0) return;  // this step is skipped
  const float rate = hyperparameters[kLearningRate] * params.lr_scale;
  const float alpha = params.beta1;
  const float rest = 1 - alpha;
  for (uint turn = 0; turn < kPerThread; ++turn) {
    const uint i = place.first + turn * kThreadsPerChunk;
    if (i >= tensor.count) return;
    const float p = parameters[tensor.parameter + i];
    const float g = prepared(prepare, gradients[tensor.gradient + i], p);
    float variance = alpha * squares[tensor.slots[0] + i] + rest * (g * g);
    squares[tensor.slots[0] + i] = variance;
    if ((params.options & kCentered) != 0) {
      const float average = alpha * averages[tensor.slots[2] + i] + rest * g;
      averages[tensor.slots[2] + i] = average;
      variance -= average * average;
      // Rounding may push a variance of nothing below zero.
      variance = variance < 0 ? 0.0f : variance;
    }
    const float step = rate * g / (sqrt(variance) + params.epsilon);
    if ((params.options & kMomentum) != 0) {
      const float m = params.momentum * momenta[tensor.slots[1] + i] - step;
      momenta[tensor.slots[1] + i] = m;
      parameters[tensor.parameter + i] = p + m;
    } else {
      parameters[tensor.parameter + i] = p - step;
    }
  }
}

/// An accumulator that starts over may hold anything, NaN included.
kernel void accumulate_gradient(device float* sums [[buffer(0)]],
                                device const float* gradients [[buffer(1)]],
                                device const float* factors [[buffer(5)]],
                                constant UpdateParams& params [[buffer(7)]],
                                constant UpdateTensor* tensors [[buffer(8)]],
                                uint id [[thread_position_in_grid]]) {
  const UpdatePlace place = place_of(tensors, params.num_tensors, id);
  constant UpdateTensor& tensor = tensors[place.tensor];
  const float keep = factors[tensor.hyperparameters];
  const float add = factors[tensor.hyperparameters + 1];
  for (uint turn = 0; turn < kPerThread; ++turn) {
    const uint i = place.first + turn * kThreadsPerChunk;
    if (i >= tensor.count) return;
    const float more = add * gradients[tensor.gradient + i];
    sums[tensor.parameter + i] =
        keep != 0 ? keep * sums[tensor.parameter + i] + more : more;
  }
}

)  // TRAINGRAPH_MSL
