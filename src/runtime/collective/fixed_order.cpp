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

/// sum = the rows, each as long as that, added up in order.
void add_rows(const std::vector<float>& rows, std::span<float> sum) {
  for (std::size_t row = 0; row < rows.size(); row += sum.size()) {
    const float* const values = rows.data() + row;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = row == 0 ? values[i] : sum[i] + values[i];
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
    Sum& sum = state_->take(state_);
    sum.values = values;
    sum.done = std::move(done);
    try {
      sum.rows.resize(values.size() * static_cast<std::size_t>(size()));
      state_->inner->all_gather(
          std::as_bytes(values), std::as_writable_bytes(std::span(sum.rows)),
          [&sum](std::exception_ptr error) { finish(sum, std::move(error)); });
    } catch (...) {
      finish(sum, std::current_exception());
    }
  }

  void all_gather(std::span<const std::byte> part, std::span<std::byte> all,
                  Done done) override {
    state_->inner->all_gather(part, all, std::move(done));
  }
  void broadcast(std::span<std::byte> bytes, int root, Done done) override {
    state_->inner->broadcast(bytes, root, std::move(done));
  }
  void abort() noexcept override { state_->inner->abort(); }

 private:
  struct State;

  /// A sum, which has memory of its own: several may be under way.
  struct Sum {
    std::shared_ptr<State> state = nullptr;  // while it is under way
    std::vector<float> rows = {};            // of all ranks
    std::span<float> values = {};
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

  static void finish(Sum& sum, std::exception_ptr error) {
    if (!error) add_rows(sum.rows, sum.values);
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
