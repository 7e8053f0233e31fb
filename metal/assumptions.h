// SPDX-License-Identifier: MIT
// What Apple does not document and the code relies on, one constant each.
// tests/metal_probes prints what a machine really does. Numbers that differ
// from machine to machine are in gpu_limits.h.
#pragma once

namespace traingraph::metal {

/// May one encoded executable read and write the same buffer? Not documented,
/// so new values of variables go to scratch and are copied back.
inline constexpr bool kFeedAndTargetMayAlias = false;

/// Max pooling's gradient goes to the first of equal samples in row-major
/// order, as on the CPU.
inline constexpr bool kMaxPoolingPicksFirstOfTies = true;

/// Arg reductions return the first of equal elements.
inline constexpr bool kArgReductionPicksFirstOfTies = true;

/// MPSGraph's rint rounds halves to even; its round does not.
inline constexpr bool kRintRoundsHalfToEven = true;

/// MPSGraph's LSTM, GRU and single gate and their gradients are as documented,
/// where they can say what a node does; else, and without this, steps are
/// composed of plain ops.
inline constexpr bool kMpsLstmIsReliable = true;
inline constexpr bool kMpsGruIsReliable = true;
inline constexpr bool kMpsSingleGateIsReliable = true;

/// They run both directions in one call when the two nodes of a bidirectional
/// op are there, as documented: halves of the last axis, (2, gates, H) for
/// weights, the second direction aligned in time. Else each node is a call.
/// Their inputWeight and bias are never given: the gradients would not give
/// those of the gates (docs/recurrent.md).
inline constexpr bool kMpsRunsBothDirections = true;

/// Their gradients read the source only for those of the input weights, which
/// ours never pass. They get another tensor of the same shape.
inline constexpr bool kRnnGradientsIgnoreTheSource = true;

/// The GRU's flipZ means h = (1 - z) h' + z o, as the comment of the op says;
/// that of the property says the opposite.
inline constexpr bool kGruFlipsAsTheOpSays = true;

/// The RNN ops' hard sigmoid is 0.2 x + 0.5 within 0 and 1, as Apple's neuron
/// has it by default. Not documented, so until a machine confirmed it such
/// gates are composed.
inline constexpr bool kRnnHardSigmoidIsKnown = false;

/// MPSGraph adds up matrix products and convolutions of 16 bits in float32 and
/// rounds the sum once. Without this, they are computed in float32 between
/// casts. The gradient by the weights always is: it is a sum over all images
/// and positions, and PyTorch found no other way (its #431 review).
inline constexpr bool kHalfProductsSumInFloat32 = true;
inline constexpr bool kHalfConvolutionsSumInFloat32 = true;

/// Buffers of a placement heap lie at heap base + offset for the host too.
/// Checked whenever a heap is made.
inline constexpr bool kHeapIsContiguousForHost = true;

/// An MPSGraph executable may be encoded to an MPSCommandBuffer while an
/// MPSNNGraph encodes to it: a data source's update does. Without this, filters
/// with weights that the device trains run on MPSGraph.
inline constexpr bool kGraphsRunInsideImageGraphs = true;

/// MPSNN's max pooling has its gradient go to the first of equal samples in
/// row-major order. Without this, it runs on MPSGraph.
inline constexpr bool kImagePoolingPicksFirstOfTies = true;

/// MPSNN's softmax cross entropy has the gradient softmax(y) sum(t) - t;
/// printed is y - t, which nothing could be trained by. Without this, it runs
/// on MPSGraph.
inline constexpr bool kImageSoftmaxLossIsExact = true;

/// The gradient filter of MPSNN's ForwardLossNode multiplies the derivative of
/// the losses by the gradient that it is given. Without this, ForwardLossNodes
/// that are differentiated run on MPSGraph.
inline constexpr bool kImageLossGradientIsChained = true;

}  // namespace traingraph::metal
