// SPDX-License-Identifier: MIT
// What a measured run did for other processes, and where that lies in time.
#pragma once

#include "runtime/exchange/host_units.h"
#include "traingraph/insight.h"

namespace traingraph {

/// Adds buckets and exchange of a part of a run, whose first unit is the
/// `first_unit`-th. There are equally many spans for each run of the part.
void add_exchange(const HostUnits& part, const HostTimes& times, int first_unit,
                  Profile& profile);

/// One after the other: units, and what the device does for the exchange
/// before each. Transfers begin where they are sent.
void set_starts(Profile& profile);

}  // namespace traingraph
