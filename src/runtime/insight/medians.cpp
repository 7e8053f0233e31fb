// SPDX-License-Identifier: MIT
#include "runtime/insight/medians.h"

#include <algorithm>
#include <functional>

#include "compiler/row_costs.h"
#include "runtime/exchange/exchange_spans.h"

namespace traingraph {
namespace {

/// Interpolates between the two nearest of the sorted numbers.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return sorted[below] * (1 - part) + sorted[above] * part;
}

class Medians {
 public:
  explicit Medians(const std::vector<Profile>& runs) : runs_(runs) {}

  /// `cost` is the same cost in each run.
  void set(LayerCost& result,
           const std::function<const LayerCost&(const Profile&)>& cost) {
    result.seconds = of([&](const Profile& run) { return cost(run).seconds; });
    result.spread = quantile(seconds_, 0.75) - quantile(seconds_, 0.25);
  }
  double of(const std::function<double(const Profile&)>& seconds) {
    seconds_.clear();
    for (const Profile& run : runs_) seconds_.push_back(seconds(run));
    std::ranges::sort(seconds_);
    return quantile(seconds_, 0.5);
  }

 private:
  const std::vector<Profile>& runs_;
  std::vector<double> seconds_;
};

}  // namespace

Profile median_of(std::vector<Profile> runs) {
  Profile result = runs.back();
  result.runs = static_cast<int>(runs.size());
  if (runs.size() == 1) {
    set_starts(result);
    return result;
  }
  Medians medians(runs);
  for (auto phase : kPhaseCosts) {
    medians.set(result.total.*phase, [&](const Profile& run) -> const auto& {
      return run.total.*phase;
    });
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      medians.set(result.rows[i].*phase,
                  [&](const Profile& run) -> const auto& {
                    return run.rows[i].*phase;
                  });
    }
  }
  for (std::size_t i = 0; i < result.units.size(); ++i) {
    medians.set(result.units[i].cost, [&](const Profile& run) -> const auto& {
      return run.units[i].cost;
    });
  }
  for (std::size_t i = 0; i < result.exchange.size(); ++i) {
    result.exchange[i].seconds =
        medians.of([&](const Profile& run) { return run.exchange[i].seconds; });
  }
  set_starts(result);
  return result;
}

}  // namespace traingraph
