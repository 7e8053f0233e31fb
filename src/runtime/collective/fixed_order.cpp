// SPDX-License-Identifier: MIT
// Sums in the order of ranks: gathers what all ranks have, and adds it here.
#include <algorithm>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "traingraph/collective.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// sum = the floats [begin, begin + sum.size()) of each of the rows, in order.
void add_rows(const std::vector<float>& rows, std::size_t row_size,
              std::size_t begin, std::span<float> sum) {
  for (std::size_t row = begin; row < rows.size(); row += row_size) {
    const float* const values = rows.data() + row;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = row == begin ? values[i] : sum[i] + values[i];
    }
  }
}

class FixedOrder : public Collective {
 public:
  explicit FixedOrder(std::shared_ptr<Collective> inner)
      : state_(std::make_shared<State>()) {
    state_->inner = std::move(inner);
  }

  std::string description() const override {
    return state_->inner->description() + ", sums in the order of ranks";
  }
  int rank() const override { return state_->inner->rank(); }
  int size() const override { return state_->inner->size(); }

  void all_reduce(std::span<float> values, Done done) override {
    add(values, 0, values, std::move(done));
  }

  void reduce_scatter(std::span<float> values, std::span<float> part,
                      Done done) override {
    const std::size_t whole = part.size() * static_cast<std::size_t>(size());
    if (values.size() != whole) {
      return done(std::make_exception_ptr(InvalidArgument(ErrorInfo{
          .op = "reduce_scatter",
          .what = "the whole is not as long as the parts of all ranks",
          .expected = std::to_string(whole),
          .got = std::to_string(values.size())})));
    }
    add(values, part.size() * static_cast<std::size_t>(rank()), part,
        std::move(done));
  }

  void all_gather(std::span<const std::byte> part, std::span<std::byte> all,
                  Done done) override {
    state_->inner->all_gather(part, all, std::move(done));
  }
  void broadcast(std::span<std::byte> bytes, int root, Done done) override {
    state_->inner->broadcast(bytes, root, std::move(done));
  }
  void barrier(Done done) override { state_->inner->barrier(std::move(done)); }
  void abort() noexcept override { state_->inner->abort(); }

 private:
  struct State;

  /// A sum, which has memory of its own: several may be under way.
  struct Sum {
    std::shared_ptr<State> state = nullptr;  // while it is under way
    std::vector<float> rows = {};            // of all ranks
    std::size_t row_size = 0, begin = 0;
    std::span<float> result = {};
    Done done = nullptr;
  };

  /// Outlives the collective while a sum is under way.
  struct State {
    std::shared_ptr<Collective> inner;
    std::mutex mutex;
    std::list<Sum> sums;  // those that are over serve again

    Sum& take(const std::shared_ptr<State>& self) {
      const std::scoped_lock lock(mutex);
      auto sum = std::ranges::find(sums, nullptr, &Sum::state);
      if (sum == sums.end()) sum = sums.emplace(sums.end());
      sum->state = self;
      return *sum;
    }
  };

  /// result = the sum of all ranks' values, from `begin` on.
  void add(std::span<float> values, std::size_t begin, std::span<float> result,
           Done done) {
    Sum& sum = state_->take(state_);
    try {
      sum.rows.resize(values.size() * static_cast<std::size_t>(size()));
    } catch (...) {
      sum.done = std::move(done);
      return finish(sum, std::current_exception());
    }
    sum.row_size = values.size();
    sum.begin = begin;
    sum.result = result;
    sum.done = std::move(done);
    state_->inner->all_gather(
        std::as_bytes(values), std::as_writable_bytes(std::span(sum.rows)),
        [&sum](std::exception_ptr error) { finish(sum, std::move(error)); });
  }

  static void finish(Sum& sum, std::exception_ptr error) {
    if (!error) add_rows(sum.rows, sum.row_size, sum.begin, sum.result);
    const Done done = std::move(sum.done);
    std::shared_ptr<State> state;
    {
      const std::scoped_lock lock(sum.state->mutex);
      state = std::move(sum.state);
    }
    done(std::move(error));
  }

  std::shared_ptr<State> state_;
};

}  // namespace

std::shared_ptr<Collective> fixed_order(
    std::shared_ptr<Collective> collective) {
  if (!collective) {
    throw InvalidArgument(
        ErrorInfo{.op = "fixed_order", .what = "there is no collective"});
  }
  return std::make_shared<FixedOrder>(std::move(collective));
}

}  // namespace traingraph
