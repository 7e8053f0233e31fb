// SPDX-License-Identifier: MIT
// What the runtime may ask of a backend: buffers, units bound to addresses,
// and one in-order queue. Nothing here blocks except drain(), and upload() and
// download() where the host has no view of the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "runtime/device/device_memory.h"
#include "traingraph/enums.h"
#include "traingraph/insight.h"

namespace traingraph {

/// A place in work, before one of its units; the end is one, too.
struct Mark {
  int before = 0;
  /// The host wants what the units before it write.
  bool reads = false;
  /// The units after it want what the host writes.
  bool writes = false;
};

/// Units bound to storage, ready to run as one submission, and where it calls
/// its submitter back.
class BoundUnits {
 public:
  /// Throws InternalError unless `marks` ascend and are of so many units.
  BoundUnits(std::size_t num_units, std::span<const Mark> marks);
  virtual ~BoundUnits() = default;
  std::span<const Mark> marks() const { return marks_; }

 private:
  std::vector<Mark> marks_;
};

/// One piece of work for the queue. The submitter owns it and keeps it alive
/// until finished() was called. The queue links submissions through `next`:
/// submitting allocates nothing.
class Submission {
 public:
  virtual ~Submission() = default;
  /// Is called once, on a thread of the queue, in the queue's order, before
  /// `uploads` and not while is_waiting(). From then on it cannot be dropped;
  /// what the host supplies may change until then.
  virtual void begin() noexcept {}
  /// Is called after begin(). A non-null result (it was dropped, or an earlier
  /// execution that this one depends on was, or failed) skips all but what is
  /// uploaded and copied.
  virtual std::exception_ptr blocked() noexcept = 0;
  /// Does this one depend on an execution that is not over yet, and may fail
  /// although its device does not (DeviceContext::fails_as_one())? Only devices
  /// that run behind their queue's thread have to ask.
  virtual bool is_waiting() noexcept = 0;
  /// Is called once, when the work is over. `error` is null on success.
  /// Constant time, never throws, may run on any thread.
  virtual void finished(std::exception_ptr error, double seconds) noexcept = 0;

  BoundUnits* work = nullptr;
  /// The host supplies these before the work. They are always copied, so that a
  /// value is there for later executions even when this one is skipped.
  std::span<const Upload> uploads;
  /// These are supplied as `uploads` are, from memory of the device: its own,
  /// or what it wraps.
  std::span<const Copy> copies;
  /// The host gets these after the work.
  std::span<const Download> downloads;
  /// A thread of the queue calls this at each of the marks of `work`, in their
  /// order: when the units before it are done, if it reads, and before the
  /// units after it are, if it writes. May wait for other processes. What it
  /// throws ends the submission.
  virtual void reached(std::size_t /*mark*/) {}
  /// Seconds per unit of `work` are stored here, unless it is empty.
  std::span<double> unit_seconds;
  Submission* next = nullptr;
  std::uint64_t ticket = 0;  // how many the queue had got, with this one
  /// The submitter calls DeviceContext::help() at once: a queue that is idle
  /// need not wake its own thread.
  bool is_awaited = false;
};

class DeviceContext {
 public:
  virtual ~DeviceContext() = default;
  virtual DeviceType type() const = 0;
  /// Names the device for people: "cpu (oneDNN 3.2, 2 threads)".
  virtual std::string description() const = 0;
  virtual std::vector<std::string> gpu_names() const { return {}; }
  /// Measured by the first call, which may take a while.
  virtual DevicePeaks peaks() const { return {}; }
  virtual const Target& target() const = 0;
  /// Allocates zeros. Throws OutOfMemoryError with the size.
  virtual std::shared_ptr<DeviceBuffer> allocate(std::size_t bytes,
                                                 std::string_view label) = 0;
  /// Allocates zeros for uploads and downloads of this device's queue. Throws
  /// OutOfMemoryError with the size.
  virtual std::shared_ptr<StagingBuffer> allocate_staging(
      std::size_t bytes, std::string_view label) = 0;
  /// Returns where the host finds device memory; null when it cannot see it.
  /// The contents are valid only while no work that touches them is in flight.
  virtual std::byte* host_view(Location) const { return nullptr; }
  /// Memory of this device that somebody else has, as a buffer to copy from: a
  /// submission that does waits until it is ready. The last owner of the buffer
  /// lets the memory go. Throws UnsupportedError where there is no such memory.
  virtual std::shared_ptr<DeviceBuffer> wrap(const DeviceSource& source);
  /// Both copy at once where the host has a view; then no work that touches the
  /// bytes may be in flight. Else the queue copies, and they wait for it.
  void upload(std::span<const std::byte> from, Location to);
  void download(Location from, std::span<std::byte> to);
  /// As upload(), from memory of device `of`: this one, which copies it on its
  /// queue, or one whose memory the host sees. Throws UnsupportedError for that
  /// of others.
  void upload(DeviceContext& of, const DeviceSource& from, Location to);
  /// Device memory beyond what was allocated here, as measured now.
  virtual std::size_t engine_bytes() const { return 0; }
  /// `locations[s]` is where storage s lives; unused storage may be empty.
  /// `poison[i]`, when given, is overwritten after the i-th unit. `marks` are
  /// reached by each submission of the result; there are none unless
  /// reaches_marks(). `program` outlives the result.
  virtual std::unique_ptr<BoundUnits> bind(
      const LoweredProgram& program, std::span<const UnitId> units,
      std::span<const Location> locations,
      std::span<const std::vector<PoisonRange>> poison,
      std::span<const Mark> marks) = 0;
  /// Can work have marks, where the host reads and writes what it sees of the
  /// memory?
  virtual bool reaches_marks() const { return false; }
  /// A submission without marks that has begun fails only with the device, and
  /// all that began after it fails then, too. So what depends on it begins
  /// before it is over, and is_waiting() says so. What it ends with, those that
  /// depend on it end with, too: finished() is called in the queue's order.
  virtual bool fails_as_one() const { return false; }
  /// Enqueues; returns at once. Submissions run in order. Those to a device
  /// that is lost end with loss().
  virtual void submit(Submission& submission) = 0;
  /// Lends, after submitting what is_awaited, the calling thread to a queue
  /// whose own thread has nothing to do, until `submission` is over. May return
  /// earlier; the submission is then over as soon as without help. Can be
  /// interrupted (interrupt.h).
  virtual void help(Submission&) {}
  /// Waits until everything submitted so far is over.
  virtual void drain() = 0;
  /// The DeviceLostError that a device which is lost ends everything with.
  /// Null: it is not. What allocates or binds there throws it.
  virtual std::exception_ptr loss() const { return nullptr; }
  /// Throws DeviceLostError, naming `call`, when the device is lost.
  void require_not_lost(const char* call) const;
  /// Waits at process exit for what runs; everything else and all that comes
  /// later ends with an error at once.
  virtual void close() = 0;
  /// The device that computes; another one when this only watches it.
  virtual const DeviceContext& device() const { return *this; }
};

/// For loss(): `reason` is what the device's driver says.
std::exception_ptr lost_error(const DeviceContext& device, std::string reason);

/// Names a device in messages about two, which may have one description.
std::string name_beside(const DeviceContext& device,
                        const DeviceContext& other);

}  // namespace traingraph
