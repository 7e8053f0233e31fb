// SPDX-License-Identifier: MIT
// Gather and scatter, folded to rank 3 around their axis. Sums of sources that
// meet are in the GPU's order: bits may differ from run to run.
#import "metal/fold.h"
#import "metal/ops/gather_indices.h"
#import "metal/ops/layout_moves.h"

namespace traingraph::metal {
namespace {

constexpr int kIndices = 1, kMiddle = 1;

/// Tensors as (outer, axis, inner): `from` is what indices name positions of,
/// `named` what they name. Indices are broadcast to `named`.
struct Folded {
  Shape from, named, indices;

  Folded(const Shape& source, const Shape& given, std::int64_t axis)
      : from(around_axis(source, static_cast<int>(axis))), named(from) {
    const bool by_slice = given.rank() == 1 && source.rank() > 1;
    named[kMiddle] = given[by_slice ? 0 : static_cast<int>(axis)];
    indices = by_slice ? Shape{1, given[0], 1} : named;
  }
};

Positions positions(GraphBuilder& b, const Folded& folded) {
  return positions(b, kIndices, folded.indices, folded.from[kMiddle]);
}

T broadcast_positions(GraphBuilder& b, const Folded& folded, T at) {
  return folded.indices == folded.named ? at : b.broadcast(at, folded.named);
}

T gather_along(GraphBuilder& b, T from, T at) {
  const bool repeats = is_narrow(b, from);
  if (repeats) {
    from = repeated_column(b, from);
    at = repeated_column(b, at);
  }
  T named = [b.graph() gatherAlongAxis:kMiddle
                     withUpdatesTensor:from
                         indicesTensor:at
                                  name:b.name()];
  return repeats ? first_column(b, named) : named;
}

T scatter_along(GraphBuilder& b, T data, T source, T at,
                MPSGraphScatterMode mode) {
  return [b.graph() scatterAlongAxis:kMiddle
                      withDataTensor:data
                       updatesTensor:source
                       indicesTensor:at
                                mode:mode
                                name:b.name()];
}

T gather(GraphBuilder& b, const Folded& folded, T from, T at) {
  const bool is_table = folded.from[0] == 1 && folded.indices != folded.named;
  if (!is_table) {
    return gather_along(b, from, broadcast_positions(b, folded, at));
  }
  const Shape rows{folded.from[1], folded.from[2]};
  T named = gather_rows(b, b.reshape(from, rows),
                        b.reshape(at, {folded.named[kMiddle]}));
  return b.reshape(named, folded.named);
}

/// For each element of (outer, size, inner) the last place, along the axis of
/// what is named, whose index names it; -1: none. An extremum does not depend
/// on the GPU's order, as which of several values is written last would.
T last_places(GraphBuilder& b, const Folded& folded, T at) {
  T none = [b.graph() constantWithScalar:-1
                                   shape:ns_shape(folded.from)
                                dataType:MPSDataTypeInt32];
  T places = [b.graph() coordinateAlongAxis:kMiddle
                                  withShape:ns_shape(folded.named)
                                       name:b.name()];
  return scatter_along(b, none, places, at, MPSGraphScatterModeMax);
}

T scatter_last(GraphBuilder& b, const Folded& folded, T data, T source, T at) {
  T last = last_places(b, folded, at);
  T is_named = b.at_least(last, 0.0);
  T place = b.select(is_named, last, 0.0);
  return b.select(is_named, gather_along(b, source, place), data);
}

}  // namespace

void lower_gather(GraphBuilder& b) {
  const Folded folded(b.input_shape(0), b.input_shape(kIndices),
                      b.attrs<AxisAttrs>().axis);
  const Positions p = positions(b, folded);
  T named = gather(b, folded, b.reshape(moved_input(b, 0), folded.from), p.at);
  set_moved(b, nan_outside(b, named, p.is_inside));
}

void lower_scatter(GraphBuilder& b) {
  enum { kSource, kData = 2 };
  const auto& attrs = b.attrs<ScatterAttrs>();
  const Folded folded(b.input_shape(kData), b.input_shape(kIndices),
                      attrs.axis);
  const Positions p = positions(b, folded);
  T at = broadcast_positions(b, folded, p.at);
  T source = b.reshape(moved_input(b, kSource), folded.named);
  T data = b.reshape(moved_input(b, kData), folded.from);
  T y = attrs.reduction_type == ReductionType::Sum
            ? scatter_along(b, data, source, at, MPSGraphScatterModeAdd)
            : scatter_last(b, folded, data, source, at);
  set_moved(b, nan_unless_all(b, y, p.is_inside, folded.indices));
}

void lower_scatter_gradient(GraphBuilder& b) {
  const Folded folded(b.input_shape(0), b.input_shape(kIndices),
                      b.attrs<AxisAttrs>().axis);
  const Positions p = positions(b, folded);
  T at = broadcast_positions(b, folded, p.at);
  T places = [b.graph() coordinateAlongAxis:kMiddle
                                  withShape:ns_shape(folded.named)
                                       name:b.name()];
  T is_last = b.equal(gather_along(b, last_places(b, folded, at), at), places);
  T gradient = gather_along(b, b.reshape(b.input(0), folded.from), at);
  T dsource = b.select(is_last, gradient, 0.0);
  dsource = nan_unless_all(b, dsource, p.is_inside, folded.indices);
  b.set(b.reshape(dsource, b.result_shape()));
}

}  // namespace traingraph::metal
