// SPDX-License-Identifier: MIT
// The independent check of a memory plan: a sweep over the timeline that keeps
// the live byte ranges and looks at neighbours. Shares nothing with the
// planner, so that a mistake there cannot hide here.
#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <tuple>

#include "compiler/memory_plan.h"

namespace traingraph {
namespace {

template <class... Parts>
std::string message(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Rounds up by division: any alignment, unlike the planner's bit mask.
std::size_t padded(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::string check_alone(const Lifetime& l, std::size_t offset, std::size_t i,
                        std::size_t arena_bytes, std::size_t alignment) {
  if (l.first > l.last) {
    return message("buffer ", i, " ends at ", l.last, ", before its start at ",
                   l.first);
  }
  if (l.bytes == 0) {
    return offset == 0 ? ""
                       : message("empty buffer ", i, " is at offset ", offset,
                                 ": expected 0");
  }
  if (offset % alignment != 0) {
    return message("buffer ", i, " is at offset ", offset,
                   ", not a multiple of ", alignment);
  }
  // Subtractions, so that absurd offsets cannot wrap around.
  const std::size_t bytes = padded(l.bytes, alignment);
  if (bytes > arena_bytes || offset > arena_bytes - bytes) {
    return message("buffer ", i, " (", bytes, " bytes at offset ", offset,
                   ") ends outside of the arena of ", arena_bytes, " bytes");
  }
  return "";
}

struct Event {
  std::int64_t position;
  bool is_start;  // buffers that end free their bytes before others start
  std::size_t buffer;

  bool operator<(const Event& other) const {
    return std::tie(position, is_start, buffer) <
           std::tie(other.position, other.is_start, other.buffer);
  }
};

std::vector<Event> timeline(std::span<const Lifetime> lifetimes) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    if (lifetimes[i].bytes == 0) continue;
    events.push_back({lifetimes[i].first, true, i});
    events.push_back({std::int64_t{lifetimes[i].last} + 1, false, i});
  }
  std::sort(events.begin(), events.end());
  return events;
}

}  // namespace

std::string check_plan(std::span<const Lifetime> lifetimes,
                       const MemoryPlan& plan, std::size_t alignment) {
  if (plan.offsets.size() != lifetimes.size()) {
    return message("the plan has ", plan.offsets.size(), " offsets: expected ",
                   lifetimes.size());
  }
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    std::string problem = check_alone(lifetimes[i], plan.offsets[i], i,
                                      plan.arena_bytes, alignment);
    if (!problem.empty()) return problem;
  }

  const auto end_of = [&](std::size_t i) {
    return plan.offsets[i] + lifetimes[i].bytes;
  };
  const auto overlap = [&](std::size_t a, std::size_t b, std::int64_t at) {
    return message("buffers ", a, " and ", b, " are both live at ", at,
                   " and overlap: [", plan.offsets[a], ", ", end_of(a),
                   ") and [", plan.offsets[b], ", ", end_of(b), ")");
  };
  std::map<std::size_t, std::size_t> live;  // offset to buffer
  std::size_t live_bytes = 0, peak = 0;
  for (const Event& event : timeline(lifetimes)) {
    const std::size_t i = event.buffer;
    const std::size_t bytes = padded(lifetimes[i].bytes, alignment);
    if (!event.is_start) {
      live.erase(plan.offsets[i]);
      live_bytes -= bytes;
      continue;
    }
    const auto [it, is_new] = live.emplace(plan.offsets[i], i);
    if (!is_new) return overlap(it->second, i, event.position);
    if (it != live.begin()) {
      const std::size_t below = std::prev(it)->second;
      if (end_of(below) > plan.offsets[i]) {
        return overlap(below, i, event.position);
      }
    }
    if (const auto above = std::next(it); above != live.end()) {
      if (end_of(i) > above->first) {
        return overlap(i, above->second, event.position);
      }
    }
    live_bytes += bytes;
    peak = std::max(peak, live_bytes);
  }
  if (peak != plan.live_peak_bytes) {
    return message("the plan reports a live peak of ", plan.live_peak_bytes,
                   " bytes: expected ", peak);
  }
  return "";
}

}  // namespace traingraph
