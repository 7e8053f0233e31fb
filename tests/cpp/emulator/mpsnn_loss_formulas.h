// SPDX-License-Identifier: MIT
// Losses in float64, for the tests of their nodes.
#pragma once

#import "mpsnn_filter_support.h"

struct LossSetting {
  MPSCNNLossType type;
  MPSCNNReductionType reduction = MPSCNNReductionTypeSum;
  double weight = 1, smoothing = 0, epsilon = 1e-7, delta = 1;
  int classes = 1;
};

/// Sources are predictions, labels and perhaps weights.
Tensor losses(const LossSetting& s, const Tensors& sources);
double total(const Tensor& t);
Formula reduced(const LossSetting& s);
/// What gradients are of: no reduction divides them.
Formula summed(LossSetting s);
MPSCNNLossDescriptor* descriptor(const LossSetting& s);
