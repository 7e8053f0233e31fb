// SPDX-License-Identifier: MIT
// Rendezvous: do all processes train the same graph, from the same state? While
// nothing is in flight.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/exchange/process_group.h"

namespace traingraph {

/// Something that must be the same in all processes, as text.
struct ConfigurationItem {
  std::string name;
  std::string text;
};

/// Of kFingerprintSize bytes, the same on every machine.
inline constexpr std::size_t kFingerprintSize = 16;
std::string fingerprint_of(const std::string& text);

class Rendezvous {
 public:
  /// Of a call, which errors name.
  Rendezvous(ProcessGroup& group, const char* call);

  /// Are all at the same call? Throws StateError.
  void arrive();
  /// Throws the same InvalidArgument in all processes, naming the first item in
  /// which one differs from rank 0.
  void compare(std::span<const ConfigurationItem> configuration);
  /// All get the bytes of rank `root`.
  void broadcast(std::span<std::byte> bytes, int root = 0);
  /// All get the texts of all, by rank.
  std::vector<std::string> gather(const std::string& text,
                                  const std::string& what);

 private:
  /// Begins and waits. `what`: names the operation when something is wrong.
  template <class F>
  void run(F&& f);
  template <class F>
  void complete(const std::string& what, std::shared_ptr<const void> memory,
                F&& start);

  ProcessGroup& group_;
  const char* call_;
  std::shared_ptr<Operation> operation_;
};

}  // namespace traingraph
