// SPDX-License-Identifier: MIT
// A collective that hands everything on to another one: tests derive from it,
// and override what they change.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "traingraph/collective.h"

namespace traingraph::testing {

class Forwarding : public Collective {
 public:
  explicit Forwarding(std::shared_ptr<Collective> rank)
      : rank_(std::move(rank)) {}

  std::string description() const override { return rank_->description(); }
  int rank() const override { return rank_->rank(); }
  int size() const override { return rank_->size(); }
  void all_reduce(std::span<float> values, Done done) override {
    rank_->all_reduce(values, std::move(done));
  }
  void all_gather(std::span<const std::byte> part, std::span<std::byte> all,
                  Done done) override {
    rank_->all_gather(part, all, std::move(done));
  }
  void broadcast(std::span<std::byte> bytes, int root, Done done) override {
    rank_->broadcast(bytes, root, std::move(done));
  }
  void abort() noexcept override { rank_->abort(); }

 private:
  const std::shared_ptr<Collective> rank_;
};

}  // namespace traingraph::testing
