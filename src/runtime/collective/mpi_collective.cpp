// SPDX-License-Identifier: MIT
// Operations of MPI, begun and polled on the collective's thread: MPI has no
// way to end a call that blocks, and a rank that is gone would keep it forever.
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "runtime/collective/mpi_library.h"
#include "runtime/collective/mpi_shared_memory.h"
#include "runtime/device/device_wait.h"
#include "traingraph/collective.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using mpi::Count;
using mpi::Request;

/// Windows are made by a call that blocks until all ranks make it; one that is
/// gone must not keep what drops the collective.
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
    who_ = "rank " + std::to_string(rank_) + " of " + std::to_string(size_);
    description_ = "MPI (" + library_.version() + ")";
    shared_memory_ =
        mpi::SharedMemory::make(library_, communicator_, rank_, size_, who_);
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
    const auto may_go_on = [this] { return !is_aborted(); };
    if (shared_memory_ &&
        shared_memory_->all_reduce(values, std::cref(may_go_on))) {
      return;
    }
    run("all_reduce", [&](Request* request) {
      return f_.iallreduce(mpi::in_place(), values.data(),
                           count_of(values.size()), mpi::float_type(),
                           mpi::sum(), communicator_, request);
    });
  }

  // In place on all ranks or on none, says MPI; so on all, as a part may lie in
  // the whole.
  void reduce_scatter_now(std::span<float> values,
                          std::span<float> part) override {
    run("reduce_scatter", [&](Request* request) {
      return f_.ireduce_scatter_block(mpi::in_place(), values.data(),
                                      count_of(part.size()), mpi::float_type(),
                                      mpi::sum(), communicator_, request);
    });
    if (!part.empty()) {
      std::memmove(part.data(), values.data(), part.size_bytes());
    }
  }

  void all_gather_now(std::span<const std::byte> part,
                      std::span<std::byte> all) override {
    if (!part.empty()) {
      std::memmove(&all[part.size() * static_cast<std::size_t>(rank_)],
                   part.data(), part.size());
    }
    const auto may_go_on = [this] { return !is_aborted(); };
    if (shared_memory_ &&
        shared_memory_->all_gather(all, std::cref(may_go_on))) {
      return;
    }
    run("all_gather", [&](Request* request) {
      return f_.iallgather(mpi::in_place(), 0, mpi::byte_type(), all.data(),
                           count_of(part.size()), mpi::byte_type(),
                           communicator_, request);
    });
  }

  void broadcast_now(std::span<std::byte> bytes, int root) override {
    run("broadcast", [&](Request* request) {
      return f_.ibcast(bytes.data(), count_of(bytes.size()), mpi::byte_type(),
                       root, communicator_, request);
    });
  }

  std::shared_ptr<std::byte> allocate_shared_now(std::size_t bytes) override {
    if (!shared_memory_) return nullptr;
    return shared_memory_->allocate(bytes, [this] { return !is_aborted(); });
  }

  void abort() noexcept override {
    library_.give_up();
    BlockingCollective::abort();
  }

  std::byte* find_shared(const std::byte* own, int rank) const override {
    return shared_memory_ ? shared_memory_->find(own, rank) : nullptr;
  }

  void barrier_now() override {
    const auto may_go_on = [this] { return !is_aborted(); };
    if (shared_memory_ && shared_memory_->barrier(std::cref(may_go_on))) return;
    run("barrier",
        [&](Request* request) { return f_.ibarrier(communicator_, request); });
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

  mpi::Library& library_;
  const mpi::Functions& f_;
  mpi::Comm communicator_ = mpi::comm_null();
  int rank_ = 0, size_ = 1;
  std::unique_ptr<mpi::SharedMemory> shared_memory_;  // null: there is none
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
