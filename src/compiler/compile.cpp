// SPDX-License-Identifier: MIT
#include "compiler/compile.h"

#include "graph/op_def.h"
#include "graph/verify.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

void require_support(const Program& program, const Target& target) {
  for (const Node& node : program.nodes()) {
    const std::string reason = target.reason_unsupported(program, node);
    if (reason.empty()) continue;
    throw UnsupportedError(
        ErrorInfo{.op = node.op->name,
                  .node = node.name,
                  .what = "the device cannot run this op",
                  .expected = std::string(target.name()) + " support",
                  .got = reason,
                  .hint = "Compile for device \"cpu\"."});
  }
}

/// What the host reads after a run.
std::vector<ValueId> readable_values(const Declaration& declaration,
                                     const Assembled& assembled) {
  std::vector<ValueId> readable = assembled.debugged;
  readable.insert(readable.end(), assembled.boundary.begin(),
                  assembled.boundary.end());
  readable.insert(readable.end(), assembled.losses.begin(),
                  assembled.losses.end());
  readable.push_back(assembled.result);
  for (const auto& [name, tensor] : declaration.outputs) {
    readable.push_back(assembled.find(tensor));
  }
  for (const auto& [tensor, gradient] : assembled.input_gradients) {
    readable.push_back(gradient);
  }
  std::erase(readable, kNoValue);
  return readable;
}

CompiledProgram lower(const Declaration& declaration, const Target& target,
                      const CompilerOptions& options, Mode mode,
                      std::int64_t batch) {
  CompiledProgram compiled{.assembled = assemble(declaration, mode, batch),
                           .lowered = {}};
  const Program& program = compiled.assembled.program;
  verify(program);
  require_support(program, target);
  LowerOptions lowering{
      .kept = readable_values(declaration, compiled.assembled),
      .fuses = options.fuses};
  for (const Trained& trained : compiled.assembled.trained) {
    lowering.kept.push_back(trained.gradient);
  }
  compiled.lowered = target.lower(program, lowering);
  return compiled;
}

Plan plan(const Declaration& declaration, const CompiledProgram& compiled,
          const Target& target, const CompilerOptions& options, PlanKind kind) {
  PlanRequest request{
      .kind = kind,
      .readable = readable_values(declaration, compiled.assembled),
      .gradients = {},
      .alignment = target.alignment(),
      .reuses = options.reuses_memory};
  for (const Trained& trained : compiled.assembled.trained) {
    request.gradients.push_back(trained.gradient);
  }
  return make_plan(compiled.assembled.program, compiled.lowered, request);
}

}  // namespace

Compilation compile_graph(const Declaration& declaration, const Target& target,
                          const CompilerOptions& options, std::int64_t batch) {
  Compilation c;
  c.batch = batch;
  if (declaration.trains) {
    c.training = lower(declaration, target, options, Mode::Training, batch);
    c.step = plan(declaration, *c.training, target, options, PlanKind::Step);
    c.phases =
        plan(declaration, *c.training, target, options, PlanKind::Phases);
  }
  c.inference = lower(declaration, target, options, Mode::Inference, batch);
  c.inference_plan =
      plan(declaration, c.inference, target, options, PlanKind::Inference);
  return c;
}

}  // namespace traingraph
