// SPDX-License-Identifier: MIT
// Paths and metadata of files.
#pragma once

#include <filesystem>
#include <optional>

#include "signature.h"
#include "traingraph/checkpoint.h"

namespace traingraph::python {

using Path = Named<"str | os.PathLike[str]">;
using MetadataMapping = Named<"collections.abc.Mapping[str, str]">;

/// Throws CallError, naming `call`.
std::filesystem::path to_path(const Path& path, const char* call);
/// Throws InvalidArgument, naming `call`, for what is not text by text.
Metadata to_metadata(const char* call,
                     const std::optional<MetadataMapping>& metadata);

}  // namespace traingraph::python
