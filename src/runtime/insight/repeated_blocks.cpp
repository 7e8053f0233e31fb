// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/row_costs.h"
#include "traingraph/insight_text.h"

namespace traingraph {
namespace {

/// "block#.conv" of "block1.conv" and "block12.conv:2"; a number at the end is
/// left out, since the first of several has none.
std::string without_numbers(const std::string& name) {
  std::string text;
  for (char c : name) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && text.ends_with('#')) continue;
    text += is_digit ? '#' : c;
  }
  if (!text.ends_with('#')) return text;
  text.erase(text.find_last_not_of("#:._- ") + 1);
  return text.empty() ? "#" : text;
}

struct Block {
  LayerRow row;
  int times = 1;
};

void add_to(Block& block, const LayerRow& row) {
  for (LayerCost LayerRow::* phase : kPhaseCosts) {
    add_to(block.row.*phase, row.*phase);
  }
  block.row.parameters += row.parameters;
  block.row.reorders += row.reorders;
  if (block.row.layout != row.layout) block.row.layout = "various";
  // Which blocks are run together does not fit into one row.
  block.row.fused_group = -1;
  block.row.fused.clear();
  ++block.times;
}

}  // namespace

std::vector<LayerRow> repeated_blocks(const std::vector<LayerRow>& rows) {
  using Work = std::tuple<std::string, std::string, double, double, double>;
  std::map<Work, std::size_t> found;
  std::vector<Block> blocks;
  for (const LayerRow& row : rows) {
    const Work work{without_numbers(row.layer), row.ops, row.forward.flops,
                    row.gradient.flops, row.update.flops};
    const auto [at, is_new] = found.try_emplace(work, blocks.size());
    if (is_new) {
      blocks.push_back({.row = row});
    } else {
      add_to(blocks[at->second], row);
    }
  }
  std::vector<LayerRow> result;
  for (Block& block : blocks) {
    if (block.times > 1) {
      block.row.layer = without_numbers(block.row.layer) + " x " +
                        std::to_string(block.times);
    }
    result.push_back(std::move(block.row));
  }
  return result;
}

}  // namespace traingraph
