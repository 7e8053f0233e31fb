// SPDX-License-Identifier: MIT
#include "card/signals.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <cstdint>
#include <sstream>

#include "card/fiber.h"

namespace cuda_emulator {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE};

// One block runs at a time.
pthread_t thread;
void** volatile base;  // null: no block runs
volatile int caught_signal;
void* volatile caught_address;
std::array<struct sigaction, kSignals.size()> previous;

void go_on_with(ucontext_t* context, void* stack) {
  const auto resume = reinterpret_cast<std::uintptr_t>(cuda_emulator_resume);
  const auto pointer = reinterpret_cast<std::uintptr_t>(stack);
#if defined(__x86_64__)
  context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(resume);
  context->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(pointer);
#else
  context->uc_mcontext.pc = resume;
  context->uc_mcontext.sp = pointer;
#endif
}

void handle(int signal, siginfo_t* info, void* context) {
  if (base != nullptr && pthread_equal(thread, pthread_self())) {
    caught_signal = signal;
    caught_address = info->si_addr;
    go_on_with(static_cast<ucontext_t*>(context), *base);
    return;
  }
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != signal) continue;
    sigaction(signal, &previous[i], nullptr);  // it faults again
  }
}

void install() {
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &previous[i]);
  }
}

/// A stack for the handler: the fiber's may be what has overflowed.
void give_stack() {
  thread_local bool has_one = false;
  if (has_one) return;
  has_one = true;
  constexpr std::size_t kBytes = 65536;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace

CatchSignals::CatchSignals(void** base_) {
  static const bool is_installed = (install(), true);
  static_cast<void>(is_installed);
  give_stack();
  thread = pthread_self();
  caught_signal = 0;
  base = base_;
}

CatchSignals::~CatchSignals() { base = nullptr; }

std::optional<Fault> CatchSignals::caught() const {
  if (caught_signal == 0) return std::nullopt;
  if (caught_signal == SIGFPE) {
    return Fault{kLaunchFailed, "it divides an integer by zero"};
  }
  std::ostringstream text;
  text << "it reads or writes address " << caught_address
       << ", which is nobody's";
  return Fault{kIllegalAddress, text.str()};
}

}  // namespace cuda_emulator
