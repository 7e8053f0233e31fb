// SPDX-License-Identifier: MIT
#include "runtime/session/option_conflicts.h"

#include "traingraph/error.h"

namespace traingraph {
namespace {

/// The graph that is compiled, and its options.
struct Compiled {
  const Declaration& graph;
  const CompileOptions& options;

  const DataParallel& ranks() const { return options.data_parallel; }
};

struct Conflict {
  const char* option;
  const char* what;
  const char* expected;
  bool (*is_there)(const Compiled&);
  bool is_unsupported = false;  // else the option has no effect
};

constexpr Conflict kConflicts[] = {
    {"accumulate_gradients", "an inference graph has no gradients",
     "a TrainingGraph",
     [](const Compiled& c) {
       return c.options.accumulate_gradients && !c.graph.trains;
     }},
    {"compute_all_gradients", "an inference graph has no gradients",
     "a TrainingGraph",
     [](const Compiled& c) {
       return c.options.compute_all_gradients && !c.graph.trains;
     }},
    {"verify_tolerance", "nothing is verified, so there is no tolerance",
     "a device to verify with, verify",
     [](const Compiled& c) {
       return c.options.verify_tolerance && !c.options.verify;
     }},
    {"shard_optimizer", "there is one process", "a collective",
     [](const Compiled& c) {
       return c.ranks().shard_optimizer && !c.ranks().collective;
     }},
    {"reduce_losses", "there is one process", "a collective",
     [](const Compiled& c) {
       return c.ranks().reduce_losses && !c.ranks().collective;
     }},
    {"synchronize_batch_norm", "there is one process", "a collective",
     [](const Compiled& c) {
       return c.ranks().synchronize_batch_norm && !c.ranks().collective;
     }},
    {"precision", "graphs that are linked cannot agree on a loss scale",
     "float32, fast or mixed_bfloat16 with link_graphs",
     [](const Compiled& c) {
       return c.options.link_graphs &&
              c.options.precision == Precision::MixedFloat16;
     },
     /*is_unsupported=*/true},
    {"collective", "an inference graph has no gradients to exchange",
     "a TrainingGraph",
     [](const Compiled& c) { return c.ranks().collective && !c.graph.trains; },
     /*is_unsupported=*/true},
    {"collective", "an execution that is verified exchanges no gradients",
     "verify off",
     [](const Compiled& c) { return c.ranks().collective && c.options.verify; },
     /*is_unsupported=*/true},
    {"on_bucket", "an inference graph has no gradients to exchange",
     "a TrainingGraph",
     [](const Compiled& c) { return c.ranks().on_bucket && !c.graph.trains; },
     /*is_unsupported=*/true},
    {"on_bucket", "an execution that is verified exchanges no gradients",
     "verify off",
     [](const Compiled& c) { return c.ranks().on_bucket && c.options.verify; },
     /*is_unsupported=*/true},
    // Passes of graphs that may be linked are weighed one by one.
    {"synchronize_batch_norm",
     "the samples of all passes, which weigh gradients that are added up, are "
     "not known when batch normalization sums them over ranks",
     "accumulate_gradients or synchronize_batch_norm off, or link_graphs",
     [](const Compiled& c) {
       return c.ranks().synchronize_batch_norm &&
              c.options.accumulate_gradients && !c.options.link_graphs;
     },
     /*is_unsupported=*/true},
};

}  // namespace

void require_no_conflict(const Declaration& declaration,
                         const CompileOptions& options) {
  for (const Conflict& conflict : kConflicts) {
    if (!conflict.is_there({declaration, options})) continue;
    ErrorInfo info{.op = "compile",
                   .node = conflict.option,
                   .what = conflict.what,
                   .expected = conflict.expected};
    if (conflict.is_unsupported) throw UnsupportedError(info);
    throw InvalidArgument(info);
  }
}

}  // namespace traingraph
