// SPDX-License-Identifier: MIT
// The two units of a step that leaves rows behind: lookup, and gradient with
// update. What they share, and the loops, are in update_table.h.
#include "cpu/ops/update_deferred.h"

#include "cpu/ops/gather_indices.h"
#include "cpu/ops/update_table.h"

namespace traingraph::cpu {
namespace {

enum { kTokens = 0, kIndices = 1 };  // of the gradient, and of the lookup

constexpr const char* kLayout = "plain, other rows behind";

EmbeddingPlan plan_of(const NodeLowering& lowering, const Shape& table,
                      std::int64_t padding_index) {
  return {.count = table.num_elements() / table.back(),
          .width = table.back(),
          .num_tokens = lowering.input_shape(kIndices).num_elements(),
          .padding_index = padding_index};
}

/// Calls use(attrs) of an update.
template <class Use>
void visit_attrs(const NodeLowering& update, Use&& use) {
  const Attributes& attrs = update.node().attrs;
  if (const auto* sgd = std::get_if<SgdUpdateAttrs>(&attrs)) {
    use(*sgd);
  } else if (const auto* adam = std::get_if<AdamUpdateAttrs>(&attrs)) {
    use(*adam);
  } else {
    use(std::get<RmspropUpdateAttrs>(attrs));
  }
}

/// Arguments for what an update changes: the parameter, then the slots.
std::vector<int> mutate_all(NodeLowering& update) {
  std::vector<int> args;
  const Node& node = update.node();
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    if (mutates(node, i)) args.push_back(update.mutate(i));
  }
  return args;
}

TableMemory memory_of(std::span<std::byte* const> at,
                      const std::vector<int>& changed, int notes) {
  TableMemory memory{.notes = at[notes],
                     .parameter = floats(at[changed.front()]),
                     .slots = {}};
  for (std::size_t i = 1; i < changed.size(); ++i) {
    memory.slots.push_back(floats(at[changed[i]]));
  }
  return memory;
}

}  // namespace

void lower_deferred_lookup(NodeLowering& lookup, NodeLowering& update) {
  const auto& attrs = lookup.attrs<EmbeddingAttrs>();
  const EmbeddingPlan plan =
      plan_of(lookup, lookup.input_shape(0), attrs.padding_index);
  const IndexCheck check(lookup, kIndices, plan.count);
  const std::size_t table_bytes = update.input_desc(0).size_bytes();
  const std::size_t notes_bytes = Notes(plan).bytes();
  const std::vector<int> changed = mutate_all(update);
  const int notes = update.held(notes_bytes);
  const int at = lookup.read(kIndices), y = lookup.write(0);
  lookup.describe(kLayout);
  visit_attrs(update, [&](const auto& rule) {
    visit_index_type(lookup, kIndices, [&]<class I>(I) {
      lookup.emit_rows(
          notes,
          [=](std::span<std::byte* const> args,
              std::shared_ptr<DeferredRows>& shared) -> BoundKernel {
            const TableMemory memory = memory_of(args, changed, notes);
            const auto table = make_table(plan, rule, memory);
            table->memory = {{args[notes], notes_bytes}};
            for (int arg : changed) {
              table->memory.push_back({args[arg], table_bytes});
            }
            shared = table;
            return [=, at = typed<I>(args[at]), p = memory.parameter,
                    y = floats(args[y])] {
              check.require(at);
              table->look_up(at);
              cpu::look_up(plan, p, at, y);
            };
          });
    });
  });
}

void lower_deferred_update(NodeLowering& update, NodeLowering& gradient) {
  const auto& backward = gradient.attrs<EmbeddingGradientAttrs>();
  const EmbeddingPlan plan =
      plan_of(gradient, backward.shape, backward.padding_index);
  const Notes notes(plan);
  constexpr int kNumAfterSlots = 2;  // rates and scale
  const bool divides = backward.scales_gradient_by_frequency;
  mutate_all(update);
  const int rates = update.read(
      static_cast<int>(update.node().op->inputs.size()) - kNumAfterSlots);
  const int tokens = gradient.read(kTokens);
  const int held = update.held(notes.bytes());
  const int sums = update.scratch(checked_bytes<float>(
      checked_multiply(notes.most_found, plan.width, "scratch"), "scratch"));
  update.describe(kLayout);
  update.emit_rows(held,
                   [=](std::span<std::byte* const> args,
                       std::shared_ptr<DeferredRows>& shared) -> BoundKernel {
                     return [=, table = std::static_pointer_cast<Table>(shared),
                             tokens = floats(args[tokens]),
                             rates = floats(args[rates]),
                             sums = floats(args[sums])] {
                       add_tokens_of(table->plan, table->found, tokens, sums);
                       table->update(rates, divides, tokens, sums);
                     };
                   });
}

}  // namespace traingraph::cpu
