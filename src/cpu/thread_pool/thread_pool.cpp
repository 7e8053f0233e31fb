// SPDX-License-Identifier: MIT
#include "cpu/thread_pool/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu/thread_pool/short_turns.h"

namespace traingraph::cpu {
namespace {

using Clock = std::chrono::steady_clock;

/// Between two jobs of one step there are some tens of microseconds, between
/// two steps of a small network not many more. Where turns are long, who spins
/// keeps others from theirs, often the very thread it waits for.
std::chrono::microseconds spin_time() {
  static const int time = ShortTurns::are_granted() ? 200 : 60;
  return std::chrono::microseconds(time);
}

/// Drivers of so many submissions behind a job whose threads came late ask for
/// short turns: other work seldom ends at once.
constexpr int kDelayedSubmissions = 10'000;

/// The short turns of a thread that brings jobs stay from one submission to the
/// next: asking for them takes longer than a small network's step.
thread_local std::optional<ShortTurns> t_turns;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

/// Spins until `is_over`, or for a short time; returns is_over().
template <class Predicate>
bool spin(const Predicate& is_over) {
  constexpr int kChecksPerLook = 32;  // a look at the clock costs as much
  if (is_over()) return true;
  const Clock::time_point end = Clock::now() + spin_time();
  do {
    for (int i = 0; i < kChecksPerLook; ++i) {
      pause();
      if (is_over()) return true;
    }
  } while (Clock::now() < end);
  return is_over();
}

/// Is epoch `a` after `b`? They wrap.
bool is_after(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) > 0;
}

/// Signals are for the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

ThreadPool::Position& ThreadPool::here() {
  thread_local Position position;
  return position;
}

ThreadPool::Driver::Driver(ThreadPool& pool) : before_(here().pool) {
  here().pool = &pool;
  const bool expects_delays = pool.delayed_submissions_ > 0;
  if (expects_delays) --pool.delayed_submissions_;
  if (expects_delays == t_turns.has_value()) return;
  expects_delays ? void(t_turns.emplace()) : t_turns.reset();
}
ThreadPool::Driver::~Driver() { here().pool = before_; }

ThreadPool::ThreadPool(int size) {
  const int num_claims = size * kMaxSharesPerThread;
  claimed_ = std::make_unique<std::atomic<Epoch>[]>(num_claims);
  workers_.reserve(size - 1);
  const SignalsBlocked blocked;
  try {
    for (int number = 1; number < size; ++number) {
      workers_.emplace_back([this, number] { work(number); });
    }
  } catch (...) {
    stop();
    throw;
  }
  const auto num_workers = static_cast<std::uint32_t>(workers_.size());
  for (auto n = num_started_.load(); n != num_workers;
       n = num_started_.load()) {
    num_started_.wait(n);
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stops_.store(true);
  epoch_.fetch_add(2);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(int count, Share share, void* context) {
  begin(count, share, context);
  share(context, 0, count);
  end();
}

void ThreadPool::begin(int count, Share share, void* context) {
  const Epoch epoch = epoch_.load(std::memory_order_relaxed) + 2;
  epoch_.store(epoch - 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  share_.store(share, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  count_.store(count, std::memory_order_relaxed);
  num_done_.store(0, std::memory_order_relaxed);
  claimed_[0].store(epoch, std::memory_order_relaxed);
  // Sequentially consistent, as is what a worker does before it sleeps: either
  // it sees the job or we see that it sleeps.
  epoch_.store(epoch);
  const int num_asleep = num_asleep_.load();
  if (num_asleep > 0) {
    if (num_asleep <= count - 1) {
      epoch_.notify_all();
    } else {
      for (int i = 1; i < count; ++i) epoch_.notify_one();
    }
  }
  Position& position = here();
  position.index = 0;
  position.count = count;
  position.is_in_share = true;
}

void ThreadPool::end() {
  Position& position = here();
  position.index = 0;
  position.count = 1;
  position.is_in_share = false;
  const auto count =
      static_cast<std::uint32_t>(count_.load(std::memory_order_relaxed));
  num_done_.fetch_add(1);
  take_part(0, epoch_.load(std::memory_order_relaxed));
  const auto is_over = [&] { return num_done_.load() == count; };
  if (spin(is_over)) return;
  delayed_submissions_ = kDelayedSubmissions;
  caller_sleeps_.store(true);
  for (std::uint32_t done = num_done_.load(); done != count;
       done = num_done_.load()) {
    num_done_.wait(done);
  }
  caller_sleeps_.store(false);
}

bool ThreadPool::read_job(Epoch epoch, Job& job) const {
  job.share = share_.load(std::memory_order_relaxed);
  job.context = context_.load(std::memory_order_relaxed);
  job.count = count_.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  return epoch_.load(std::memory_order_relaxed) == epoch;
}

/// Returns false for a share that is taken, so always when the job is over.
bool ThreadPool::claim(int index, Epoch epoch) {
  std::atomic<Epoch>& claimed = claimed_[index];
  Epoch last = claimed.load(std::memory_order_relaxed);
  return is_after(epoch, last) && claimed.compare_exchange_strong(
                                      last, epoch, std::memory_order_acq_rel);
}

void ThreadPool::take_part(int number, Epoch epoch) {
  Job job;
  if (!read_job(epoch, job)) return;
  const int first = static_cast<int>(std::int64_t{number} * job.count / size());
  for (int i = 0; i < job.count; ++i) {
    const int index = (first + i) % job.count;
    if (claim(index, epoch)) run_share(job, index);
  }
}

void ThreadPool::run_share(const Job& job, int index) {
  Position& position = here();
  position.index = index;
  position.count = job.count;
  position.is_in_share = true;
  job.share(job.context, index, job.count);
  position.index = 0;
  position.count = 1;
  position.is_in_share = false;
  const auto last = static_cast<std::uint32_t>(job.count) - 1;
  if (num_done_.fetch_add(1) == last && caller_sleeps_.load()) {
    num_done_.notify_one();
  }
}

void ThreadPool::barrier() {
  const auto count = static_cast<std::uint32_t>(here().count);
  if (count == 1) return;
  const std::uint32_t generation = generation_.load();
  if (num_arrived_.fetch_add(1) + 1 == count) {
    num_arrived_.store(0);
    generation_.fetch_add(1);
    generation_.notify_all();
    return;
  }
  const auto is_over = [&] { return generation_.load() != generation; };
  if (spin(is_over)) return;
  while (!is_over()) generation_.wait(generation);
}

void ThreadPool::work(int number) {
  here().pool = this;
  const ShortTurns turns;
  // The thread's own part of the heap, which the C library reserves with the
  // first allocation: now, not in some step.
  void* volatile first = std::malloc(1);
  std::free(first);
  num_started_.fetch_add(1);
  num_started_.notify_one();
  Epoch seen = 0;
  while (wait_for_job(seen)) take_part(number, seen);
}

bool ThreadPool::wait_for_job(Epoch& seen) {
  Epoch now = seen;
  const auto has_job = [&] {
    now = epoch_.load();
    return now != seen && now % 2 == 0;
  };
  while (!spin(has_job)) {
    num_asleep_.fetch_add(1);
    if (now = epoch_.load(); now == seen) epoch_.wait(seen);
    num_asleep_.fetch_sub(1);
  }
  seen = now;
  return !stops_.load();
}

}  // namespace traingraph::cpu
