// SPDX-License-Identifier: MIT
// What the emulated driver knows, and what each of its functions begins with.
// Nothing is ever destroyed: threads of streams outlive main().
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "card/graph.h"
#include "card/memory.h"
#include "card/stream.h"
#include "cuda/abi/driver.h"

namespace cuda_emulator {

using traingraph::cuda::Result;

// CUresult, beyond what driver.h names.
inline constexpr Result kNotInitialized{3};
inline constexpr Result kInvalidDevice{101};
inline constexpr Result kInvalidImage{200};
inline constexpr Result kInvalidContext{201};
inline constexpr Result kInvalidHandle{400};
inline constexpr Result kNotFound{500};
inline constexpr Result kCaptureUnsupported{900};

/// Objects by handles. A handle is no address, and is never given twice: what
/// was destroyed is not found.
template <class T>
class Handles {
 public:
  void* add(std::shared_ptr<T> object) {
    void* handle = new_handle();
    objects_[handle] = std::move(object);
    return handle;
  }
  std::shared_ptr<T> find(const void* handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  bool remove(const void* handle) { return objects_.erase(handle) == 1; }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

  static void* new_handle() {
    static std::uintptr_t next = 0;
    return reinterpret_cast<void*>(next += 16);
  }

 private:
  std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

struct Event {
  bool has_time = true;
  Over recorded;  // null: never
};
struct Function {
  std::shared_ptr<LoadedModule> module;
  const Kernel* kernel = nullptr;
  unsigned max_shared_bytes = kMaxDeclaredBytes;  // that a launch may ask for
};

struct State {
  std::mutex mutex;
  std::condition_variable ended;  // a task

  bool is_initialized = false;
  std::map<int, Result> faults;  // of lost cards
  Memory memory;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<LoadedModule> modules;
  Handles<Function> functions;
  Handles<Graph> graphs;
  Handles<Executable> executables;

  // For tests (control.h).
  std::map<std::string, long> num_calls;
  std::map<std::string, Result> refusals;
  int next_launch_fault = 0;
};
State& state();

int num_cards();
/// Of the calling thread; -1: none.
int& current_card();
inline void* context_of(int card) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(card) + 1);
}

/// A call of the driver, while it lives: it has the lock.
class Call {
 public:
  enum Needs { kNothing, kInit, kContext };
  explicit Call(const char* symbol, Needs needs = kContext);

  /// What to return at once, unless it is Success.
  Result refusal() const { return refusal_; }
  int card() const { return current_card(); }

  /// Waits, and says whether the card is lost.
  Result wait_for(const Over& over);
  Result wait_for_all();

 private:
  std::unique_lock<std::mutex> lock_;
  Result refusal_ = Result::Success;
};

/// Hands a task to the stream's thread.
void submit(const std::shared_ptr<Stream>& stream, Task task);
/// The same for one node, or a stream that captures: then it is added there.
/// `end_as` is a fault that it ends with; 0: none.
Result submit_node(const std::shared_ptr<Stream>& stream, Node node,
                   int end_as = 0);
/// Runs all nodes, and finds what they damage.
std::function<std::optional<Fault>()> runner(
    std::shared_ptr<const std::vector<Node>> nodes, int end_as);
/// Of the next launch; from then on there is none.
int take_next_launch_fault();

#define EMULATED_CALL(...)                        \
  Call call(__func__ __VA_OPT__(, ) __VA_ARGS__); \
  if (call.refusal() != Result::Success) return call.refusal()

}  // namespace cuda_emulator

// The declarations of what libcuda exports.
namespace traingraph::cuda {
#define FUNCTION(member, symbol, parameters) \
  extern "C" __attribute__((visibility("default"))) Result symbol parameters;
TRAINGRAPH_CUDA_DRIVER(FUNCTION)
#undef FUNCTION
}  // namespace traingraph::cuda
