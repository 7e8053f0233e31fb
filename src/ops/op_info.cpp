// SPDX-License-Identifier: MIT
#include "traingraph/op_info.h"

#include <array>

#include "ops/op_docs.h"
#include "ops/registry.h"

namespace traingraph {
namespace {

constexpr std::array kDocuments{
#define OP(Kind, name, Attrs) &document_##name,
#include "traingraph/ops.inc"
#undef OP
};

}  // namespace

std::vector<OpInfo> op_infos() {
  std::vector<OpInfo> infos;
  for (const OpDef& def : op_defs()) {
    OpInfo info{.kind = def.kind,
                .name = def.name,
                .doc = kDocuments.at(infos.size())(),
                .inputs = {},
                .results = {def.results.begin(), def.results.end()},
                .default_attributes = def.default_attrs,
                .attributes = document_attributes(def.default_attrs)};
    for (const InputDef& input : def.inputs) {
      info.inputs.push_back({.name = input.name,
                             .types = input.types,
                             .is_optional = input.is_optional,
                             .is_variadic = input.is_variadic,
                             .is_mutated = input.is_mutated});
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace traingraph
