// SPDX-License-Identifier: MIT
#include "runtime/exchange/exchange.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "runtime/device/device_wait.h"
#include "runtime/execution/batches.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kCompile = "compile";

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

const char* name_of(std::int32_t segment) {
  switch (static_cast<Segment>(segment)) {
    case Segment::Step:
      return "execute";
    case Segment::Gradient:
      return "execute_gradient";
    case Segment::Update:
      return "execute_optimizer_update";
    default:
      return "another call";
  }
}

void require_options(const DataParallel& options) {
  const auto fail = [](const char* node, const char* what, std::string got) {
    throw InvalidArgument(ErrorInfo{
        .op = kCompile, .node = node, .what = what, .got = std::move(got)});
  };
  if (options.gradients == GradientAccumulation::None) {
    fail("gradients_of_ranks", "gradients of processes are summed or averaged",
         "none");
  }
  if (options.bucket_bytes == 0) fail("bucket_bytes", "must be positive", "0");
  if (!(options.timeout > 0)) {
    fail("collective_timeout", "must be positive",
         std::to_string(options.timeout));
  }
  if (!options.collective) return;
  const int rank = options.collective->rank();
  const int size = options.collective->size();
  if (rank >= 0 && rank < size) return;
  fail("collective", "its rank is not below its size",
       std::to_string(rank) + " of " + std::to_string(size));
}

Clock::time_point after(double seconds) {
  constexpr double kForever = 1e9;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(
             std::chrono::duration<double>(std::min(seconds, kForever)));
}

}  // namespace

Exchange::Exchange(DataParallel options)
    : options_(std::move(options)),
      announcement_(std::make_shared<Operation>()),
      other_(std::make_shared<Operation>()) {
  require_options(options_);
  if (!options_.collective) return;
  rank_ = options_.collective->rank();
  size_ = options_.collective->size();
  headers_.resize(static_cast<std::size_t>(size_));
}

double Exchange::run(const ExchangePlan& plan, std::size_t event,
                     const Call& call, const std::function<bool()>& gives_up) {
  require_whole(call.name);
  try {
    return run_event(plan, plan.events[event], call, gives_up);
  } catch (...) {
    fail(std::current_exception());
    throw;
  }
}

double Exchange::run_event(const ExchangePlan& plan, const ExchangeEvent& event,
                           const Call& call,
                           const std::function<bool()>& gives_up) {
  switch (event.step) {
    case ExchangeStep::Announce:
      announce(call);
      return 0;
    case ExchangeStep::Weigh:
      weight_ = weight(call, gives_up);
      if (plan.weight) *plan.weight = weight_;
      return size_ == 1 ? 0 : announcement_->seconds();
    case ExchangeStep::Send:
      send(plan, event.bucket);
      return 0;
    case ExchangeStep::Receive:
      break;
  }
  if (size_ == 1) return 0;
  const BoundBucket& bucket = plan.buckets[event.bucket];
  wait(
      *bucket.sum, call.name, [&] { return name_of(bucket, event.bucket); },
      gives_up);
  return bucket.sum->seconds();
}

void Exchange::announce(const Call& call) {
  if (size_ == 1) return;
  header_ = {.number = call.number,
             .samples = call.samples,
             .segment = static_cast<std::int32_t>(call.segment),
             .rate = call.rate};
  announcement_->begin(shared_from_this(), [this](Collective::Done done) {
    options_.collective->all_gather(std::as_bytes(std::span(&header_, 1)),
                                    std::as_writable_bytes(std::span(headers_)),
                                    std::move(done));
  });
}

/// The part of this process in the samples of all, which are at the same call.
float Exchange::weight(const Call& call,
                       const std::function<bool()>& gives_up) {
  if (size_ == 1) return 1;
  wait(
      *announcement_, call.name,
      [] { return std::string("the ") + kAnnouncement; }, gives_up);
  double all = 0;
  for (std::size_t rank = 0; rank < headers_.size(); ++rank) {
    require_same(headers_[rank], static_cast<int>(rank), call.name);
    all += static_cast<double>(headers_[rank].samples);
  }
  return static_cast<float>(static_cast<double>(call.samples) / all);
}

void Exchange::require_same(const Header& other, int rank,
                            const char* call) const {
  const auto text = [](const Header& h) {
    return std::string(name_of(h.segment)) + ", call " +
           std::to_string(h.number);
  };
  if (other.number != header_.number || other.segment != header_.segment) {
    throw StateError(ErrorInfo{
        .op = call,
        .node = rank_text(rank),
        .what = "the processes are at different calls",
        .expected = text(header_) + ", as " + rank_text(rank_),
        .got = text(other),
        .hint = "All make the same calls in the same order. Did one cancel an "
                "execution, or run out of data?"});
  }
  if (other.rate == header_.rate) return;
  throw StateError(ErrorInfo{
      .op = call,
      .node = rank_text(rank),
      .what = "the processes have different learning rates",
      .expected = format_value(header_.rate) + ", as " + rank_text(rank_),
      .got = format_value(other.rate),
      .hint = "Set the same on all ranks."});
}

void Exchange::send(const ExchangePlan& plan, int index) {
  const BoundBucket& bucket = plan.buckets[index];
  for (std::span<float> gap : bucket.gaps) std::ranges::fill(gap, 0.0f);
  if (plan.weighs_sums) {
    for (float& value : bucket.values) value *= weight_;
  }
  if (options_.on_bucket) {
    options_.on_bucket({.index = index,
                        .values = bucket.values,
                        .parameters = bucket.parameters});
  }
  if (size_ == 1) return;
  bucket.sum->begin(bucket.memory, [&](Collective::Done done) {
    options_.collective->all_reduce(bucket.values, std::move(done));
  });
}

template <class What>
void Exchange::wait(Operation& operation, const char* call, const What& what,
                    const std::function<bool()>& gives_up) {
  const Clock::time_point deadline = after(options_.timeout);
  const auto is_late = [&] { return Clock::now() >= deadline; };
  const auto node = [&] { return rank_text(rank_) + ", " + what(); };
  std::exception_ptr interrupt;
  const auto stops = [&] {
    try {
      return is_late() || gives_up();
    } catch (...) {
      interrupt = std::current_exception();
      return true;
    }
  };
  try {
    if (operation.wait(stops)) return;
  } catch (const Error& error) {
    throw DeviceError(ErrorInfo{.op = call,
                                .node = node(),
                                .what = "the exchange failed",
                                .got = error.what()});
  }
  if (interrupt) std::rethrow_exception(interrupt);
  if (!is_late()) {
    throw CancelledError(
        ErrorInfo{.op = call,
                  .node = node(),
                  .what = "the wait for other processes was interrupted"});
  }
  throw DeviceError(ErrorInfo{
      .op = call,
      .node = node(),
      .what = "the other processes did not come",
      .expected = "an end within " + std::to_string(options_.timeout) + " s",
      .hint = "Has one of them ended? Start all again from a checkpoint; a "
              "larger collective_timeout waits longer."});
}

template <class F>
void Exchange::complete(const std::string& what,
                        std::shared_ptr<const void> memory, F&& start) {
  require_whole(kCompile);
  try {
    other_->begin(std::move(memory), std::forward<F>(start));
    wait(
        *other_, kCompile, [&] { return what; },
        [] {
          check_interrupt();
          return false;
        });
  } catch (...) {
    fail(std::current_exception());
    throw;
  }
}

void Exchange::broadcast(std::span<std::byte> bytes) {
  if (size_ == 1) return;
  // What a transport writes after the deadline must not be the caller's.
  const auto copy =
      std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  complete("the state of rank 0", copy, [&](Collective::Done done) {
    options_.collective->broadcast(*copy, 0, std::move(done));
  });
  std::ranges::copy(*copy, bytes.begin());
}

std::shared_ptr<std::byte> Exchange::allocate_shared(std::size_t bytes) {
  const auto memory = std::make_shared<std::shared_ptr<std::byte>>();
  complete("shared memory", memory, [&](Collective::Done done) {
    options_.collective->allocate_shared(bytes, *memory, std::move(done));
  });
  return std::move(*memory);
}

std::vector<std::string> Exchange::gather(const std::string& text,
                                          const std::string& what) {
  struct Parts {
    std::vector<std::byte> own, all;
  };
  const auto exchanged = [&](std::span<const std::byte> bytes) {
    const auto parts = std::make_shared<Parts>();
    parts->own.assign(bytes.begin(), bytes.end());
    parts->all.resize(bytes.size() * static_cast<std::size_t>(size_));
    complete(what, parts, [&](Collective::Done done) {
      options_.collective->all_gather(parts->own, parts->all, std::move(done));
    });
    return std::move(parts->all);
  };
  const std::uint64_t size = text.size();
  const auto size_bytes = exchanged(std::as_bytes(std::span(&size, 1)));
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size_));
  std::memcpy(sizes.data(), size_bytes.data(), size_bytes.size());
  const std::uint64_t longest = std::ranges::max(sizes);
  if (longest == 0) return std::vector<std::string>(sizes.size());
  std::string padded = text;
  padded.resize(longest);
  const auto all = exchanged(std::as_bytes(std::span(padded)));
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    const auto* const begin =
        reinterpret_cast<const char*>(all.data() + rank * longest);
    texts.emplace_back(begin, sizes[rank]);
  }
  return texts;
}

void Exchange::agree(std::span<const Fact> facts) {
  if (size_ == 1) return;
  std::string hashes;
  for (const Fact& fact : facts) hashes += hash_of(fact.text);
  const auto of_ranks = gather(hashes, "what the ranks compile");
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const auto part = [&](const std::string& text) {
      return text.substr(i * kHashSize, kHashSize);
    };
    const auto other = std::ranges::find_if(of_ranks, [&](const auto& text) {
      return part(text) != part(of_ranks.front());
    });
    if (other == of_ranks.end()) continue;
    const auto rank = other - of_ranks.begin();
    const auto texts = gather(facts[i].text, facts[i].name);
    report_difference(facts[i], static_cast<int>(rank), texts[rank], texts[0]);
  }
}

void Exchange::require_whole(const char* call) const {
  if (failure_.empty()) return;
  throw StateError(
      ErrorInfo{.op = call,
                .node = rank_text(rank_),
                .what = "the exchange with the other processes has failed",
                .got = failure_,
                .hint = "Start all processes again from a checkpoint."});
}

void Exchange::fail(const std::exception_ptr& error) noexcept {
  if (!options_.collective || !failure_.empty()) return;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    failure_ = e.what();
  } catch (...) {
    failure_ = "an unknown error";
  }
  // The others may wait for this process: they should know soon.
  options_.collective->abort();
}

}  // namespace traingraph
