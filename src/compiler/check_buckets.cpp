// SPDX-License-Identifier: MIT
#include "compiler/check_buckets.h"

#include <algorithm>
#include <map>

namespace traingraph {
namespace {

using BucketOf = std::map<StorageId, const Bucket*>;

std::string find_buckets(const LoweredProgram& lowered, const Plan& plan,
                         const PlanRequest& request, BucketOf& buckets) {
  for (const Bucket& bucket : plan.buckets) {
    for (ValueId value : bucket.gradients) {
      const StorageId id = lowered.storage_of[value];
      if (buckets.emplace(id, &bucket).second) continue;
      return "gradient storage " + std::to_string(id) + " is in two buckets";
    }
  }
  for (ValueId value : request.gradients) {
    const StorageId id = lowered.storage_of[value];
    if (id < 0 || lowered.storages[id].bytes == 0) continue;
    if (buckets.contains(id)) continue;
    return "gradient storage " + std::to_string(id) + " is in no bucket";
  }
  return {};
}

}  // namespace

std::string check_buckets(const LoweredProgram& lowered, const Plan& plan,
                          const PlanRequest& request) {
  if (!request.exchanges()) {
    return plan.buckets.empty() ? "" : "there are buckets for no exchange";
  }
  BucketOf buckets;
  std::string problem = find_buckets(lowered, plan, request, buckets);
  if (!problem.empty()) return problem;
  for (int at = 0; at < plan.begin_of[3]; ++at) {
    const Unit& unit = lowered.units[plan.order[at]];
    const bool is_update = unit.phase == Phase::Update;
    for (const auto* touched : {&unit.reads, &unit.writes}) {
      for (StorageId id : *touched) {
        const auto found = buckets.find(id);
        if (found == buckets.end()) continue;
        const Bucket& bucket = *found->second;
        const bool is_right =
            is_update ? at >= bucket.needed_before : at <= bucket.ready_after;
        if (is_right) continue;
        return "unit " + std::to_string(plan.order[at]) + " at " +
               std::to_string(at) + " touches gradient storage " +
               std::to_string(id) +
               (is_update ? " before its sum is there" : " after it is sent");
      }
    }
  }
  return {};
}

}  // namespace traingraph
