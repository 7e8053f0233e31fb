// SPDX-License-Identifier: MIT
#include "card/block.h"

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "card/fiber.h"
#include "card/signals.h"

namespace cuda_emulator {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kNobody = ~0u;
constexpr std::size_t kRedZone = 64;  // behind each array in shared memory

struct Warp {
  std::array<std::array<unsigned char, 16>, kLanes> values[2];
  unsigned char nobodys[16];
  unsigned turn = 0;  // values[turn] are of the next exchange
  std::vector<unsigned> waiting;
};

struct SharedArray {
  const void* declaration;
  unsigned char* begin;
  std::size_t bytes;
};

/// The block that runs, and what the next one uses again.
struct Block {
  const Grid* grid = nullptr;
  Random* random = nullptr;
  unsigned num_threads = 0, num_over = 0;
  unsigned thread = 0;   // that runs
  void* base = nullptr;  // the stack of run_block()
  std::optional<Fault> fault;

  std::vector<unsigned> ready;  // threads that may go on, or begin
  std::vector<unsigned> at_barrier;
  std::vector<Warp> warps;
  std::array<Fiber*, kMaxThreads> fiber_of{};  // null: it has not begun

  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;
  Fiber* running = nullptr;

  std::vector<SharedArray> shared;
  std::size_t shared_used = 0;
  alignas(128) unsigned char shared_memory[2 * kMaxSharedBytes];
};

Block& block() {
  static auto* block = new Block;
  return *block;
}

Index3 index_of(unsigned linear, Index3 size) {
  if (linear < size.x) return {linear, 0, 0};
  return {linear % size.x, linear / size.x % size.y, linear / size.x / size.y};
}

void set_thread(unsigned thread) {
  Block& b = block();
  b.thread = thread;
  *b.grid->module->thread = index_of(thread, b.grid->block_size);
}

unsigned pick() {
  Block& b = block();
  if (b.ready.empty()) return kNobody;
  unsigned& chosen = b.ready[b.random->below(b.ready.size())];
  const unsigned thread = chosen;
  chosen = b.ready.back();
  b.ready.pop_back();
  return thread;
}

void run_threads();

Fiber* idle_fiber() {
  Block& b = block();
  if (b.idle.empty()) {
    b.fibers.push_back(
        std::make_unique<Fiber>(static_cast<unsigned>(b.fibers.size())));
    b.idle.push_back(b.fibers.back().get());
  }
  Fiber* fiber = b.idle.back();
  b.idle.pop_back();
  fiber->restart(run_threads);
  return fiber;
}

void switch_to(Fiber* next) {
  Block& b = block();
  Fiber* self = b.running;
  b.running = next;
  cuda_emulator_switch(&self->stack, next->stack);
}

[[noreturn]] void leave() {
  void* unused;
  cuda_emulator_switch(&unused, block().base);
  __builtin_unreachable();
}

[[noreturn]] void end_with(Fault fault) {
  block().fault = std::move(fault);
  leave();
}

/// What a fiber does: threads that begin, one after the other. A thread that
/// waits keeps its fiber, and another one goes on here.
void run_threads() {
  Block& b = block();
  for (unsigned next = pick(); next != kNobody; next = pick()) {
    if (Fiber* fiber = b.fiber_of[next]) {
      b.idle.push_back(b.running);
      set_thread(next);
      switch_to(fiber);  // never comes back: it is restarted
    }
    b.fiber_of[next] = b.running;
    set_thread(next);
    b.grid->kernel->call(b.grid->parameters);
    ++b.num_over;
  }
  leave();
}

/// Until somebody has put this thread among those that are ready.
void wait() {
  Block& b = block();
  const unsigned self = b.thread;
  const unsigned next = pick();
  if (next == kNobody) leave();
  if (next != self) {
    Fiber* fiber = b.fiber_of[next];
    if (fiber == nullptr) {
      b.ready.push_back(next);  // run_threads() picks anew
      fiber = idle_fiber();
    } else {
      set_thread(next);
    }
    switch_to(fiber);
  }
  set_thread(self);
}

void barrier() {
  Block& b = block();
  b.at_barrier.push_back(b.thread);
  if (b.at_barrier.size() == b.num_threads) {
    b.ready.swap(b.at_barrier);
  }
  wait();
}

unsigned lane() { return block().thread % kLanes; }

const void* exchange(const void* value, unsigned bytes, unsigned from) {
  Block& b = block();
  const unsigned first = b.thread / kLanes * kLanes;
  Warp& warp = b.warps[b.thread / kLanes];
  auto& values = warp.values[warp.turn];
  if (bytes > sizeof values[0]) {
    end_with({kLaunchFailed, "threads of a warp exchange too large a value"});
  }
  std::memcpy(values[lane()].data(), value, bytes);
  warp.waiting.push_back(b.thread);
  if (warp.waiting.size() == std::min(kLanes, b.num_threads - first)) {
    warp.turn ^= 1;
    b.ready.insert(b.ready.end(), warp.waiting.begin(), warp.waiting.end());
    warp.waiting.clear();
  }
  wait();
  if (from < kLanes && first + from < b.num_threads) return values[from].data();
  std::memset(warp.nobodys, kPoison, sizeof warp.nobodys);
  return warp.nobodys;
}

void* shared(const void* declaration, unsigned long bytes) {
  Block& b = block();
  for (const SharedArray& array : b.shared) {
    if (array.declaration == declaration) return array.begin;
  }
  const std::size_t whole = (bytes + 127) / 128 * 128 + kRedZone * 2;
  if (b.shared_used + whole > sizeof b.shared_memory) {
    end_with({kLaunchFailed, "it has too much shared memory"});
  }
  unsigned char* begin = b.shared_memory + b.shared_used;
  std::memset(begin, kPoison, whole);
  b.shared_used += whole;
  b.shared.push_back({declaration, begin, bytes});
  return begin;
}

void* dynamic_shared() { return block().shared_memory; }

unsigned long long nanoseconds() {
  return static_cast<unsigned long long>(
      std::chrono::steady_clock::now().time_since_epoch().count());
}

constexpr Card kCard = {.barrier = barrier,
                        .exchange = exchange,
                        .lane = lane,
                        .shared = shared,
                        .dynamic_shared = dynamic_shared,
                        .nanoseconds = nanoseconds};

void begin(const Grid& grid, Index3 index, Random& random) {
  Block& b = block();
  b.grid = &grid;
  b.random = &random;
  b.num_threads = grid.block_size.x * grid.block_size.y * grid.block_size.z;
  b.num_over = 0;
  b.fault.reset();
  b.at_barrier.clear();
  b.ready.resize(b.num_threads);
  for (unsigned i = 0; i < b.num_threads; ++i) {
    b.ready[i] = i;
    b.fiber_of[i] = nullptr;
  }
  const std::size_t num_warps = (b.num_threads + kLanes - 1) / kLanes;
  if (b.warps.size() < num_warps) b.warps.resize(num_warps);
  for (Warp& warp : b.warps) {
    warp.waiting.clear();
  }
  b.idle.clear();
  for (const auto& fiber : b.fibers) b.idle.push_back(fiber.get());
  b.shared.clear();
  b.shared_used = 0;
  shared(nullptr, grid.shared_bytes);

  const Module& module = *grid.module;
  *module.card = &kCard;
  *module.block = index;
  *module.block_size = grid.block_size;
  *module.grid_size = grid.size;
  *module.num_begun = 0;
}

/// Of a block that was left: why it had to be.
std::optional<Fault> end() {
  Block& b = block();
  if (b.fault) return std::move(b.fault);
  std::size_t at_exchange = 0, declared = 0;
  for (const Warp& warp : b.warps) at_exchange += warp.waiting.size();
  if (b.num_over < b.num_threads) {
    return Fault{kLaunchFailed,
                 "threads wait for others that never come: " +
                     std::to_string(b.at_barrier.size()) + " at a barrier, " +
                     std::to_string(at_exchange) + " for their warp, and " +
                     std::to_string(b.num_over) + " are over"};
  }
  for (const SharedArray& array : b.shared) {
    if (array.declaration != nullptr) declared += array.bytes;
    for (std::size_t i = 0; i < kRedZone; ++i) {
      if (array.begin[array.bytes + i] == kPoison) continue;
      return Fault{kIllegalAddress, "it writes behind " +
                                        std::to_string(array.bytes) +
                                        " bytes of shared memory"};
    }
  }
  if (declared > kMaxDeclaredBytes) {
    return Fault{kLaunchFailed, "it declares too much shared memory"};
  }
  if (b.grid->must_wait && *b.grid->module->num_begun < b.num_threads) {
    return Fault{kLaunchFailed,
                 "it follows another kernel by a programmatic edge, and not "
                 "all threads call begin_after_previous()"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fault> run_block(const Grid& grid, Index3 index, Random& random) {
  Block& b = block();
  begin(grid, index, random);
  b.running = idle_fiber();
  {
    const CatchSignals catch_signals(&b.base);
    cuda_emulator_switch(&b.base, b.running->stack);
    if (auto caught = catch_signals.caught()) b.fault = std::move(caught);
  }
  return end();
}

}  // namespace cuda_emulator
