// SPDX-License-Identifier: MIT
#include "compiler/compile.h"

#include <algorithm>

#include "compiler/joined_gradients.h"
#include "compiler/passes/collectives.h"
#include "graph/op_def.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

void require_support(const Program& program, const Target& target) {
  for (const Node& node : program.nodes()) {
    if (node.op->is_host) continue;
    const std::string reason = target.reason_unsupported(program, node);
    if (reason.empty()) continue;
    const bool is_cpu = target.name() == "cpu";
    throw UnsupportedError(
        ErrorInfo{.op = node.op->name,
                  .node = node.name,
                  .what = "the device cannot run this op",
                  .expected = std::string(target.name()) + " support",
                  .got = reason,
                  .hint = is_cpu ? "" : "Compile for device \"cpu\"."});
  }
}

/// What a run may do without: labels at inference.
std::vector<ValueId> optional_values(const Assembled& assembled) {
  std::vector<ValueId> optional;
  const Program& program = assembled.program;
  for (ValueId v = 0; v < static_cast<ValueId>(program.values().size()); ++v) {
    const bool is_given = program.value(v).producer < 0;
    if (is_given && assembled.depends_on_labels[v]) optional.push_back(v);
  }
  return optional;
}

/// What separate phases accumulate and a step does not.
bool drops_accumulators(const MergedGraph& graph) {
  return !graph.accumulators.empty() && !graph.accumulates_in_steps();
}

LoweredProgram lower(const MergedGraph& graph, const Target& target,
                     const CompilerOptions& options, PlanKind kind,
                     const Assembled& assembled, bool is_step) {
  LowerOptions lowering{.kept = readable_values(graph, assembled),
                        .fuses = options.fuses,
                        .rounds_operands = graph.precision == Precision::Fast,
                        .joins_phases = kind == PlanKind::Step,
                        .is_one_run = is_step,
                        .may_be_absent = {},
                        .separates_updates = graph.is_linkable,
                        .max_gpu_ms = options.max_gpu_ms};
  if (kind == PlanKind::Inference) {
    lowering.may_be_absent = optional_values(assembled);
  }
  if (!lowering.joins_phases) {
    for (const Trained& trained : assembled.trained) {
      lowering.kept.push_back(trained.gradient);
    }
  }
  return target.lower(assembled.program, lowering);
}

/// Is a step other than forward, gradient and update in a row? Linked graphs
/// leave out some updates, but need the gradients.
bool steps_apart(const MergedGraph& graph, const Target& target,
                 const CompilerOptions& options, const Assembled& assembled) {
  if (target.joins_phases()) return true;
  if (!options.fuses || graph.is_linkable) return false;
  const Program& program = assembled.program;
  const auto joined =
      find_joined_gradients(program, readable_values(graph, assembled),
                            /*joins_phases=*/true);
  return std::ranges::any_of(joined, [&](NodeId id) {
    return program.node(id).phase != Phase::Update;
  });
}

/// What suits all buffers. They differ on GPUs alone, where a unit has few.
std::size_t alignment_of(const CompiledProgram& compiled,
                         const Target& target) {
  const Program& program = compiled.assembled.program;
  std::size_t largest = target.alignment();
  for (const Storage& storage : compiled.lowered.storages) {
    const bool is_elsewhere = storage.value != kNoValue &&
                              program.value(storage.value).role != Role::Result;
    if (is_elsewhere) continue;
    largest = std::max(largest, target.alignment_of(storage.bytes));
  }
  return largest;
}

Plan plan(const MergedGraph& graph, const CompiledProgram& compiled,
          const Target& target, const CompilerOptions& options, PlanKind kind,
          const Plan* larger) {
  const Assembled& assembled = compiled.assembled;
  PlanRequest request{.kind = kind,
                      .readable = readable_values(graph, assembled),
                      .gradients = {},
                      .alignment = alignment_of(compiled, target),
                      .reuses = options.reuse_memory,
                      .larger = larger};
  for (const Trained& trained : assembled.trained) {
    request.gradients.push_back(trained.gradient);
  }
  if (kind != PlanKind::Inference && options.has_collectives()) {
    request.has_collectives = true;
    std::ranges::sort(request.gradients);  // as the sums were appended
  }
  return make_plan(assembled.program, compiled.lowered, request);
}

/// Makes the parts of one compilation.
class BatchCompiler {
 public:
  BatchCompiler(std::shared_ptr<const MergedGraph> graph, const Target& target,
                const CompilerOptions& options, std::int64_t batch,
                const Compilation* larger)
      : graph_(*graph), target_(target), options_(options), larger_(larger) {
    made_.graph = std::move(graph);
    made_.batch = batch;
  }

  Compilation all() {
    if (graph_.trains) {
      compile_phases();
      compile_step();
    }
    compile_inference();
    return std::move(made_);
  }

  Compilation only(PlanKind kind) {
    if (kind == PlanKind::Step) compile_step();
    if (kind == PlanKind::Phases) compile_phases();
    if (kind == PlanKind::Inference) compile_inference();
    return std::move(made_);
  }

 private:
  Assembled assembled(Mode mode, bool accumulates = true,
                      bool is_step = false) const {
    CollectiveOptions collectives = options_.collectives;
    collectives.is_step = is_step;
    Assembled a =
        assemble(graph_, mode, made_.batch, target_, accumulates, collectives);
    require_support(a.program, target_);
    return a;
  }

  CompiledProgram lowered(Assembled a, PlanKind kind,
                          bool is_step = false) const {
    LoweredProgram program = lower(graph_, target_, options_, kind, a, is_step);
    return {.assembled = std::move(a), .lowered = std::move(program)};
  }

  void compile_phases() {
    made_.training = lowered(assembled(Mode::Training), PlanKind::Phases);
    made_.phases = planned(PlanKind::Phases);
  }

  /// After compile_phases(), whose program may do, or without it.
  void compile_step() {
    const bool drops = drops_accumulators(graph_);
    const bool is_other = drops || options_.has_collectives();
    std::optional<Assembled> own;
    if (is_other || !made_.training) {
      own = assembled(Mode::Training, !drops, /*is_step=*/true);
    }
    const Assembled& a = own ? *own : made_.training->assembled;
    // Sums over ranks are under way while the phases run one by one.
    const bool is_apart = !options_.has_collectives() &&
                          steps_apart(graph_, target_, options_, a);
    if (is_apart || own) {
      const PlanKind kind = is_apart ? PlanKind::Step : PlanKind::Phases;
      made_.joined = lowered(own ? std::move(*own) : a, kind, /*is_step=*/true);
    }
    made_.step = planned(PlanKind::Step);
  }

  void compile_inference() {
    made_.inference = lowered(assembled(Mode::Inference), PlanKind::Inference);
    made_.inference_plan = planned(PlanKind::Inference);
  }

  Plan planned(PlanKind kind) const {
    return plan(graph_, made_.program(kind), target_, options_, kind,
                larger_ ? &larger_->plan(kind) : nullptr);
  }

  const MergedGraph& graph_;
  const Target& target_;
  const CompilerOptions& options_;
  const Compilation* larger_;
  Compilation made_;
};

}  // namespace

std::vector<TensorIndex> find_exchange_order(const MergedGraph& graph,
                                             const Target& target,
                                             std::int64_t batch) {
  return order_of_readiness(
      assemble(graph, Mode::Training, batch, target, /*accumulates=*/false));
}

Compilation compile_graph(std::shared_ptr<const MergedGraph> graph,
                          const Target& target, const CompilerOptions& options,
                          std::int64_t batch) {
  return BatchCompiler(std::move(graph), target, options, batch, nullptr).all();
}

Compilation compile_batch(std::shared_ptr<const MergedGraph> graph,
                          const Target& target, const CompilerOptions& options,
                          std::int64_t batch, PlanKind kind,
                          const Compilation* larger) {
  return BatchCompiler(std::move(graph), target, options, batch, larger)
      .only(kind);
}

}  // namespace traingraph
