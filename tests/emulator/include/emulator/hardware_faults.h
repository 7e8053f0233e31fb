// SPDX-License-Identifier: MIT
// What GPUs were seen to get wrong, and the emulator on demand: one member per
// fault, all off by default. Sizes are what tests want, not those of machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace emulator {

struct HardwareFaults {
  static constexpr std::int64_t kNever =
      std::numeric_limits<std::int64_t>::max();

  /// Products are wrong when an operand or the result has more rows or columns,
  /// or an operand's rows lie further apart in memory: those of slices do.
  std::int64_t max_product_extent = kNever;
  /// A product has only every 16th row when the rows of its first operand are
  /// one row that was broadcast and never written down.
  bool loses_broadcast_rows = false;
  /// Convolutions are wrong when their result has more images, rows, columns or
  /// channels.
  std::int64_t max_convolution_extent = kNever;
  /// So are gradients of convolutions of so many images, rows or columns.
  std::int64_t max_gradient_extent = kNever;
  /// Blits stop after so many bytes.
  std::int64_t max_blit_bytes = kNever;
  /// Larger tensors end the process.
  std::int64_t max_tensor_bytes = kNever;
  /// Gradients of convolution2D in as many groups as channels end the process.
  bool ends_at_depthwise_gradients = false;
  /// Products of a reshape from or to a shape with several axes of 1 end the
  /// process, unless something was computed in between.
  bool ends_at_products_of_reshapes = false;
  /// So do products of transposed operands of bfloat16,
  bool ends_at_turned_bfloat16 = false;
  /// and gathers from a single column.
  bool ends_at_gathers_of_columns = false;
  /// Convolutions and their gradients are wrong when their weights are views:
  /// transposed, cut, broadcast.
  bool misreads_views_of_weights = false;
  /// No machine is so, but systems before macOS 14 are: there is no bfloat16.
  bool lacks_bfloat16 = false;
};

/// While it lives, the emulator has these faults. One at a time.
class Imitation {
 public:
  explicit Imitation(const HardwareFaults& faults);
  ~Imitation();
  Imitation(const Imitation&) = delete;
  Imitation& operator=(const Imitation&) = delete;
};

}  // namespace emulator
