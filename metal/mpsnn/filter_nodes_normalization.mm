// SPDX-License-Identifier: MIT
// Normalizations with statistics of the batch, of images or of groups.
#import "metal/mpsnn/filter_nodes.h"

namespace traingraph::metal {

MPSNNFilterNode* make_node(const FilterSite& site, const NormalizationFilter&) {
  refuse_filter(site);
}

}  // namespace traingraph::metal
