// SPDX-License-Identifier: MIT
// Loss scaling: gradients in float16 are computed as multiples of a factor, so
// that small ones are not lost, and divided by it where somebody sees them. The
// factor is a variable of the device, which the updates change; a power of two,
// so that it costs no digit.
//
//   seeds * scale -> gradients in 16 bits -> float32 / scale -> host, updates
//
// Source: Micikevicius et al., Mixed Precision Training, 2018, section 3.2.
#pragma once

#include "compiler/assemble.h"

namespace traingraph {

/// A gradient times one number, which is a tensor of one element.
ValueId scaled(Program& program, ValueId gradient, ValueId factor);

class LossScale {
 public:
  /// Does nothing for graphs without one.
  LossScale(const MergedGraph& graph, Assembled& assembled)
      : graph_(graph), a_(assembled) {}

  ValueId applied(ValueId seed);
  ValueId removed(ValueId gradient);

 private:
  bool is_used() const { return graph_.loss_scale != kNoTensor; }
  ValueId factor();

  const MergedGraph& graph_;
  Assembled& a_;
  ValueId factor_ = kNoValue, inverse_ = kNoValue;
};

}  // namespace traingraph
