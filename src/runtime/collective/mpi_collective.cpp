// SPDX-License-Identifier: MIT
// Operations of MPI, begun and polled on the collective's thread: MPI has no
// way to end a call that blocks, and a rank that is gone would keep it forever.
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "runtime/collective/mpi_library.h"
#include "runtime/collective/mpi_segment.h"
#include "runtime/collective/rank_text.h"
#include "runtime/device/device_wait.h"
#include "traingraph/collective.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using mpi::Count;
using mpi::Request;

/// An operation that does not end must not keep what drops the collective.
constexpr auto kEndPatience = std::chrono::seconds(10);

Count count_of(std::size_t size) { return static_cast<Count>(size); }

class MpiCollective : public BlockingCollective {
 public:
  MpiCollective(mpi::Library& library, mpi::Comm source)
      : library_(library), f_(library.functions()) {
    const bool is_world = source == nullptr || source == mpi::comm_world();
    if (source == nullptr) source = mpi::comm_world();
    communicator_ = duplicate(source);
    if (is_world && !library_.has_exit_communicator()) {
      library_.set_exit_communicator(duplicate(source));
    }
    const auto check = [&](int code) {
      library_.require(code, "mpi_collective", "this rank");
    };
    check(f_.comm_rank(communicator_, &rank_));
    check(f_.comm_size(communicator_, &size_));
    who_ = rank_text(rank_) + " of " + std::to_string(size_);
    description_ = "MPI (" + library_.version() + ")";
    segment_ = mpi::make_segment(library_, communicator_, rank_, size_, who_);
  }
  /// The communicator stays: to free it is an operation of all ranks, which may
  /// drop their collectives in any order.
  ~MpiCollective() override { stop(); }

  std::string description() const override { return description_; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  bool ends() { return stop_within(kEndPatience); }

 protected:
  void all_reduce_now(std::span<float> values) override {
    if (segment_) {
      return share("all_reduce", [&](const SharedSegment::Wait& wait) {
        segment_->all_reduce(values, wait);
      });
    }
    run("all_reduce", [&](Request* request) {
      return f_.iallreduce(mpi::in_place(), values.data(),
                           count_of(values.size()), mpi::float_type(),
                           mpi::sum(), communicator_, request);
    });
  }

  void all_gather_now(std::span<const std::byte> part,
                      std::span<std::byte> all) override {
    if (!part.empty()) {
      std::memmove(&all[part.size() * static_cast<std::size_t>(rank_)],
                   part.data(), part.size());
    }
    if (segment_) {
      return share("all_gather", [&](const SharedSegment::Wait& wait) {
        segment_->all_gather(all, wait);
      });
    }
    // In place on all ranks or on none, says MPI; so on all, as a part may lie
    // in the whole.
    run("all_gather", [&](Request* request) {
      return f_.iallgather(mpi::in_place(), 0, mpi::byte_type(), all.data(),
                           count_of(part.size()), mpi::byte_type(),
                           communicator_, request);
    });
  }

  void broadcast_now(std::span<std::byte> bytes, int root) override {
    if (segment_) {
      return share("broadcast", [&](const SharedSegment::Wait& wait) {
        segment_->broadcast(bytes, root, wait);
      });
    }
    run("broadcast", [&](Request* request) {
      return f_.ibcast(bytes.data(), count_of(bytes.size()), mpi::byte_type(),
                       root, communicator_, request);
    });
  }

  void abort() noexcept override {
    if (segment_) segment_->abort();
    library_.mark_failed();
    BlockingCollective::abort();
  }

 private:
  /// Waits for the other ranks, which Ctrl-C may end.
  mpi::Comm duplicate(mpi::Comm source) {
    mpi::Comm copy = mpi::comm_null();
    library_.run(
        "mpi_collective", "this rank",
        [&](Request* request) { return f_.comm_idup(source, &copy, request); },
        [] {
          check_interrupt();
          return true;
        });
    library_.require(f_.comm_set_errhandler(copy, mpi::errors_return()),
                     "mpi_collective", "this rank");
    return copy;
  }

  template <class Begin>
  void run(const char* op, const Begin& begin) {
    library_.run(op, who_, std::cref(begin), [this] { return !is_aborted(); });
  }

  /// Works in memory of MPI's, which must not be finalized meanwhile. Ranks
  /// that begin different operations all throw; whatever else ends one is for
  /// it to tell.
  template <class Operation>
  void share(const char* op, const Operation& operation) {
    const auto wait = [&](const std::function<bool()>& is_over) {
      library_.wait_until(op, who_, is_over, [this] { return !is_aborted(); });
    };
    try {
      const mpi::Library::Running running(library_, op);
      operation(std::cref(wait));
    } catch (const StateError&) {
      throw;
    } catch (...) {
      segment_->abort();
      throw;
    }
  }

  mpi::Library& library_;
  const mpi::Functions& f_;
  mpi::Comm communicator_ = mpi::comm_null();
  int rank_ = 0, size_ = 1;
  /// It is null where ranks are on several hosts, or one has too little shared
  /// memory.
  std::unique_ptr<SharedSegment> segment_;
  std::string who_, description_;
};

/// Rather stays for good than waits for good.
void end(MpiCollective* collective) {
  if (collective->ends()) delete collective;
}

}  // namespace

std::shared_ptr<Collective> mpi_collective(std::string_view library,
                                           void* communicator) {
  const auto source = static_cast<mpi::Comm>(communicator);
  if (source == mpi::comm_null()) {
    throw InvalidArgument(ErrorInfo{
        .op = "mpi_collective", .what = "the communicator is MPI_COMM_NULL"});
  }
  return {new MpiCollective(mpi::Library::get(library), source), &end};
}

}  // namespace traingraph
