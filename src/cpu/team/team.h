// SPDX-License-Identifier: MIT
// Team: the thread pool of a CPU device, as OpenMP's team of threads. It runs
// one job at a time, a function called once for each of `count` shares of some
// work.
//
// Shares are claimed, not assigned: a thread takes a share that is not taken,
// runs it, and looks for the next. The thread that brings the job takes part,
// so a job never waits for a thread that the operating system does not run,
// only for shares that have been begun. With count <= size() shares may wait
// for one another, as oneDNN's do at its barriers: a thread takes a second
// share only after its first, so each finds a thread.
//
// Each thread begins its search at the same place in every job: on an idle
// machine share i of one loop meets the core that had share i of the last.
// Which thread runs a share never matters to a result.
//
// A waiting thread spins for some microseconds, which is how long the next job
// of a busy queue takes to come, and then sleeps.
//
// Beside other work a team would often wait for a thread whose turn is another
// process's: its threads ask for short turns (short_turns.h), the thread that
// brings the jobs when it has had to wait lately.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "cpu/team/team_api.h"

namespace traingraph::cpu {

class TRAINGRAPH_TEAM_API Team {
 public:
  /// Must not throw.
  using Share = void (*)(void* context, int index, int count);

  static constexpr int kMaxSize = 1024;
  /// A job may have this many shares per thread.
  static constexpr int kMaxSharesPerThread = 4;

  /// `size` threads, the caller of run() counted. Throws
  /// std::system_error when a thread cannot be started.
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls share(context, i, count) for all i in [0, count), and returns when
  /// all are over. One thread at a time may call it.
  void run(int count, Share share, void* context);
  /// run() in two halves, between which the caller itself runs share 0.
  void begin(int count, Share share, void* context);
  void end();
  /// In a share: waits until all shares of the job are here.
  void barrier();

  /// While it lives, the team serves the calling thread.
  class TRAINGRAPH_TEAM_API Driver {
   public:
    explicit Driver(Team& team);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

   private:
    Team* before_;
  };

  /// Where the calling thread is.
  struct Position {
    Team* team = nullptr;  // that serves it
    int index = 0;         // of the share that it runs
    int count = 1;         // of shares of that job
    bool is_in_share = false;
    /// Threads that oneDNN's primitives are made for and run with.
    int num_primitive_threads = 1;
  };
  static Position& here();

 private:
  struct Job {
    Share share;
    void* context;
    int count;
  };
  using Epoch = std::uint32_t;  // even; odd while a job is written

  void work(int number);
  /// False when the team ends.
  bool wait_for_job(Epoch& seen);
  /// Runs shares of job `epoch`, beginning near the place of `number`.
  void take_part(int number, Epoch epoch);
  bool read_job(Epoch epoch, Job& job) const;
  bool claim(int index, Epoch epoch);
  void run_share(const Job& job, int index);
  void stop();

  // A cache line each: one side writes it while the other polls it.
  alignas(64) std::atomic<Epoch> epoch_{0};
  std::atomic<int> num_asleep_{0};
  std::atomic<bool> stops_{false};
  std::atomic<std::uint32_t> num_started_{0};
  std::atomic<Share> share_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<int> count_{0};
  alignas(64) std::atomic<std::uint32_t> num_done_{0};
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<std::uint32_t> num_arrived_{0};
  std::atomic<std::uint32_t> generation_{0};
  /// By share: the last job in which it was claimed.
  std::unique_ptr<std::atomic<Epoch>[]> claimed_;
  /// Submissions whose drivers are to ask for short turns, from now on.
  int delayed_submissions_ = 0;
  std::vector<std::thread> workers_;
};

}  // namespace traingraph::cpu
