// SPDX-License-Identifier: MIT
// Losses of one element of the prediction y and its label t: value and slope,
// which is the derivative by the prediction.
#pragma once

#include "formulas/fast_math.h"
#include "formulas/portable.h"

namespace traingraph {
namespace formulas {
namespace losses {

struct MeanAbsoluteError {
  float value(float y, float t) const { return fabs(y - t); }
  float slope(float y, float t) const {
    return static_cast<float>(y > t) - static_cast<float>(y < t);
  }
};

struct MeanSquaredError {
  float value(float y, float t) const { return (y - t) * (y - t); }
  float slope(float y, float t) const { return 2 * (y - t); }
};

/// Of labels that are smoothed: keep * t + add.
struct SigmoidCrossEntropy {
  float keep, add;
  float value(float y, float t) const {
    const float smooth = t * keep + add;
    const float rest = fast_log1p_unit(fast_exp(-fabs(y)));
    return (y > 0 ? y : 0) - y * smooth + rest;
  }
  float slope(float y, float t) const {
    const float e = fast_exp(-fabs(y));  // never overflows
    return (y >= 0 ? 1 : e) / (1 + e) - (t * keep + add);
  }
};

struct Hinge {
  float value(float y, float t) const {
    const float margin = 1 - (2 * t - 1) * y;
    return margin < 0 ? 0 : margin;
  }
  float slope(float y, float t) const {
    const float sign = 2 * t - 1;
    return 1 - sign * y > 0 ? -sign : 0;
  }
};

struct Huber {
  float delta;
  float value(float y, float t) const {
    const float a = fabs(y - t);
    return a <= delta ? 0.5f * a * a : delta * (a - 0.5f * delta);
  }
  float slope(float y, float t) const {
    const float d = y - t;
    return d > delta ? delta : d < -delta ? -delta : d;
  }
};

#if !defined(__METAL_VERSION__)  // it has no log1p
/// A side without label adds nothing, even where its logarithm is infinite.
struct Log {
  float epsilon;
  float value(float y, float t) const {
    const float hit = t * log(y + epsilon);
    const float miss = (1 - t) * log1p(epsilon - y);
    return -(t == 0 ? 0 : hit) - (t == 1 ? 0 : miss);
  }
  float slope(float y, float t) const {
    const float hit = t / (y + epsilon);
    const float miss = (1 - t) / (1 - y + epsilon);
    return (t == 1 ? 0 : miss) - (t == 0 ? 0 : hit);
  }
};
#endif

/// What has no share of the labels adds nothing.
struct KullbackLeiblerDivergence {
  float value(float y, float t) const { return t == 0 ? 0 : t * (log(t) - y); }
  float slope(float, float t) const { return -t; }
};

}  // namespace losses
}  // namespace formulas
}  // namespace traingraph
