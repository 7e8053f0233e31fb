// SPDX-License-Identifier: MIT
#include "runtime/exchange/rendezvous.h"

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
[[noreturn]] void report_difference(const char* call,
                                    const ConfigurationItem& item,
                                    std::size_t rank, const std::string& text,
                                    const std::string& text_of_first) {
  const auto [a, b] = std::ranges::mismatch(text, text_of_first);
  const auto at = static_cast<std::size_t>(a - text.begin());
  throw InvalidArgument(
      ErrorInfo{.op = call,
                .node = rank_text(rank),
                .what = item.name + " differ between the processes",
                .expected = around(text_of_first, at) + ", as rank 0 has",
                .got = around(text, at),
                .hint = "All processes build and compile the same graph."});
}

}  // namespace

/// FNV-1a in 64 bits, in hexadecimal digits.
std::string fingerprint_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::string digits(kFingerprintSize, '0');
  for (char& digit : digits) {
    digit = "0123456789abcdef"[hash & 15];
    hash >>= 4;
  }
  return digits;
}

Rendezvous::Rendezvous(ProcessGroup& group, const char* call)
    : group_(group), call_(call), operation_(std::make_shared<Operation>()) {}

/// What it throws ends the others, too.
template <class F>
void Rendezvous::run(F&& f) {
  group_.require_healthy(call_);
  try {
    std::forward<F>(f)([] {
      check_interrupt();
      return false;
    });
  } catch (...) {
    group_.fail(std::current_exception());
    throw;
  }
}

template <class F>
void Rendezvous::complete(const std::string& what,
                          std::shared_ptr<const void> memory, F&& start) {
  run([&](const auto& is_aborted) {
    operation_->begin(std::move(memory), std::forward<F>(start));
    group_.wait(*operation_, call_, [&] { return what; }, is_aborted);
  });
}

/// As an execution does, which another rank may be at.
void Rendezvous::arrive() {
  struct Headers {
    CallHeader own{.entry_point = kNoEntryPoint};
    std::vector<CallHeader> all;
  };
  const auto headers = std::make_shared<Headers>();
  std::strncpy(headers->own.call, call_, sizeof(headers->own.call) - 1);
  headers->all.resize(static_cast<std::size_t>(group_.size()));
  complete("all ranks", headers, [&](Collective::Done done) {
    group_.collective().all_gather(
        std::as_bytes(std::span(&headers->own, 1)),
        std::as_writable_bytes(std::span(headers->all)), std::move(done));
  });
  run([&](const auto&) {
    for (int rank = 0; rank < group_.size(); ++rank) {
      require_same({headers->own, headers->all[static_cast<std::size_t>(rank)],
                    group_.rank(), rank},
                   {}, call_);
    }
  });
}

void Rendezvous::broadcast(std::span<std::byte> bytes, int root) {
  if (group_.size() == 1) return;
  // What a transport writes after the deadline must not be the caller's.
  const auto copy =
      std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  complete("the state of " + rank_text(root), copy, [&](Collective::Done done) {
    group_.collective().broadcast(*copy, root, std::move(done));
  });
  std::ranges::copy(*copy, bytes.begin());
}

std::vector<std::string> Rendezvous::gather(const std::string& text,
                                            const std::string& what) {
  if (group_.size() == 1) return {text};
  struct Parts {
    std::vector<std::byte> own, all;
  };
  const auto exchanged = [&](std::span<const std::byte> bytes) {
    const auto parts = std::make_shared<Parts>();
    parts->own.assign(bytes.begin(), bytes.end());
    parts->all.resize(bytes.size() * static_cast<std::size_t>(group_.size()));
    complete(what, parts, [&](Collective::Done done) {
      group_.collective().all_gather(parts->own, parts->all, std::move(done));
    });
    return std::move(parts->all);
  };
  const std::uint64_t size = text.size();
  const auto size_bytes = exchanged(std::as_bytes(std::span(&size, 1)));
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(group_.size()));
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

void Rendezvous::compare(std::span<const ConfigurationItem> configuration) {
  if (group_.size() == 1) return;
  std::string hashes;
  for (const ConfigurationItem& item : configuration) {
    hashes += fingerprint_of(item.text);
  }
  const auto of_ranks = gather(hashes, "what the ranks have");
  for (std::size_t i = 0; i < configuration.size(); ++i) {
    const auto part = [&](const std::string& text) {
      return text.substr(i * kFingerprintSize, kFingerprintSize);
    };
    const auto other = std::ranges::find_if(of_ranks, [&](const auto& text) {
      return part(text) != part(of_ranks.front());
    });
    if (other == of_ranks.end()) continue;
    const auto rank = static_cast<std::size_t>(other - of_ranks.begin());
    const auto texts = gather(configuration[i].text, configuration[i].name);
    report_difference(call_, configuration[i], rank, texts[rank], texts[0]);
  }
}

}  // namespace traingraph
