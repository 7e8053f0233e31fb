// SPDX-License-Identifier: MIT
#include "cuda/ops/gather_sort.h"

#include "base/checked.h"
#include "cuda/ops/elementwise.h"

namespace traingraph::cuda {
namespace {

constexpr std::int64_t kLeastSorted = 64;
constexpr unsigned kSortThreads = 256;

}  // namespace

bool is_worth_sorting(const Extent& count) {
  return count.varies || count.value >= kLeastSorted;
}

SortedPositions sort_positions(UnitBuilder& unit, int at, DataType type,
                               const Extent& count, const Extent& size,
                               std::vector<Launch>& launches) {
  const auto bytes = static_cast<std::size_t>(
      checked_bytes<std::int32_t>(count.value, "scratch"));
  const SortedPositions positions{.sorted = unit.scratch(bytes),
                                  .order = unit.scratch(bytes)};
  KernelWriter kernel("sort.cuh");
  const std::string from = kernel.pointer(at, type);
  kernel.body("  sort_positions<" + std::to_string(kSortThreads) + ">(" +
              text_of(kernel, count) + ", " + text_of(kernel, size) +
              ", [&](Index k) { return Index(" + from + "[k]); }, " +
              kernel.pointer(positions.sorted, DataType::Int32) + ", " +
              kernel.pointer(positions.order, DataType::Int32) + ");\n");
  launches.push_back(
      std::move(kernel).launch(map_blocks(count.value, 1), kSortThreads));
  return positions;
}

std::string SortedPositions::sum(KernelWriter& kernel, const Extent& count,
                                 const Extent& size, DataType type,
                                 const std::string& data,
                                 const std::string& position,
                                 const std::string& source) const {
  const std::string keys = kernel.pointer(sorted, DataType::Int32);
  const std::string element = type_text(type);
  kernel.body("    const Index num_named = " + text_of(kernel, count) +
              ";\n    if (" + keys + "[num_named - 1] >= " +
              text_of(kernel, size) + ") return nothing<" + element +
              ">();\n    const Range range = range_of(" + keys +
              ", num_named, " + position + ");\n");
  return "sorted_sum<" + element + ">(" + data + ", range, " +
         kernel.pointer(order, DataType::Int32) + ", " + source + ")";
}

}  // namespace traingraph::cuda
