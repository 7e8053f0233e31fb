// SPDX-License-Identifier: MIT
#include "compiler/compile.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "compiler/joined_gradients.h"
#include "compiler/prepared_units.h"
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
  if (kind != PlanKind::Inference && options.collectives.are_there()) {
    request.is_one_run = true;
    std::ranges::sort(request.gradients);  // as the sums were appended
  }
  return make_plan(assembled.program, compiled.lowered, request);
}

/// Makes the parts of one compilation, equal programs once.
class BatchCompiler {
 public:
  BatchCompiler(std::shared_ptr<const MergedGraph> graph, const Target& target,
                const CompilerOptions& options, std::int64_t batch,
                const Compilation* larger)
      : graph_(*graph), target_(target), options_(options), larger_(larger) {
    made_.graph = std::move(graph);
    made_.batch = batch;
  }

  Compilation run(std::span<const PlanKind> kinds) {
    for (const PlanKind kind : kinds) {
      Compilation::Part part;
      part.program = make_program(kind);
      part.plan = plan(graph_, *part.program, target_, options_, kind,
                       larger_ ? &larger_->plan(kind) : nullptr);
      made_.parts[static_cast<std::size_t>(kind)] = std::move(part);
    }
    return std::move(made_);
  }

 private:
  /// A step is the separate phases in a row, unless the host sums gradients
  /// meanwhile, it drops accumulators, or its nodes can be joined.
  Variant variant_of(PlanKind kind) const {
    if (kind == PlanKind::Inference) return {.mode = Mode::Inference};
    const bool is_step = kind == PlanKind::Step;
    Variant variant;
    variant.accumulates = !is_step || graph_.accumulators.empty() ||
                          graph_.accumulates_in_steps();
    if (is_step && options_.collectives.are_there()) {
      variant.timeline = Timeline::OneRun;
    }
    return variant;
  }

  std::shared_ptr<const CompiledProgram> make_program(PlanKind kind) const {
    Variant variant = variant_of(kind);
    const auto alike = find(variant);
    std::optional<Assembled> own;
    if (!alike) own = assembled(variant);
    const Assembled& a = alike ? alike->assembled : *own;
    if (kind == PlanKind::Step && joins(variant, a)) {
      variant.timeline = Timeline::Joined;
    } else if (alike) {
      return alike;
    }
    LoweredProgram program = lowered(variant, a);
    if (!own) own = alike->assembled;
    return std::make_shared<const CompiledProgram>(
        CompiledProgram{variant, std::move(*own), std::move(program)});
  }

  std::shared_ptr<const CompiledProgram> find(const Variant& variant) const {
    for (const Compilation::Part& part : made_.parts) {
      if (part.program && part.program->variant == variant) return part.program;
    }
    return nullptr;
  }

  /// Can units of a step span its phases? Linked graphs leave out some updates,
  /// but need the gradients.
  bool joins(const Variant& variant, const Assembled& a) const {
    if (variant.timeline == Timeline::OneRun) return false;
    if (target_.joins_phases()) return true;
    if (!options_.fuses || graph_.is_linkable) return false;
    const auto joined =
        find_joined_gradients(a.program, readable_values(graph_, a),
                              /*joins_phases=*/true);
    return std::ranges::any_of(joined, [&](NodeId id) {
      return a.program.node(id).phase != Phase::Update;
    });
  }

  Assembled assembled(const Variant& variant) const {
    Assembled a = assembled_at(made_.batch, variant);
    require_support(a.program, target_);
    return a;
  }
  Assembled assembled_at(std::int64_t batch, const Variant& variant) const {
    return assemble(graph_, variant, batch, target_, options_);
  }

  BatchExtents batch_extents(const Variant& variant, const Assembled& a) const {
    const bool has_one_size = graph_.batch <= 1 || graph_.batch_obstacle;
    if (!target_.wants_batch_extents() || has_one_size) return {};
    // A larger one: extents of 1 may mean that an operand repeats.
    const std::int64_t other = made_.batch + 1;
    return find_batch_extents(a.program, assembled_at(other, variant).program);
  }

  LoweredProgram lowered(const Variant& variant, const Assembled& a) const {
    LowerOptions lowering{
        .kept = readable_values(graph_, a),
        .fuses = options_.fuses,
        .rounds_operands = graph_.precision == Precision::Fast,
        .joins_phases = variant.timeline == Timeline::Joined,
        .is_one_run = variant.timeline != Timeline::Phases,
        .may_be_absent = {},
        .separates_updates = graph_.is_linkable,
        .max_gpu_ms = options_.max_gpu_ms};
    if (variant.mode == Mode::Inference) {
      lowering.may_be_absent = optional_values(a);
    }
    lowering.batch_extents = batch_extents(variant, a);
    if (!lowering.joins_phases) {
      for (const Trained& trained : a.trained) {
        lowering.kept.push_back(trained.gradient);
      }
    }
    LoweredProgram program = target_.lower(a.program, lowering);
    const bool keeps = variant.mode == Mode::Inference;
    if (keeps && target_.keeps_prepared()) mark_prepared(a.program, program);
    return program;
  }

  const MergedGraph& graph_;
  const Target& target_;
  const CompilerOptions& options_;
  const Compilation* larger_;
  Compilation made_;
};

}  // namespace

Compilation compile_graph(std::shared_ptr<const MergedGraph> graph,
                          const Target& target, const CompilerOptions& options,
                          std::int64_t batch) {
  // Phases first: a step may share their program.
  static constexpr std::array kTraining{PlanKind::Phases, PlanKind::Step,
                                        PlanKind::Inference};
  static constexpr std::array kInference{PlanKind::Inference};
  const std::span<const PlanKind> kinds =
      graph->trains ? std::span<const PlanKind>(kTraining) : kInference;
  return BatchCompiler(std::move(graph), target, options, batch, nullptr)
      .run(kinds);
}

Compilation compile_batch(std::shared_ptr<const MergedGraph> graph,
                          const Target& target, const CompilerOptions& options,
                          std::int64_t batch, PlanKind kind,
                          const Compilation* larger) {
  return BatchCompiler(std::move(graph), target, options, batch, larger)
      .run({&kind, 1});
}

}  // namespace traingraph
