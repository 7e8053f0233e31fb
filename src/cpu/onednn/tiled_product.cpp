// SPDX-License-Identifier: MIT
#include "cpu/onednn/tiled_product.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/onednn/primitives.h"
#include "cpu/parallel.h"
#include "cpu/primitive_threads.h"

namespace traingraph::cpu {
namespace {

using dnnl::memory;

/// One primitive is as fast on one thread; two and three were not measured.
constexpr int kMinThreads = 4;
/// So that the last tiles keep few threads waiting.
constexpr std::int64_t kMinTilesPerThread = 2;

struct TileSize {
  std::int64_t rows, columns;

  std::int64_t count(std::int64_t all_rows, std::int64_t all_columns) const {
    return ((all_rows - 1) / rows + 1) * ((all_columns - 1) / columns + 1);
  }
};

/// The largest tiles of which there are enough; larger ones pack less.
std::optional<TileSize> choose_tiles(std::int64_t rows, std::int64_t columns,
                                     int threads) {
  constexpr std::array<TileSize, 2> kSizes{{{256, 128}, {128, 128}}};
  for (const TileSize& tile : kSizes) {
    if (tile.count(rows, columns) >= kMinTilesPerThread * threads) return tile;
  }
  return {};
}

/// A primitive for tiles of one size.
struct TilePrimitive {
  std::int64_t rows, columns;
  dnnl::matmul::primitive_desc desc;
  dnnl::matmul primitive;
};

struct Tile {
  int primitive;         // index
  std::int64_t x, y, z;  // where its operands begin, in bytes
};

struct TiledProduct {
  std::vector<TilePrimitive> primitives;  // at most four: edges are smaller
  std::vector<Tile> tiles;

  std::size_t scratch_bytes() const {
    std::size_t bytes = 1;
    for (const TilePrimitive& each : primitives) {
      bytes = std::max(bytes, scratchpad_bytes(each.desc));
    }
    return bytes;
  }
};

TiledProduct make_tiles(const UnitBuilder& unit,
                        const ProductOperands& operands, const TileSize& tile) {
  const PrimitiveThreads one(1);
  const auto& [x, y, z] = operands;
  const std::int64_t depth = x.dims[1];
  const dnnl::primitive_attr attr = product_attributes(unit);
  TiledProduct product;
  const auto primitive_of = [&](std::int64_t rows, std::int64_t columns) {
    auto& all = product.primitives;
    const auto found = std::ranges::find_if(all, [&](const auto& each) {
      return each.rows == rows && each.columns == columns;
    });
    if (found != all.end()) return static_cast<int>(found - all.begin());
    constexpr auto kType = memory::data_type::f32;
    const dnnl::matmul::primitive_desc desc(
        engine(), {{rows, depth}, kType, x.strides},
        {{depth, columns}, kType, y.strides},
        {{rows, columns}, kType, z.strides}, attr);
    all.push_back({rows, columns, desc, dnnl::matmul(desc)});
    return static_cast<int>(all.size()) - 1;
  };
  constexpr std::int64_t kBytes = sizeof(float);
  for (std::int64_t i = 0; i < z.dims[0]; i += tile.rows) {
    const std::int64_t rows = std::min(tile.rows, z.dims[0] - i);
    for (std::int64_t j = 0; j < z.dims[1]; j += tile.columns) {
      const std::int64_t columns = std::min(tile.columns, z.dims[1] - j);
      product.tiles.push_back(
          {primitive_of(rows, columns), i * x.strides[0] * kBytes,
           j * y.strides[1] * kBytes, (i * z.strides[0] + j) * kBytes});
    }
  }
  return product;
}

/// The tiles bound to addresses; calling it allocates nothing of ours.
class BoundTiles {
 public:
  BoundTiles(const TiledProduct& product, std::byte* x, std::byte* y,
             std::byte* z, std::span<std::byte* const> scratch) {
    for (const Tile& tile : product.tiles) {
      const auto& [rows, columns, desc, primitive] =
          product.primitives[tile.primitive];
      tiles_.push_back({primitive,
                        memory(desc.src_desc(), engine(), x + tile.x),
                        memory(desc.weights_desc(), engine(), y + tile.y),
                        memory(desc.dst_desc(), engine(), z + tile.z)});
    }
    const auto bytes = static_cast<std::int64_t>(product.scratch_bytes());
    const memory::desc any({bytes}, memory::data_type::u8, memory::dims{1});
    for (std::byte* const at : scratch)
      scratch_.emplace_back(any, engine(), at);
  }

  void operator()() {
    next_.store(0, std::memory_order_relaxed);
    status_.store(dnnl_success, std::memory_order_relaxed);
    run_workers(static_cast<int>(scratch_.size()),
                [this](int worker) { work(scratch_[worker]); });
    require_executed(status_.load());
  }

 private:
  struct BoundTile {
    dnnl::primitive primitive;
    memory x, y, z;
  };

  void work(const memory& scratch) {
    const PrimitiveThreads one(1);
    for (std::size_t i = next_++; i < tiles_.size(); i = next_++) {
      const BoundTile& tile = tiles_[i];
      const std::array<dnnl_exec_arg_t, 4> args{
          {{DNNL_ARG_SRC, tile.x.get()},
           {DNNL_ARG_WEIGHTS, tile.y.get()},
           {DNNL_ARG_DST, tile.z.get()},
           {DNNL_ARG_SCRATCHPAD, scratch.get()}}};
      const dnnl_status_t status = execute(tile.primitive, args);
      if (status != dnnl_success) status_.store(status);
    }
  }

  std::vector<BoundTile> tiles_;
  std::vector<memory> scratch_;  // by worker
  std::atomic<std::size_t> next_{0};
  std::atomic<dnnl_status_t> status_{dnnl_success};
};

}  // namespace

bool lower_tiled_product(UnitBuilder& unit, const ProductOperands& operands) {
  const int threads = PrimitiveThreads::count();
  const auto& [x, y, z] = operands;
  const DataType type = unit.input_desc(0).data_type;
  const bool is_gradient = z.dims.size() == 2 && x.strides[0] == 1 &&
                           x.strides[1] > 1 && y.strides[1] == 1;
  if (threads < kMinThreads || !is_gradient || type != DataType::Float32) {
    return false;
  }
  const auto tile = choose_tiles(z.dims[0], z.dims[1], threads);
  if (!tile) return false;

  TiledProduct product = make_tiles(unit, operands, *tile);
  const int from_x = unit.read(0), from_y = unit.read(1), to = unit.write(0);
  const std::size_t scratch_bytes = product.scratch_bytes();
  std::vector<int> scratch;
  for (int worker = 0; worker < threads; ++worker) {
    scratch.push_back(unit.scratch(scratch_bytes));
  }
  emit(unit, [=, product = std::move(product)](BindContext& at) -> BoundKernel {
    std::vector<std::byte*> scratch_at;
    for (const int arg : scratch) scratch_at.push_back(at[arg]);
    const auto bound = std::make_shared<BoundTiles>(
        product, at[from_x], at[from_y], at[to], scratch_at);
    return [bound] { (*bound)(); };
  });
  return true;
}

}  // namespace traingraph::cpu
