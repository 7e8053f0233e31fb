// SPDX-License-Identifier: MIT
// Where the faults of emulator/hardware_faults.h happen.
#pragma once

#include <cstddef>

#include "emulator/hardware_faults.h"
#include "executor.h"

namespace emulator {

HardwareFaults hardware_faults();

/// Spoils the results of a node that ran, or ends the process before it does.
class Misbehaviour {
 public:
  explicit Misbehaviour(const Plan& plan);
  void before(const Node& node) const;
  void after(const Node& node, std::vector<Array>& results) const;

 private:
  bool spoils_product(const Node& node) const;
  bool spoils_convolution(const Node& node) const;
  bool reads_view_of_weights(const Node& node) const;
  bool is_view(std::size_t value) const;
  bool is_turned_bfloat16(std::size_t value) const;
  bool is_reshape_of_ones(std::size_t value) const;
  /// How far apart the rows of a value lie, if nothing wrote it anew: 0 for one
  /// row that was broadcast.
  std::int64_t row_stride(std::size_t value) const;

  const Plan& plan_;
  HardwareFaults faults_;
  std::vector<const Node*> producers_;  // of values; null for feeds
};

/// So many bytes of a blit arrive.
std::size_t bytes_that_arrive(std::size_t bytes);

}  // namespace emulator
