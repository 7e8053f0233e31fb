// SPDX-License-Identifier: MIT
#include "compiler/gradient_buckets.h"

#include <algorithm>
#include <utility>

namespace traingraph {
namespace {

constexpr int kNone = -1;

bool is_update(const LoweredProgram& lowered, UnitId id) {
  return lowered.units[id].phase == Phase::Update;
}

/// By storage: position of the last unit before the updates that writes or
/// reads it. Other gradients may be computed from one that is complete.
std::vector<int> last_uses(const LoweredProgram& lowered,
                           const std::vector<UnitId>& order) {
  std::vector<int> last(lowered.storages.size(), kNone);
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (is_update(lowered, order[at])) break;
    const Unit& unit = lowered.units[order[at]];
    for (StorageId id : unit.writes) last[id] = static_cast<int>(at);
    for (StorageId id : unit.reads) last[id] = static_cast<int>(at);
  }
  return last;
}

std::size_t bytes_of(const LoweredProgram& lowered, ValueId gradient) {
  return lowered.storages[lowered.storage_of[gradient]].bytes;
}

/// Those with bytes of their own.
std::vector<ValueId> stored(const LoweredProgram& lowered,
                            const std::vector<ValueId>& gradients) {
  std::vector<bool> is_known(lowered.storages.size(), false);
  std::vector<ValueId> result;
  for (ValueId gradient : gradients) {
    const StorageId id = lowered.storage_of[gradient];
    if (id < 0 || is_known[id] || lowered.storages[id].bytes == 0) continue;
    is_known[id] = true;
    result.push_back(gradient);
  }
  return result;
}

/// All statistics come before the first bucket: after which unit a gradient is
/// complete differs between batch sizes, and ranks have parts of any size.
void keep_order(const LoweredProgram& lowered, const std::vector<UnitId>& order,
                std::vector<Bucket>& buckets) {
  std::vector<bool> has_statistics(lowered.units.size(), false);
  for (const SharedStatistics& statistics : lowered.statistics) {
    has_statistics[statistics.before] = true;
  }
  int last = kNone;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (has_statistics[order[at]]) last = static_cast<int>(at) - 1;
  }
  for (Bucket& bucket : buckets) {
    bucket.ready_after = std::max(bucket.ready_after, last);
  }
}

/// Sorts update units by the last bucket that they need, directly or through
/// other updates. A unit needs no earlier a bucket than what it must not
/// overtake, so that the sorted order is valid where program order was.
void sort_updates(const LoweredProgram& lowered,
                  const std::vector<int>& bucket_of,
                  std::vector<UnitId>& order) {
  std::vector<int> read = bucket_of, written = bucket_of;  // by storage
  std::vector<int> bucket(lowered.units.size(), kNone);
  for (UnitId id : order) {
    if (!is_update(lowered, id)) continue;
    const Unit& unit = lowered.units[id];
    int& last = bucket[id];
    for (StorageId s : unit.reads) last = std::max(last, written[s]);
    for (StorageId s : unit.writes)
      last = std::max({last, written[s], read[s]});
    for (StorageId s : unit.reads) read[s] = std::max(read[s], last);
    for (StorageId s : unit.writes) written[s] = std::max(written[s], last);
  }
  const auto updates = std::ranges::find_if(
      order, [&](UnitId id) { return is_update(lowered, id); });
  std::stable_sort(updates, order.end(),
                   [&](UnitId a, UnitId b) { return bucket[a] < bucket[b]; });
}

}  // namespace

std::string first_and_last(std::span<const std::string_view> parameters) {
  std::string text(parameters.front());
  if (parameters.size() > 2) text += " ...";
  if (parameters.size() > 1) (text += ' ') += parameters.back();
  return text;
}

std::vector<TensorIndex> order_of_readiness(const Assembled& assembled) {
  std::vector<Trained> trained = assembled.trained;
  std::ranges::stable_sort(trained, {}, [&](const Trained& t) {
    return assembled.program.value(t.gradient).producer;
  });
  std::vector<TensorIndex> order;
  for (const Trained& t : trained) order.push_back(t.tensor);
  return order;
}

std::vector<ValueId> gradients_of(const Assembled& assembled,
                                  const std::vector<TensorIndex>& tensors) {
  std::vector<ValueId> gradients;
  for (TensorIndex tensor : tensors) {
    const Trained* const trained = assembled.find_trained(tensor);
    if (trained) gradients.push_back(trained->gradient);
  }
  return gradients;
}

std::vector<Bucket> make_buckets(const LoweredProgram& lowered,
                                 const std::vector<ValueId>& gradients,
                                 std::size_t bytes,
                                 std::vector<UnitId>& order) {
  const std::vector<int> last = last_uses(lowered, order);
  std::vector<int> bucket_of(lowered.storages.size(), kNone);
  std::vector<Bucket> buckets;
  int ready_after = kNone;
  for (auto& group : group_gradients(
           stored(lowered, gradients), bytes,
           [&](ValueId gradient) { return bytes_of(lowered, gradient); })) {
    for (ValueId gradient : group) {
      const StorageId id = lowered.storage_of[gradient];
      ready_after = std::max(ready_after, last[id]);
      bucket_of[id] = static_cast<int>(buckets.size());
    }
    buckets.push_back(
        {.gradients = std::move(group), .ready_after = ready_after});
  }
  keep_order(lowered, order, buckets);
  sort_updates(lowered, bucket_of, order);
  const int end = static_cast<int>(order.size());
  for (Bucket& bucket : buckets) bucket.needed_before = end;
  for (int at = end - 1; at >= 0 && is_update(lowered, order[at]); --at) {
    const Unit& unit = lowered.units[order[at]];
    for (const auto* touched : {&unit.reads, &unit.writes}) {
      for (StorageId id : *touched) {
        if (bucket_of[id] != kNone) buckets[bucket_of[id]].needed_before = at;
      }
    }
  }
  return buckets;
}

}  // namespace traingraph
