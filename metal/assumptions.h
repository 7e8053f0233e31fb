// SPDX-License-Identifier: MIT
// What Apple does not document and the code relies on, one constant each.
// tests/metal_probes prints what a machine really does.
#pragma once

#include <cstdint>

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

/// Buffers of a placement heap lie at heap base + offset for the host too.
/// Checked whenever a heap is made.
inline constexpr bool kHeapIsContiguousForHost = true;

/// Extents of a matrix product that some systems get wrong from this on: the
/// inner dimension and the number of matrices.
inline constexpr std::int64_t kMatMulLimit = 32767;

/// Convolutions beyond these are wrong or fail on some systems.
inline constexpr std::int64_t kMaxConvolutionChannels = 65536;
inline constexpr std::int64_t kMaxConvolutionKernel = 255;

/// Reductions over axes that are not among the last so many are wrong on some
/// systems; tensors are folded to this rank first.
inline constexpr int kReliableRank = 4;

/// Throughput that units are cut by (CompileOptions::max_gpu_ms): what the
/// slowest supported GPU (M1, 7 cores) reaches at least.
inline constexpr double kFlopsPerSecond = 0.5e12;
inline constexpr double kBytesPerSecond = 30e9;

}  // namespace traingraph::metal
