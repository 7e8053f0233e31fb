// SPDX-License-Identifier: MIT
#include "compiler/passes.h"

#include <array>

#include "compiler/append_gradients.h"
#include "compiler/append_updates.h"
#include "compiler/distribution/collectives.h"
#include "compiler/distribution/synchronize_norms.h"
#include "compiler/passes/batch_axis.h"
#include "compiler/passes/find_boundary.h"
#include "compiler/passes/mixed_precision.h"
#include "compiler/passes/pool_before_relu.h"
#include "compiler/passes/recognize_layers.h"
#include "compiler/passes/remove_dead_nodes.h"
#include "compiler/passes/remove_identities.h"
#include "compiler/passes/remove_later_phases.h"
#include "compiler/passes/upcast.h"
#include "compiler/passes/use_inference_forms.h"
#include "graph/verify.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

void set_batch_size(const PassContext& context, Assembled& a) {
  const BatchChange change{.from = context.graph.batch, .to = context.batch};
  if (change.to != change.from) resize_batch(a.program, change);
}

void use_forms_of_mode(const PassContext& context, Assembled& a) {
  if (context.variant.mode == Mode::Inference) use_inference_forms(a.program);
}

/// Inference of a training graph is its forward phase.
void keep_forward_phase(const PassContext& context, Assembled& a) {
  const bool is_forward_only =
      context.graph.trains && context.variant.mode == Mode::Inference;
  if (is_forward_only && context.graph.declares_gradients) {
    remove_later_phases(a);
  }
}

void drop_identities(const PassContext& context, Assembled& a) {
  remove_identities(context.graph, a);
}

void name_boundary(const PassContext& context, Assembled& a) {
  if (context.graph.is_linkable) find_boundary(context.graph, a);
}

/// Values whose gradients have a meaning of their own.
std::vector<ValueId> gradient_borders(const MergedGraph& graph,
                                      const Assembled& a) {
  std::vector<ValueId> named;
  for (const auto& user : graph.user_gradients) {
    named.push_back(a.find(user.of));
  }
  for (const auto& given : graph.given_gradients) {
    named.push_back(a.find(given.gradient));
  }
  for (TensorIndex tensor : graph.stopped) named.push_back(a.find(tensor));
  for (TensorIndex tensor : debugged_results(graph)) {
    named.push_back(a.find(tensor));
  }
  std::erase(named, kNoValue);
  return named;
}

/// Results that tables outside the program name: passes leave them unchanged.
std::vector<ValueId> named_results(const MergedGraph& graph,
                                   const Assembled& a) {
  std::vector<ValueId> named = readable_values(graph, a);
  const auto borders = gradient_borders(graph, a);
  named.insert(named.end(), borders.begin(), borders.end());
  return named;
}

void recognize(const PassContext& context, Assembled& a) {
  if (!context.options.fuses) return;
  recognize_layers(context.graph, named_results(context.graph, a), a);
}

void mix_precision(const PassContext& context, Assembled& a) {
  mixed_precision(context.graph, named_results(context.graph, a),
                  gradient_borders(context.graph, a), a.program);
}

void fit_to_target(const PassContext& context, Assembled& a) {
  upcast(context.target, a.program);
  a.depends_on_labels.resize(a.program.values().size(), false);
}

void pool_first(const PassContext& context, Assembled& a) {
  pool_before_relu(a.program, named_results(context.graph, a));
}

void append_gradient_phase(const PassContext& context, Assembled& a) {
  if (!context.differentiates()) return;
  append_gradients(context.graph, context.variant.accumulates, a);
}

void append_update_phase(const PassContext& context, Assembled& a) {
  const bool updates = context.differentiates() && context.graph.update;
  if (updates) append_updates(context.graph, a);
}

void drop_dead_nodes(const PassContext& context, Assembled& a) {
  std::vector<ValueId> kept = readable_values(context.graph, a);
  for (const Trained& trained : a.trained) kept.push_back(trained.gradient);
  remove_dead_nodes(a.program, kept);
  a.depends_on_labels.resize(a.program.values().size(), false);
}

struct Pass {
  const char* name;
  void (*run)(const PassContext& context, Assembled& assembled);
};

constexpr std::array kPasses{
    Pass{"set the batch size", set_batch_size},
    Pass{"use the forms of the mode", use_forms_of_mode},
    Pass{"keep the forward phase", keep_forward_phase},
    Pass{"drop identities", drop_identities},
    Pass{"name the boundary", name_boundary},
    Pass{"recognize layers", recognize},
    Pass{"mixed precision", mix_precision},
    Pass{"pool before relu", pool_first},
    Pass{"append gradients", append_gradient_phase},
    Pass{"synchronize batch normalizations", synchronize_norms},
    Pass{"append sums over ranks", reduce_over_ranks},
    Pass{"append updates", append_update_phase},
    Pass{"place sums over ranks", place_collectives},
    Pass{"drop dead nodes", drop_dead_nodes},
    Pass{"upcast", fit_to_target},
    Pass{"drop what nobody reads now", drop_dead_nodes},
};

void verify_after(const Pass& pass, const Program& program) {
  try {
    verify(program);
  } catch (const InternalError& error) {
    throw InternalError(ErrorInfo{.op = error.op(),
                                  .node = error.node(),
                                  .what = std::string("the pass \"") +
                                          pass.name +
                                          "\" left: " + error.what()});
  }
}

}  // namespace

void run_passes(const PassContext& context, Assembled& assembled) {
  for (const Pass& pass : kPasses) {
    pass.run(context, assembled);
#ifdef NDEBUG
    if (&pass != &kPasses.back()) continue;
#endif
    verify_after(pass, assembled.program);
  }
}

}  // namespace traingraph
