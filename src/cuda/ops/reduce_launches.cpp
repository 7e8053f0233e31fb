// SPDX-License-Identifier: MIT
#include "cuda/ops/reduce_launches.h"

#include <algorithm>

#include "base/checked.h"
#include "base/divide_up.h"

namespace traingraph::cuda {
namespace {

constexpr int kWarpThreads = 32;
constexpr int kBlockThreads = 256;
constexpr int kSmallBlock = 128;
constexpr std::int64_t kLongestOfWarp = 1024;
constexpr std::int64_t kLongestOfThread = 32;
constexpr std::int64_t kMaxTeamBlocks = 132 * 16;

constexpr int kColumnRows = 8;  // warps of a block that reduces columns
/// Outputs of fewer elements are not cut.
constexpr std::int64_t kLeastCut = 8192;
constexpr std::int64_t kElementsOfChunk = 4096;
constexpr std::int64_t kMaxChunks = 512;
/// Blocks that keep a card busy.
constexpr std::int64_t kEnoughBlocks = 132;

bool varies(const Extents& sizes) { return product(sizes).varies; }

/// How a reduction is launched.
struct ReduceForm {
  Extents kept, reduced;
  std::vector<Extents> kept_strides, reduced_strides;
  bool is_by_columns = false;  // neighbours are of neighbouring outputs
  int threads = kBlockThreads;
  Extent chunks{1};

  explicit ReduceForm(const Reduction& of)
      : kept_strides(of.strides.size()), reduced_strides(of.strides.size()) {
    for (std::size_t axis = 0; axis < of.sizes.size(); ++axis) {
      const bool is_reduced = of.is_reduced[axis];
      (is_reduced ? reduced : kept).push_back(of.sizes[axis]);
      auto& strides = is_reduced ? reduced_strides : kept_strides;
      for (std::size_t k = 0; k < of.strides.size(); ++k) {
        strides[k].push_back(of.strides[k][axis]);
      }
      if (!of.sizes[axis].is(1)) is_by_columns = !is_reduced;
    }
    if (!is_by_columns) threads = team_threads(product(reduced));
    cut();
  }

 private:
  void cut() {
    // Samples are enough outputs.
    if (varies(kept) || fixed_part(reduced) < kLeastCut) return;
    const std::int64_t outputs = product(kept).value;
    const std::int64_t tasks =
        is_by_columns ? divide_up(outputs, std::int64_t{kWarpThreads})
                      : outputs;
    if (tasks >= kEnoughBlocks) return;
    const Extent count = product(reduced);
    const std::int64_t together = is_by_columns ? kWarpThreads : 1;
    chunks = {
        std::clamp<std::int64_t>(count.value * together / kElementsOfChunk, 1,
                                 std::max<std::int64_t>(2, kMaxChunks / tasks)),
        count.varies};
  }
};

/// `store` is what becomes of output `o` (and chunk) with `total`.
template <class Store>
Launch reduce_launch(const Reduction& of, const ReduceForm& form, Store store) {
  KernelWriter kernel("reduce.cuh");
  for (const std::string& header : of.headers) kernel.include(header);
  const Extent outputs = product(form.kept), count = product(form.reduced);
  kernel.body(form.is_by_columns
                  ? "  reduce_columns<" + std::to_string(kColumnRows) + ", "
                  : "  reduce_rows<" + team_text(form.threads) + ", ");
  kernel.body(of.reducer +
              (form.is_by_columns ? ">("
               : of.is_costly     ? ", true>("
                                  : ", false>(") +
              text_of(kernel, outputs) + ", " + text_of(kernel, count) + ", " +
              text_of(kernel, form.chunks) + ", [&](Index o) {\n");
  std::vector<std::string> at =
      Walk(form.kept, form.kept_strides).write_offsets(kernel, "o");
  kernel.body("    return [=](Index r) {\n");
  const std::vector<std::string> reduced =
      Walk(form.reduced, form.reduced_strides).write_offsets(kernel, "r");
  for (std::size_t k = 0; k < at.size(); ++k) {
    at[k] = "(" + at[k] + " + " + reduced[k] + ")";
  }
  kernel.body("    return " + of.element(kernel, at, "r") + ";\n    };\n  }, " +
              "[&](Index o, " + of.reducer + "::Total total) {\n");
  store(kernel);
  kernel.body("  });\n");
  if (form.is_by_columns) {
    const std::int64_t tiles =
        divide_up(outputs.value, std::int64_t{kWarpThreads});
    return std::move(kernel).launch(
        std::clamp<std::int64_t>(tiles * form.chunks.value, 1, kMaxTeamBlocks),
        kColumnRows * kWarpThreads);
  }
  return std::move(kernel).launch(
      team_blocks(outputs.value * form.chunks.value, form.threads),
      team_block(form.threads));
}

Launch merge_launch(const Reduction& of, const ReduceForm& form, int partials) {
  KernelWriter kernel("reduce.cuh");
  for (const std::string& header : of.headers) kernel.include(header);
  const int threads = team_threads(Extent{kMaxChunks, true});
  const Extent outputs = product(form.kept);
  const std::string total = of.reducer + "::Total";
  const std::string from = "reinterpret_cast<const " + total + "*>(" +
                           kernel.pointer(partials, of.total) + ")";
  const std::string chunks = text_of(kernel, form.chunks);
  kernel.body("  reduce_rows<" + team_text(threads) + ", " + of.reducer +
              ", false>(" + text_of(kernel, outputs) + ", " + chunks +
              ", 1, [&](Index o) {\n    return [=](Index r) { return " + from +
              "[o * " + chunks + " + r]; };\n  }, [&](Index o, " + total +
              " total) {\n");
  of.finish(kernel, "o", "total");
  kernel.body("  });\n");
  return std::move(kernel).launch(team_blocks(outputs.value, threads),
                                  team_block(threads));
}

}  // namespace

std::int64_t fixed_part(const Extents& sizes) {
  std::int64_t all = 1;
  for (const Extent& size : sizes) all *= size.varies ? 1 : size.value;
  return all;
}

int team_threads(const Extent& length) {
  return length.varies || length.value > kLongestOfWarp ? kBlockThreads
                                                        : kWarpThreads;
}

int team_threads_of_short(const Extent& length) {
  return !length.varies && length.value <= kLongestOfThread
             ? 1
             : team_threads(length);
}

std::string team_text(int threads) {
  return "Team<" + std::to_string(threads) + ">";
}

unsigned team_block(int threads) {
  return static_cast<unsigned>(std::max(threads, kSmallBlock));
}

std::int64_t team_blocks(std::int64_t count, int threads) {
  return std::clamp<std::int64_t>(
      divide_up(count * threads, std::int64_t{team_block(threads)}), 1,
      kMaxTeamBlocks);
}

Extent Reduction::outputs() const {
  Extent all;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (!is_reduced[axis]) all = all * sizes[axis];
  }
  return all;
}

Extent Reduction::count() const {
  Extent all;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (is_reduced[axis]) all = all * sizes[axis];
  }
  return all;
}

std::vector<Launch> reduction_launches(UnitBuilder& unit,
                                       const Reduction& reduction) {
  const ReduceForm form(reduction);
  if (form.chunks.is(1)) {
    return {reduce_launch(reduction, form, [&](KernelWriter& kernel) {
      reduction.finish(kernel, "o", "total");
    })};
  }
  const std::int64_t count =
      checked_multiply(product(form.kept).value * reduction.totals,
                       form.chunks.value, "scratch");
  const int partials = unit.scratch(static_cast<std::size_t>(checked_multiply(
      count, static_cast<std::int64_t>(size_of(reduction.total)), "scratch")));
  std::vector<Launch> launches;
  launches.push_back(reduce_launch(reduction, form, [&](KernelWriter& kernel) {
    kernel.body("    reinterpret_cast<" + reduction.reducer + "::Total*>(" +
                kernel.pointer(partials, reduction.total) + ")[o] = total;\n");
  }));
  launches.push_back(merge_launch(reduction, form, partials));
  return launches;
}

}  // namespace traingraph::cuda
