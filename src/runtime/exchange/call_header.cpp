// SPDX-License-Identifier: MIT
#include "runtime/exchange/call_header.h"

#include <cstring>

#include "base/format.h"
#include "runtime/collective/rank_text.h"
#include "runtime/exchange/process_group.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

std::string text_of(const CallHeader& header,
                    const std::vector<std::string>& graphs) {
  std::string text = header.entry_point == kNoEntryPoint
                         ? header.call
                         : call_of(static_cast<EntryPoint>(header.entry_point));
  const auto graph = static_cast<std::size_t>(header.graph);
  if (graph < graphs.size()) text += " of " + graphs[graph];
  text += ", call " + std::to_string(header.number);
  if (header.compiled < 2) return text;
  return text + " of compile() " + std::to_string(header.compiled);
}

}  // namespace

void require_same(const HeaderPair& headers,
                  const std::vector<std::string>& graphs, const char* call) {
  const auto& [own, other, own_rank, other_rank] = headers;
  const std::string node = rank_text(other_rank);
  const auto as_own = ", as " + rank_text(own_rank);
  const bool is_same =
      other.number == own.number && other.entry_point == own.entry_point &&
      other.graph == own.graph && other.compiled == own.compiled &&
      std::strcmp(other.call, own.call) == 0;
  if (!is_same) {
    throw StateError(ErrorInfo{
        .op = call,
        .node = node,
        .what = "the processes are at different calls",
        .expected = text_of(own, graphs) + as_own,
        .got = text_of(other, graphs),
        .hint = "All make the same calls in the same order. Did one cancel an "
                "execution, or run out of data?"});
  }
  if (other.changes != own.changes) {
    throw StateError(ErrorInfo{
        .op = call,
        .node = node,
        .what = "parameters were set on some processes and not on others",
        .expected =
            std::to_string(own.changes) + " values since compile()" + as_own,
        .got = std::to_string(other.changes),
        .hint = "Restore, load and set values on all ranks, or "
                "on rank 0 before compile()."});
  }
  if ((other.waiting != 0) != (own.waiting != 0)) {
    const auto has = [](const CallHeader& header) {
      return header.waiting != 0 ? "to the passes before" : "to none";
    };
    throw StateError(
        ErrorInfo{.op = call,
                  .node = node,
                  .what = "the processes add this pass to different ones",
                  .expected = has(own) + as_own,
                  .got = has(other),
                  .hint = "Say accumulate=\"mean\" on all ranks."});
  }
  if (other.pieces != own.pieces || other.numbers != own.numbers) {
    const auto text = [](const CallHeader& header) {
      return std::to_string(header.pieces) + " pieces of " +
             std::to_string(header.numbers) + " numbers";
    };
    throw StateError(
        ErrorInfo{.op = call,
                  .node = node,
                  .what = "the gradients of the processes lie differently",
                  .expected = text(own) + as_own,
                  .got = text(other),
                  .hint = "Train batches of one size on all GPUs."});
  }
  if (other.rate == own.rate) return;
  throw StateError(
      ErrorInfo{.op = call,
                .node = node,
                .what = "the processes have different learning rates",
                .expected = format_value(own.rate) + as_own,
                .got = format_value(other.rate),
                .hint = "Set the same on all ranks."});
}

float weight_of(std::int64_t samples, std::span<const CallHeader> headers) {
  double all = 0;
  for (const CallHeader& header : headers) {
    all += static_cast<double>(header.samples);
  }
  return static_cast<float>(static_cast<double>(samples) / all);
}

void average(std::span<formulas::AccumulationFactors> factors,
             std::span<const CallHeader> headers) {
  double before = 0, now = 0;
  for (const CallHeader& header : headers) {
    before += static_cast<double>(header.waiting);
    now += static_cast<double>(header.samples);
  }
  for (formulas::AccumulationFactors& each : factors) {
    each.keep = static_cast<float>(before / (before + now));
    each.add = static_cast<float>(now / (before + now));
  }
}

}  // namespace traingraph
