// SPDX-License-Identifier: MIT
// GpuLimits: every number that decides which engine runs a node, how it is
// tiled and what is refused, in one place. limits_of() fills it for a machine;
// tests make others. What is true on every machine or unknown is in
// assumptions.h. Plain C++, tested everywhere.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace traingraph::metal {

struct MacOs {
  int major = 0, minor = 0;
  auto operator<=>(const MacOs&) const = default;
};

/// What the machine says about itself.
struct GpuSystem {
  /// The newest of those that limits_of() tells apart.
  MacOs macos{13, 0};
  /// 7: M1, 8: M2, 9: M3 and M4, 10: M5.
  int apple_family = 7;
  std::size_t max_buffer_bytes = 0;
  std::size_t heap_alignment = 0;
};

struct GpuLimits {
  // --- memory ---
  /// The limit of one MTLBuffer, hence of an arena: a heap has a buffer over
  /// all of it.
  std::size_t max_buffer_bytes = SIZE_MAX;
  /// Buffers inside a heap begin at multiples of this.
  std::size_t heap_alignment = 256;

  // --- tensors ---
  /// MPSNDArray: fewer than 2^31 elements, as are the axes of an image with
  /// its padding.
  std::int64_t max_elements = (std::int64_t{1} << 31) - 1;
  /// MPSGraph ends the process for larger ones, on every system as far as is
  /// known (pytorch#86279, #124635, #143859, #149261; #149325 is open). Holds
  /// for all that a node is computed with, too.
  std::size_t max_tensor_bytes = (std::size_t{1} << 32) - 1;
  /// MPSDataTypeBFloat16 is there from macOS 14 on. GPUs before M3 (family 9)
  /// have no instructions for it and convert every operand, so it saves them
  /// memory and no time.
  bool has_bfloat16 = false;
  /// Reductions, softmax and padding of tensors of a higher rank are wrong on
  /// some systems; tensors are folded to this rank first.
  int reliable_rank = 4;

  // --- products and convolutions ---
  /// Products whose inner dimension or number of matrices is larger are wrong
  /// on M1 and M2 with every system (pytorch#195163), elsewhere before macOS
  /// 14.4 (pytorch#111634); they are tiled.
  std::int64_t max_matmul_extent = 32766;
  /// So are, before macOS 14.4, those whose operands have more rows or columns
  /// or rows that lie further apart (pytorch#116769).
  std::int64_t max_matmul_rows = 32768;
  /// Products of rows that were broadcast, and not written down, are wrong from
  /// macOS 15.0 on, but for 26.4 and 26.5 (pytorch#180201); broadcasts are
  /// written down.
  bool writes_broadcasts = true;
  /// Products that read a reshape of a tensor with two or more axes of 1 end
  /// the process from macOS 26 on (pytorch#187201, #190352): the reshape is
  /// written down, so that MPSGraph does not fold it into the product.
  bool writes_reshapes = true;
  /// Products of transposed operands of bfloat16 end the process on M5 with
  /// macOS 27 (pytorch#197796); the operand is written down transposed.
  bool writes_turned_bfloat16 = true;
  /// Convolutions read weights that are views of other tensors (transposed,
  /// cut, broadcast) as if they were not, from macOS 15.0 on (pytorch#192212);
  /// what the graph computes of weights is written down.
  bool writes_weights = true;
  /// Convolutions beyond these are wrong or fail on some systems: channels
  /// before macOS 15.1 (pytorch#129207) and, as nobody has said that gradients
  /// were mended as well, on all; kernels on all (pytorch#188335).
  std::int64_t max_convolution_channels = 65536;
  std::int64_t max_convolution_kernel = 255;
  /// Results of convolutions with more images, rows or columns are computed in
  /// tiles before macOS 15.1, where PyTorch refuses them.
  std::int64_t max_convolution_extent = 65536;
  /// Gradients by the weights of more images are wrong on all systems
  /// (pytorch#96225); gradients of more images, rows or columns are computed in
  /// tiles.
  std::int64_t max_gradient_extent = 65535;
  /// Depthwise convolutions and their gradients have selectors of their own.
  /// PyTorch never calls the others for gradients, and convolutions in groups
  /// ended processes there (pytorch#112998).
  bool calls_depthwise = true;

  // --- gathers ---
  /// Gathers from a single column end the process before macOS 15.2
  /// (pytorch#135240); columns are repeated until there are so many.
  std::int64_t min_gather_columns = 2;

  // --- copies ---
  /// Larger blits and fills lose bytes: 4 GiB and more on all systems
  /// (pytorch#124335, #161265); they are done in pieces.
  std::size_t max_blit_bytes = std::size_t{1} << 31;

  // --- image graphs (MPSNN) ---
  /// Off: filters run as the MPSGraph operations that they were made of.
  bool uses_image_graphs = true;
  /// Filters whose gradient Apple's headers print otherwise than the forward
  /// formula asks for run on MPSNN as well; docs/nodes.md has the list.
  bool trusts_misprinted_filters = false;
  /// The limit of a texture's sides and slices; a slice has four channels.
  std::int64_t max_image_extent = 16384;
  std::int64_t max_image_channels = 4 * 2048;

  // --- kernels of our own ---
  std::size_t max_threads_per_group = 256;
  /// Dropout with a larger mask is a kernel of its own: then the mask costs
  /// more than the cut (docs/decisions/2026-11-metal-dropout-kernel.md).
  std::size_t max_mask_bytes = std::size_t{32} << 20;

  // --- time ---
  /// Throughput that units are cut by (CompileOptions::max_gpu_ms): what the
  /// slowest supported GPU (M1, 7 cores) reaches at least.
  double flops_per_second = 0.5e12;
  double bytes_per_second = 30e9;

  // --- encoding ahead ---
  /// MPSGraph takes memory for values inside an executable when that is
  /// encoded, and keeps it until the work is over (pytorch#145374, #194459):
  /// runs are encoded ahead until theirs add up to so much.
  std::size_t max_bytes_ahead = std::size_t{1} << 30;

  // --- optimizers ---
  /// Off: updates are operations of MPSGraph, whose results go to scratch and
  /// are copied to the variables (docs/decisions/2026-11-metal-updates.md).
  bool uses_update_kernels = true;

  /// The least time that so much work takes.
  double estimated_ms(double flops, double bytes) const;

  bool operator==(const GpuLimits&) const = default;
};

/// What is known about a system; what is not known stays at the careful value.
GpuLimits limits_of(const GpuSystem& system);

}  // namespace traingraph::metal
