// SPDX-License-Identifier: MIT
// What data-parallel training asks of compile(): its options are checked, and
// become an exchange and options of the compiler.
#pragma once

#include <memory>

#include "compiler/compiler_options.h"
#include "compiler/merge.h"
#include "runtime/exchange/exchange.h"
#include "traingraph/device.h"

namespace traingraph {

/// Throws InvalidArgument for values that mean nothing, whether or not there
/// are other processes, and UnsupportedError where `device` has no exchange.
void require_data_parallel(const Device& device, const DataParallel& options);

/// Null when there is nothing to exchange.
std::shared_ptr<Exchange> make_exchange(const DataParallel& options);

/// All but the order of gradients.
CollectiveOptions collective_options(const DataParallel& options);

/// Leaves in `merged` the optimizer of this process's shard, where that is
/// asked for. `exchange` may be null.
void take_shard(const Exchange* exchange, const Target& target, Merged& merged);

}  // namespace traingraph
