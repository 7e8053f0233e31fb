// SPDX-License-Identifier: MIT
#include "support/thread_collective.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

using Bytes = std::vector<std::byte>;

/// What a rank comes with. All must come for the same.
struct Came {
  std::string what;  // operation, sizes, root
  Bytes bytes;
};

/// One operation of all ranks.
struct Meeting {
  explicit Meeting(int size) : came(static_cast<std::size_t>(size)) {}
  std::vector<Came> came;
  std::size_t num_came = 0;
};

void require_same(const Meeting& meeting) {
  const std::string& expected = meeting.came[0].what;
  for (std::size_t rank = 1; rank < meeting.came.size(); ++rank) {
    const std::string& got = meeting.came[rank].what;
    if (got == expected) continue;
    throw InvalidArgument(
        ErrorInfo{.op = "collective",
                  .what = "rank " + std::to_string(rank) +
                          " began another operation than rank 0",
                  .expected = expected,
                  .got = got});
  }
}

/// Adds the floats [begin, begin + sum.size()) of each rank, in order.
void add_in_order(const Meeting& meeting, std::size_t begin,
                  std::span<float> sum) {
  std::vector<float> values(sum.size());
  for (std::size_t rank = 0; rank < meeting.came.size(); ++rank) {
    if (sum.empty()) return;
    std::memcpy(values.data(),
                meeting.came[rank].bytes.data() + begin * sizeof(float),
                sum.size_bytes());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = rank == 0 ? values[i] : sum[i] + values[i];
    }
  }
}

}  // namespace

struct ThreadGroup::Meetings {
  Meetings(int num_ranks, ThreadGroupOptions its_options)
      : size(num_ranks),
        options(its_options),
        is_dead(static_cast<std::size_t>(num_ranks)) {}

  const int size;
  const ThreadGroupOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::int64_t, std::shared_ptr<Meeting>> open;  // by their number
  std::vector<bool> is_dead;
};

class ThreadGroup::Member : public BlockingCollective {
 public:
  Member(std::shared_ptr<Meetings> meetings, int rank)
      : meetings_(std::move(meetings)),
        rank_(rank),
        random_(meetings_->options.seed + static_cast<std::uint64_t>(rank)) {}
  ~Member() override { stop(); }

  std::string description() const override { return "threads"; }
  int rank() const override { return rank_; }
  int size() const override { return meetings_->size; }
  std::int64_t num_begun() const { return num_begun_; }

  void abort() noexcept override {
    {
      // Else a wait() that has just looked would miss it.
      const std::scoped_lock lock(meetings_->mutex);
      BlockingCollective::abort();
    }
    meetings_->changed.notify_all();
  }

 protected:
  void all_reduce_now(std::span<float> values) override {
    add_in_order(*meet("all_reduce of " + std::to_string(values.size()),
                       std::as_bytes(values)),
                 0, values);
  }

  void all_gather_now(std::span<const std::byte> part,
                      std::span<std::byte> all) override {
    const auto meeting =
        meet("all_gather of " + std::to_string(part.size()), part);
    auto end = all.begin();
    for (const Came& came : meeting->came) {
      end = std::ranges::copy(came.bytes, end).out;
    }
  }

  void broadcast_now(std::span<std::byte> bytes, int root) override {
    const auto meeting = meet("broadcast of " + std::to_string(bytes.size()) +
                                  " from " + std::to_string(root),
                              bytes);
    std::ranges::copy(meeting->came[static_cast<std::size_t>(root)].bytes,
                      bytes.begin());
  }

 private:
  /// The meeting is over when all ranks have come.
  std::shared_ptr<const Meeting> meet(std::string what,
                                      std::span<const std::byte> bytes) {
    delay();
    const std::int64_t number = num_begun_++;
    std::unique_lock lock(meetings_->mutex);
    auto& slot = meetings_->open[number];
    if (!slot) slot = std::make_shared<Meeting>(meetings_->size);
    const std::shared_ptr<Meeting> meeting = slot;
    const auto size = static_cast<std::size_t>(meetings_->size);
    if (!meetings_->is_dead[static_cast<std::size_t>(rank_)]) {
      meeting->came[static_cast<std::size_t>(rank_)] = {
          std::move(what), Bytes(bytes.begin(), bytes.end())};
      if (++meeting->num_came == size) {
        meetings_->open.erase(number);
        meetings_->changed.notify_all();
      }
    }
    meetings_->changed.wait(
        lock, [&] { return meeting->num_came == size || is_aborted(); });
    if (meeting->num_came < size) {
      throw DeviceError(
          ErrorInfo{.op = "collective",
                    .what = "rank " + std::to_string(rank_) + " has given up"});
    }
    lock.unlock();
    require_same(*meeting);
    delay();
    return meeting;
  }

  void delay() {
    const auto longest = meetings_->options.longest_delay.count();
    if (longest == 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(
        std::uniform_int_distribution<long>(0, longest)(random_)));
  }

  const std::shared_ptr<Meetings> meetings_;
  const int rank_;
  std::mt19937_64 random_;
  std::atomic<std::int64_t> num_begun_{0};
};

ThreadGroup::ThreadGroup(int size, ThreadGroupOptions options)
    : meetings_(std::make_shared<Meetings>(size, options)) {
  for (int rank = 0; rank < size; ++rank) {
    members_.push_back(std::make_shared<Member>(meetings_, rank));
  }
}

ThreadGroup::~ThreadGroup() = default;

int ThreadGroup::size() const { return meetings_->size; }

const std::shared_ptr<Collective>& ThreadGroup::operator[](int rank) const {
  return members_.at(static_cast<std::size_t>(rank));
}

void ThreadGroup::kill(int rank) {
  const std::scoped_lock lock(meetings_->mutex);
  meetings_->is_dead.at(static_cast<std::size_t>(rank)) = true;
}

std::int64_t ThreadGroup::num_begun(int rank) const {
  return static_cast<const Member&>(*(*this)[rank]).num_begun();
}

void wait_for(const std::function<void(Collective::Done)>& begin) {
  // Shared: `done` may still be in set_value() when the wait is over.
  const auto over = std::make_shared<std::promise<std::exception_ptr>>();
  begin(
      [over](std::exception_ptr error) { over->set_value(std::move(error)); });
  if (const auto error = over->get_future().get()) {
    std::rethrow_exception(error);
  }
}

void on_each_rank(int size, const std::function<void(int)>& run) {
  std::vector<std::future<void>> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(std::async(std::launch::async, run, rank));
  }
  for (const auto& each : ranks) each.wait();
  for (auto& each : ranks) each.get();
}

}  // namespace traingraph::testing
