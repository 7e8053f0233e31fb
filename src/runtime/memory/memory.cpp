// SPDX-License-Identifier: MIT
#include "traingraph/memory.h"

#include <cstdio>
#include <utility>

namespace traingraph {
namespace {

std::string line(const char* label, std::size_t bytes) {
  char text[96];
  std::snprintf(text, sizeof(text), "%-34s %14zu bytes %10.2f MiB\n", label,
                bytes, static_cast<double>(bytes) / (1024.0 * 1024.0));
  return text;
}

std::string plan_lines(const char* name, const PlanMemory& plan) {
  const std::string prefix = std::string(name) + ": ";
  std::string text = line((prefix + "arena").c_str(), plan.arena_bytes);
  text += line("  live peak (lower bound)", plan.live_peak_bytes);
  text += line("  without reuse", plan.unplanned_bytes);
  if (plan.saved_bytes) text += line("  saved activations", plan.saved_bytes);
  if (plan.gradient_bytes) {
    text += line("  parameter gradients", plan.gradient_bytes);
  }
  text += line("  largest workspace", plan.workspace_bytes);
  return text;
}

}  // namespace

std::size_t MemoryReport::total_bytes(bool with_step, bool with_phases,
                                      bool with_inference) const {
  return persistent_bytes + (with_step ? step.arena_bytes : 0) +
         (with_phases ? phases.arena_bytes : 0) +
         (with_inference ? inference.arena_bytes : 0);
}

std::string MemoryReport::to_string() const {
  std::string text = line("parameters", parameter_bytes);
  const std::pair<const char*, std::size_t> optional[] = {
      {"parameters of other graphs", shared_bytes},
      {"running statistics", statistics_bytes},
      {"optimizer slots", optimizer_bytes},
      {"constants", constant_bytes},
      {"gradient accumulators", accumulator_bytes}};
  for (const auto& [label, bytes] : optional) {
    if (bytes) text += line(label, bytes);
  }
  text += line("inputs and labels", input_bytes);
  text += line("persistent, in all", persistent_bytes);
  if (step.arena_bytes) text += plan_lines("step", step);
  if (phases.arena_bytes) text += plan_lines("phases", phases);
  if (inference.arena_bytes) text += plan_lines("inference", inference);
  text += line("predicted for the arenas in use", predicted_bytes);
  text += line("allocated on the device", allocated_bytes);
  if (engine_bytes) text += line("held by the engine, measured", engine_bytes);
  return text;
}

}  // namespace traingraph
