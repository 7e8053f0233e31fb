// SPDX-License-Identifier: MIT
// How gradients of several passes, and of several processes, become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace traingraph {

class Collective;

/// Says what execute_gradient() does with the gradients that wait for the
/// update; the first pass after an update, or after execute(), always replaces.
/// Also how gradients of several processes become one.
enum class GradientAccumulation : std::uint8_t {
  /// Replaces them.
  None,
  /// Follows the losses' reduction, so that the update is that of one batch of
  /// all samples. InvalidArgument where that is not one of the next two.
  ByLoss,
  /// Adds the new ones.
  Sum,
  /// Has their mean, each pass counting by its samples.
  Mean
};

/// Gradients that are exchanged as one, as a hook sees them: those of this
/// process, before they are sent. `values` may be changed, and are valid during
/// the call.
struct GradientBucket {
  int index = 0;
  std::span<float> values;  // zeros between one gradient and the next
  std::span<const std::string_view> parameters;
};

/// Data-parallel training: several processes train the same graph, each on its
/// part of every batch; see docs/distributed.md.
struct DataParallel {
  /// Processes talk through this; null: there is one process.
  std::shared_ptr<Collective> collective = nullptr;
  /// Sum, Mean (each process counts by its samples), or as the losses'
  /// reduction says, which is InvalidArgument where it is neither.
  GradientAccumulation gradients_of_ranks = GradientAccumulation::ByLoss;
  /// A bucket of gradients is sent when the last of them is computed. Larger
  /// buckets are fewer messages, smaller ones begin earlier.
  std::size_t bucket_bytes = std::size_t{4} << 20;
  /// Seconds that this process waits for the others before an execution fails.
  double collective_timeout = 300;
  /// Each process keeps the optimizer's buffers of its shard of the trained
  /// elements, and updates these; the others send it theirs after the update
  /// (ZeRO, stage 1). CompiledGraph::save() and read_state_dict() then are
  /// calls that all processes make.
  bool shard_optimizer = false;
  /// The losses of executions are those of all samples of all processes, by
  /// `gradients_of_ranks`. InvalidArgument for losses that are not one number.
  bool reduce_losses = false;
  /// Batch normalization in training has the mean and variance of all samples
  /// of all processes, and so have running statistics and gradients. Then
  /// execute_forward() of a training graph is a call that all processes make.
  bool synchronize_batch_norm = false;
  /// A thread of the device calls this for each bucket, in order, before it is
  /// sent. What it throws fails the execution.
  std::function<void(const GradientBucket&)> on_bucket = {};
};

}  // namespace traingraph
