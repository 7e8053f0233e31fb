// SPDX-License-Identifier: MIT
// An executable's own malloc() and dnnl_primitive_execute() take precedence
// over those of the libraries, for the libraries' calls as well.
#include "allocation/count_allocations.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "cpu/thread_pool/thread_pool.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

namespace {

std::atomic<bool> counts{false};
std::atomic<std::size_t> ours{0}, in_engine{0};
std::atomic<int> num_primitives{0};  // that run now
constinit thread_local bool runs_primitive = false;

/// All primitives run on the device's one queue, so that a thread pool at work
/// while one runs is that primitive's.
bool is_in_engine() {
  return runs_primitive || (num_primitives > 0 &&
                            traingraph::cpu::ThreadPool::here().is_in_share);
}

void count() {
  if (!counts.load(std::memory_order_relaxed)) return;
  (is_in_engine() ? in_engine : ours).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// NOLINTBEGIN: functions of the C library and of oneDNN
#pragma GCC visibility push(default)
extern "C" {

int dnnl_primitive_execute(const void* primitive, void* stream, int num_args,
                           const void* args) {
  static const auto next = reinterpret_cast<decltype(&dnnl_primitive_execute)>(
      dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  runs_primitive = true;
  ++num_primitives;
  const int status = next(primitive, stream, num_args, args);
  --num_primitives;
  runs_primitive = false;
  return status;
}

#ifdef HAS_SANITIZER
void __sanitizer_malloc_hook(const volatile void*, std::size_t) { count(); }
#else
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

// operator new calls malloc() or aligned_alloc().
void* malloc(std::size_t size) {
  count();
  return __libc_malloc(size);
}
void* calloc(std::size_t num, std::size_t size) {
  count();
  return __libc_calloc(num, size);
}
void* realloc(void* memory, std::size_t size) {
  count();
  return __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
#endif

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND

namespace traingraph::testing {

void start_counting() {
  ours = in_engine = 0;
  counts = true;
}

Allocations stop_counting() {
  counts = false;
  return {ours, in_engine};
}

ProcessMemory process_memory() {
  std::size_t mapped = 0, resident = 0;  // pages
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file) return {};
  const int num_read = std::fscanf(file, "%zu %zu", &mapped, &resident);
  std::fclose(file);
  if (num_read != 2) return {};
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return {mapped * page, resident * page};
}

bool has_sanitizer() {
#ifdef HAS_SANITIZER
  return true;
#else
  return false;
#endif
}

}  // namespace traingraph::testing
