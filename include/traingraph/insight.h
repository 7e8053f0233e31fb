// SPDX-License-Identifier: MIT
// Insight into a compiled graph: what a run will do, before any ran
// (CompiledGraph::report), and what a measured one did
// (CompiledGraph::profile), by layer and by unit.
//
// A unit is what the device runs as one piece: a kernel on the CPU, up to a
// whole step on the GPU. Rows divide units among layers; their sums are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "traingraph/export.h"
#include "traingraph/rewrite.h"  // IWYU pragma: export

namespace traingraph {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Peaks are what the device can do at most; they are measured once per
/// process, when a profile first asks. kUnknown where the device cannot tell.
struct DevicePeaks {
  double flops = kUnknown;      // float32 operations per second
  double bandwidth = kUnknown;  // bytes per second from and to memory
};

/// The cost of one phase of a layer, or a sum of such.
struct LayerCost {
  /// Arithmetic that the ops cannot avoid; a multiplication and an addition
  /// are two.
  double flops = 0;
  /// Counts what units read and write, each storage once per unit (twice if it
  /// is read back), as laid out; that of a fused unit is divided by what its
  /// ops move alone.
  double bytes = 0;
  /// Measured, the median of several runs; 0 in a report. A fused unit's are
  /// divided by estimated cost.
  double seconds = 0;
  /// The spread is that between the first and third quartile of several runs; 0
  /// of one.
  double spread = 0;
  /// The units would take this at the device's peaks: for each the longer of
  /// flops and bytes. kUnknown in a report, or without peaks.
  double limit_seconds = kUnknown;

  /// Share of the limit that was reached. Above 1 where data stays in caches,
  /// which are faster than memory. kUnknown when nothing was measured.
  double share() const {
    return seconds > 0 ? limit_seconds / seconds : kUnknown;
  }
};

/// One call of Graph::node, a loss, or the ops of one name, in the order in
/// which they were declared.
struct TRAINGRAPH_API LayerRow {
  /// The layer's name ("fc:2" for the second node of one); of ops their name,
  /// or without one their kind; of a loaded ONNX file the name of its node.
  /// "optimizer": what an update does for all parameters at once.
  std::string layer;
  std::string ops;  // of the forward: "convolution_2d"
  LayerCost forward, gradient, update;
  /// Elements of the layer's parameters; of shared ones in the first row only.
  std::int64_t parameters = 0;
  /// Rows with the same number, at least 0, are run together; -1: alone.
  int fused_group = -1;
  std::string fused;   // names of the group, at most 32: "conv + relu"
  std::string layout;  // of its forward results: "plain", "nChw16c", "nhwc"
  int reorders = 0;    // units that only change layouts for this layer

  /// Sums up all phases.
  LayerCost cost() const;
};

struct UnitSpan {
  std::string name;  // names of its layers, at most 32: "conv + relu"
  std::string ops;   // "convolution_2d + activation", or "reorder"
  /// The phase of the first op: "forward", "gradient" or "update".
  std::string_view phase;
  std::vector<int> rows;  // of its layers, ascending
  bool is_reorder = false;
  std::string layout;  // of its result; empty where the device does not say
  /// Tensors copied to images or back where the engine of the GPU changes.
  int image_copies = 0;
  LayerCost cost;
  double start = 0;  // seconds after the first unit's start
};

/// A span is the bytes of a plan's arena that hold one thing during some units.
struct MemorySpan {
  std::string name;
  /// "forward", "saved" (from forward for gradient), "gradient", "parameter
  /// gradient", "update" or "scratch".
  std::string_view role;
  std::size_t offset = 0, bytes = 0;
  /// Positions of units, inclusive. What is computed in place of its source
  /// takes over at the unit that computes it. No two spans overlap.
  int first = 0, last = 0;
};

/// Gradients that processes exchange as one.
struct BucketSpan {
  std::string name;  // of its parameters: "head/weights ... stem/biases"
  std::size_t bytes = 0;
  /// Positions of units: it is sent before the one, as soon as it is complete,
  /// and its sum is needed before the other.
  int sent_before = 0, needed_before = 0;
};

/// A span is what a run did for the exchange with other processes, before a
/// unit.
struct ExchangeSpan {
  std::string name;  // "samples of all ranks", "gradients 0 (head/weights)"
  /// The kind is "send": the device hands it over, hooks included; "transfer":
  /// until it is there, while units run; "wait": the device waits for that.
  std::string_view kind;
  int before = 0;
  std::size_t bytes = 0;
  double start = 0, seconds = 0;  // after the first unit's start
};

/// Scaling is what a step will take when several processes have a batch each of
/// the size that was reported or profiled; the model is in docs/scaling.md.
struct Scaling {
  int ranks = 1;
  double step_seconds = 0;
  double compute_seconds = 0;   // of it: units of one process
  double wait_seconds = 0;      // of it: for sums; the rest hides behind units
  double exchange_seconds = 0;  // all transfers, one after the other
  /// The speed of all, divided by that of as many without an exchange.
  double efficiency = 1;
};

/// Plans that are kept for smaller batches than the compiled one.
struct BatchPlans {
  int sizes = 0;                // of batches
  std::size_t bytes = 0;        // of the host that they take, estimated
  std::size_t limit_bytes = 0;  // CompileOptions::batch_plans_bytes
  /// Counts the plans that have made room for others, and are made anew when
  /// they are needed: a number that grows is time lost.
  std::int64_t evictions = 0;
};

/// The plan of execute(), at the compiled batch size.
struct TRAINGRAPH_API Report {
  std::string device;
  std::int64_t batch_size = 0;
  std::vector<LayerRow> rows;
  LayerRow total;
  std::vector<UnitSpan> units;  // in the order of execution
  std::vector<MemorySpan> memory;
  std::size_t arena_bytes = 0;
  /// Casts between floats of 32 and 16 bits, and those of them that are units
  /// of their own: the others are part of what is before or behind them.
  int casts = 0, cast_units = 0;
  /// What the device does otherwise than it was asked to; where ranks sum.
  std::vector<std::string> notes;
  std::vector<Rewrite> rewrites;  // in the order in which they were found
  BatchPlans batch_plans;
  /// Buckets come in the order of sending; there are none unless the graph was
  /// compiled with a collective or a hook. Only then limits of units are known:
  /// measured once per process.
  std::vector<BucketSpan> buckets;
  bool shard_optimizer = false;         // DataParallel::shard_optimizer
  bool synchronize_batch_norm = false;  // DataParallel's, where there is some

  /// Models a step as if each unit took its limit, which is less than it does.
  /// @param bandwidth   bytes per second that a process sends and, at the same
  ///     time, receives.
  /// @param latency   seconds of a message of no bytes.
  /// Throws InvalidArgument; StateError where there are no buckets or limits;
  /// UnsupportedError where processes shard the optimizer.
  Scaling scaling(int ranks, double bandwidth, double latency) const;
};

/// Measured runs; where there are several, each cost is their median, so that
/// rows need not add up to the total. Units of a run go back to back, so starts
/// are sums: of what the device does between units, only what it does for other
/// processes is there.
struct TRAINGRAPH_API Profile {
  std::string device;
  std::int64_t batch_size = 0;
  int runs = 1;
  DevicePeaks peaks;
  std::vector<LayerRow> rows;
  LayerRow total;
  std::vector<UnitSpan> units;
  std::vector<BucketSpan> buckets;      // as Report's, of the runs
  bool shard_optimizer = false;         // DataParallel::shard_optimizer
  bool synchronize_batch_norm = false;  // DataParallel's, where there is some
  std::vector<ExchangeSpan> exchange;

  /// Models a step with the time that each unit took; else as Report's.
  Scaling scaling(int ranks, double bandwidth, double latency) const;
};

}  // namespace traingraph
