// SPDX-License-Identifier: MIT
#include "runtime/exchange/agreement.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/collective/rank_text.h"
#include "runtime/device/device_wait.h"
#include "runtime/exchange/call_header.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::size_t kBefore = 40, kAfter = 60;  // shown around a difference

std::string around(const std::string& text, std::size_t at) {
  if (at >= text.size()) return "the end";
  std::size_t begin = at > kBefore ? at - kBefore : 0;
  const std::size_t line = text.rfind('\n', at == 0 ? 0 : at - 1);
  if (line != std::string::npos && line >= begin) begin = line + 1;
  const std::size_t end =
      std::min({text.size(), at + kAfter, text.find('\n', at)});
  return text.substr(begin, end - begin);
}

/// Throws InvalidArgument with the first difference from rank 0.
[[noreturn]] void report_difference(const char* call, const Fact& fact,
                                    std::size_t rank, const std::string& text,
                                    const std::string& text_of_first) {
  const auto [a, b] = std::ranges::mismatch(text, text_of_first);
  const auto at = static_cast<std::size_t>(a - text.begin());
  throw InvalidArgument(
      ErrorInfo{.op = call,
                .node = rank_text(rank),
                .what = fact.name + " differ between the processes",
                .expected = around(text_of_first, at) + ", as rank 0 has",
                .got = around(text, at),
                .hint = "All processes build and compile the same graph."});
}

}  // namespace

/// FNV-1a in 64 bits, in hexadecimal digits.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::string digits(kHashSize, '0');
  for (char& digit : digits) {
    digit = "0123456789abcdef"[hash & 15];
    hash >>= 4;
  }
  return digits;
}

Agreement::Agreement(Ranks& ranks, const char* call)
    : ranks_(ranks), call_(call), operation_(std::make_shared<Operation>()) {}

/// What it throws ends the others, too.
template <class F>
void Agreement::run(F&& f) {
  ranks_.require_whole(call_);
  try {
    std::forward<F>(f)([] {
      check_interrupt();
      return false;
    });
  } catch (...) {
    ranks_.fail(std::current_exception());
    throw;
  }
}

template <class F>
void Agreement::complete(const std::string& what,
                         std::shared_ptr<const void> memory, F&& start) {
  run([&](const auto& gives_up) {
    operation_->begin(std::move(memory), std::forward<F>(start));
    ranks_.wait(*operation_, call_, [&] { return what; }, gives_up);
  });
}

/// As an execution does, which another rank may be at.
void Agreement::come() {
  struct Headers {
    CallHeader own{.segment = kNoSegment};
    std::vector<CallHeader> all;
  };
  const auto headers = std::make_shared<Headers>();
  std::strncpy(headers->own.call, call_, sizeof(headers->own.call) - 1);
  headers->all.resize(static_cast<std::size_t>(ranks_.size()));
  complete("all ranks", headers, [&](Collective::Done done) {
    ranks_.collective().all_gather(
        std::as_bytes(std::span(&headers->own, 1)),
        std::as_writable_bytes(std::span(headers->all)), std::move(done));
  });
  run([&](const auto&) {
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      require_same({headers->own, headers->all[static_cast<std::size_t>(rank)],
                    ranks_.rank(), rank},
                   {}, call_);
    }
  });
}

void Agreement::broadcast(std::span<std::byte> bytes, int root) {
  if (ranks_.size() == 1) return;
  // What a transport writes after the deadline must not be the caller's.
  const auto copy =
      std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  complete("the state of " + rank_text(root), copy, [&](Collective::Done done) {
    ranks_.collective().broadcast(*copy, root, std::move(done));
  });
  std::ranges::copy(*copy, bytes.begin());
}

std::vector<std::string> Agreement::gather(const std::string& text,
                                           const std::string& what) {
  if (ranks_.size() == 1) return {text};
  struct Parts {
    std::vector<std::byte> own, all;
  };
  const auto exchanged = [&](std::span<const std::byte> bytes) {
    const auto parts = std::make_shared<Parts>();
    parts->own.assign(bytes.begin(), bytes.end());
    parts->all.resize(bytes.size() * static_cast<std::size_t>(ranks_.size()));
    complete(what, parts, [&](Collective::Done done) {
      ranks_.collective().all_gather(parts->own, parts->all, std::move(done));
    });
    return std::move(parts->all);
  };
  const std::uint64_t size = text.size();
  const auto size_bytes = exchanged(std::as_bytes(std::span(&size, 1)));
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(ranks_.size()));
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

void Agreement::agree(std::span<const Fact> facts) {
  if (ranks_.size() == 1) return;
  std::string hashes;
  for (const Fact& fact : facts) hashes += hash_of(fact.text);
  const auto of_ranks = gather(hashes, "what the ranks have");
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const auto part = [&](const std::string& text) {
      return text.substr(i * kHashSize, kHashSize);
    };
    const auto other = std::ranges::find_if(of_ranks, [&](const auto& text) {
      return part(text) != part(of_ranks.front());
    });
    if (other == of_ranks.end()) continue;
    const auto rank = static_cast<std::size_t>(other - of_ranks.begin());
    const auto texts = gather(facts[i].text, facts[i].name);
    report_difference(call_, facts[i], rank, texts[rank], texts[0]);
  }
}

}  // namespace traingraph
