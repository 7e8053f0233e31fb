// SPDX-License-Identifier: MIT
#include "traingraph/layer.h"

#include <atomic>
#include <utility>

namespace traingraph {
namespace {

std::atomic<std::uint64_t> g_next_layer_id{0};

}  // namespace

Layer::Layer(std::string label)
    : id_(g_next_layer_id++), label_(std::move(label)) {}

}  // namespace traingraph
