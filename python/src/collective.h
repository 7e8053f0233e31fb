// SPDX-License-Identifier: MIT
// Collectives as arguments: a traingraph.Collective, a communicator of mpi4py,
// or any object with the methods.
#pragma once

#include <memory>

#include "bindings.h"
#include "signature.h"
#include "traingraph/collective.h"

namespace traingraph::python {

using CollectiveLike = Named<
    "traingraph._core.Collective | traingraph._typing.Transport | "
    "traingraph._typing.Communicator">;

/// Throws InvalidArgument that names a method which the object lacks.
std::shared_ptr<Collective> collective_of(const py::object& object);

/// Operations of an object of Python, which block.
std::shared_ptr<Collective> python_collective(const py::object& object);

}  // namespace traingraph::python
