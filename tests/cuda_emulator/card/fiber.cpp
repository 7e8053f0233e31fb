// SPDX-License-Identifier: MIT
#include "card/fiber.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

#if defined(__x86_64__)
asm(R"(
.text
.globl cuda_emulator_switch, cuda_emulator_resume
.hidden cuda_emulator_switch, cuda_emulator_resume
.type cuda_emulator_switch, @function
.type cuda_emulator_resume, @function
cuda_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
cuda_emulator_resume:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl cuda_emulator_switch, cuda_emulator_resume
.hidden cuda_emulator_switch, cuda_emulator_resume
.type cuda_emulator_switch, %function
.type cuda_emulator_resume, %function
cuda_emulator_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
cuda_emulator_resume:
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");
#else
#error "the emulated card knows how x86-64 and aarch64 switch stacks"
#endif

namespace cuda_emulator {
namespace {

constexpr std::size_t kPage = 65536;  // the largest that Linux has
/// A parameter of 32 KiB is copied, maybe more than once.
constexpr std::size_t kStackBytes = 4 * kPage;

#if defined(__x86_64__)
constexpr std::size_t kSavedWords = 8, kEntryWord = 6;
#else
constexpr std::size_t kSavedWords = 20, kEntryWord = 11;
#endif

}  // namespace

Fiber::Fiber(unsigned number) {
  void* memory = mmap(nullptr, kPage + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kPage, PROT_NONE);  // what overflows faults
  // Equal offsets in their pages would share a few lines of the cache.
  top_ = static_cast<char*>(memory) + kPage + kStackBytes - number % 32 * 192;
}

void Fiber::restart(void (*entry)()) {
  auto** words = reinterpret_cast<void**>(top_) - kSavedWords;
  std::memset(words, 0, kSavedWords * sizeof *words);
  words[kEntryWord] = reinterpret_cast<void*>(entry);
  stack = words;
}

}  // namespace cuda_emulator
