// SPDX-License-Identifier: MIT
// Landing: what was launched is over when its receipt is there, in mapped
// memory. Whoever waits for a run polls for it; for runs that nobody waits for
// a thread does, which sleeps longer the longer they take.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "base/condition_variable.h"
#include "cuda/stream/cuda_stream.h"
#include "runtime/device/device_context.h"

namespace traingraph::cuda {

class Landing {
 public:
  /// `lose` makes the error with which everything ends when the card is lost,
  /// from what the driver says.
  using Lose = std::function<std::exception_ptr(const char* reason)>;

  Landing(CudaStream& stream, Lose lose);
  /// Waits for what is in the air.
  ~Landing();

  /// Where the receipt of the next run goes, and the ticket that it will show.
  /// Waits while kMaxInTheAir are in the air.
  struct Slot {
    DeviceAddress address;
    std::uint64_t ticket;
  };
  Slot next_slot();
  /// The run with that slot was launched: finished() is called when it is over,
  /// with `error` (it was skipped) if it is not null.
  void launched(Submission& submission, std::exception_ptr error);
  /// Lands all runs that were launched, here.
  void land_all();
  /// Waits until everything launched so far is over.
  void drain();

  /// The calling thread launches runs and waits for them: while this lives, the
  /// landing's own thread is not woken for them.
  class Watch {
   public:
    explicit Watch(Landing& landing);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    /// Polls until what was launched is over, or this takes long.
    void poll();

   private:
    Landing& landing_;
  };

 private:
  static constexpr std::size_t kMaxInTheAir = 64;
  struct Run {
    Submission* submission = nullptr;
    std::exception_ptr error;
  };

  void loop();
  void wait_for_next(std::unique_lock<std::mutex>& lock);
  /// Lands what is over, in order, and says whether something was. The mutex is
  /// free while finished() is called.
  bool land(std::unique_lock<std::mutex>& lock);
  void land_first(std::unique_lock<std::mutex>& lock, std::exception_ptr error,
                  double seconds);
  void look_for_loss();
  const volatile Receipt& receipt(std::uint64_t ticket) const;

  CudaStream& stream_;
  const Lose lose_;
  MappedBuffer receipts_;
  mutable std::mutex mutex_;
  std::condition_variable to_watch_, landed_;
  std::array<Run, kMaxInTheAir> runs_;  // by ticket
  std::uint64_t num_launched_ = 0, num_landed_ = 0;
  int num_watching_ = 0;
  bool is_landing_ = false, stops_ = false;
  std::exception_ptr loss_;
  std::thread thread_;
};

}  // namespace traingraph::cuda
