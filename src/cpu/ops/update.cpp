// SPDX-License-Identifier: MIT
// Optimizer updates; the loops are in update_loops.h. What changes between
// steps comes from the hyperparameters tensor.
#include "base/visit_type.h"
#include "cpu/lowering.h"
#include "cpu/ops/update_loops.h"
#include "cpu/ops/update_row_sparse.h"
#include "cpu/typed_address.h"
#include "formulas/loss_scale.h"
#include "formulas/run_time_scalars.h"
#include "lowering/update_table.h"
#include "traingraph/half_types.h"

namespace traingraph::cpu {
namespace {

template <class T>
float* upcast_from(const T* stored, std::int64_t count, float* tile) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) tile[i] = stored[i];
  return tile;
}

template <class T>
void store_to(T* stored, std::int64_t count, const float* tile) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) stored[i] = tile[i];
}

/// Where an update finds its gradient.
struct GradientArg {
  int arg = -1;
  std::int64_t begin = 0;  // of the range that it takes of the argument
  RowSparseFactory bind_rows = {};  // instead of an argument: of an embedding
};

/// `visits_all`: the update changes elements without a gradient, too.
GradientArg read_gradient(UnitBuilder& update, bool visits_all) {
  auto producer = update.fusion().join_producer(1);
  if (!producer) return {.arg = update.read(1)};
  if (producer->node().op->kind == OpKind::EmbeddingGradient) {
    return {.bind_rows =
                add_row_sparse_gradient(update, *producer, visits_all)};
  }
  return {.arg = producer->read(0),
          .begin = producer->attrs<SliceAttrs>().start[0]};
}

template <class Step>
inline constexpr bool kIsPlain =
    std::is_same_v<Step, formulas::SgdStep<FixedOptions<0>>>;

/// Does it leave an element whose gradient is 0 as it is, bit by bit?
bool keeps_zeros(const formulas::UpdateParams& params) {
  const bool may_clip_zero = (params.options & formulas::kClipsByValue) != 0 &&
                             !(params.clip_min <= 0 && params.clip_max >= 0);
  // A negative factor would make -0 of 0, and 0 of a parameter of -0.
  return !may_clip_zero && params.rescale >= 0;
}

template <class Step>
void lower_update_by(UnitBuilder& unit, const formulas::UpdateParams& params) {
  const std::int64_t n = unit.input_shape(0).num_elements();
  const DataType type = unit.input_desc(0).data_type;
  const auto inputs = update_inputs(unit.node());
  const bool is_scaled = (params.options & formulas::kHasScale) != 0;
  bool keeps_rows = false;
  if constexpr (kIsPlain<Step>) {
    keeps_rows = type == DataType::Float32 && !is_scaled && keeps_zeros(params);
  }
  const int p = unit.mutate(0);
  const GradientArg gradient = read_gradient(unit, !keeps_rows);
  std::array<int, formulas::kMaxUpdateSlots> slots{};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const bool is_used = (kSlotsOf<Step> >> i & 1) != 0;
    slots[i] = is_used ? unit.mutate(inputs[kUpdateSlots + i]) : -1;
  }
  const int now = unit.read(inputs[kUpdateHyperparameters]);
  const int scale = is_scaled ? unit.read(inputs[kUpdateScale]) : -1;
  emit(unit, [=](BindContext& at) -> BoundKernel {
    const bool is_sparse = gradient.bind_rows != nullptr;
    Slots slots_at{};
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] >= 0) slots_at[i] = floats(at[slots[i]]);
    }
    return [=, p = StoredParameter{at[p], type},
            dense =
                is_sparse ? nullptr : floats(at[gradient.arg]) + gradient.begin,
            find_rows = is_sparse ? gradient.bind_rows(at) : nullptr,
            now = typed<formulas::Hyperparameters>(at[now]),
            scale = is_scaled ? floats(at[scale]) : nullptr] {
      if (scale && *scale < 0) return;
      const Step step(params, *now, scale ? *scale : 1.0f, {});
      if (!find_rows) return update_all(step, n, p, {dense}, slots_at);
      const RowSparseGradient rows = find_rows();
      if constexpr (kIsPlain<Step>) {
        if (keeps_rows) return update_rows(step, rows, floats(p.at));
      }
      update_all(step, n, p, {nullptr, &rows}, slots_at);
    };
  });
}

template <template <class> class Step>
void lower_update(UnitBuilder& unit) {
  const formulas::UpdateParams params = update_params(unit.node());
  with_step<Step>(params.options, [&]<class Fixed>(std::type_identity<Fixed>) {
    lower_update_by<Fixed>(unit, params);
  });
}

/// Adam's, for a step that counts only updates which were not left out.
float corrected_rate(const LossScaleAttrs& attrs,
                     const formulas::Hyperparameters& now,
                     float skipped_steps) {
  const bool is_corrected = attrs.beta1 != 0 || attrs.beta2 != 0;
  if (!is_corrected || skipped_steps == 0) return now.corrected_rate;
  return static_cast<float>(
      formulas::corrected_rate(now.learning_rate, attrs.beta1, attrs.beta2,
                               std::max(1.0f, now.time_step - skipped_steps)));
}

}  // namespace

float* upcast(const StoredParameter& p, std::int64_t first, std::int64_t last,
              float* tile) {
  if (p.type == DataType::Float32) return floats(p.at) + first;
  return visit_float_type(p.type, [&]<class T>(T) {
    return upcast_from(typed<T>(p.at) + first, last - first, tile);
  });
}

void store(const StoredParameter& p, std::int64_t first, std::int64_t last,
           const float* tile) {
  visit_float_type(p.type, [&]<class T>(T) {
    store_to(typed<T>(p.at) + first, last - first, tile);
  });
}

#define UPDATE(Op, name, Step) \
  void lower_##name(UnitBuilder& unit) { lower_update<formulas::Step>(unit); }
TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE

namespace {

/// What a gradient adds to the square of a norm.
struct NormPart {
  const float* square;
  const float* elements;  // may be null
  std::int64_t size;

  /// Added up again where float32 could not hold it.
  double squared() const {
    if (!std::isinf(*square) || elements == nullptr) return *square;
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      sum += static_cast<double>(elements[i]) * elements[i];
    }
    return sum;
  }
};

}  // namespace

void lower_clip_scale(UnitBuilder& unit) {
  const auto attrs = unit.attrs<ClipScaleAttrs>();
  const int num_inputs = static_cast<int>(unit.node().inputs.size());
  for (int i = 0; i < num_inputs; ++i) unit.read(i);
  const bool has_gradients = unit.input_shape(num_inputs - 1).rank() == 2;
  const int num_squares = has_gradients ? (num_inputs - 1) / 2 : num_inputs - 1;
  std::vector<std::int64_t> sizes(num_squares, 0);  // of gradients
  for (int i = 0; has_gradients && i < num_squares; ++i) {
    sizes[i] = unit.input_shape(1 + num_squares + i).num_elements();
  }
  const int result = unit.write(0);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    const auto* now = typed<formulas::Hyperparameters>(at[0]);
    std::vector<NormPart> parts;
    for (int i = 0; i < num_squares; ++i) {
      const bool is_known = sizes[i] > 0;
      parts.push_back(
          {.square = floats(at[1 + i]),
           .elements = is_known ? floats(at[1 + num_squares + i]) : nullptr,
           .size = sizes[i]});
    }
    return [=, scale = floats(at[result])] {
      double sum = 0;
      for (const NormPart& part : parts) sum += part.squared();
      const double norm =
          attrs.custom_norm != 0 ? attrs.custom_norm : std::sqrt(sum);
      const bool is_within = norm <= attrs.maximum_norm;  // NaN is not
      const bool clips = now->clips != 0 && !is_within;
      *scale = clips ? static_cast<float>(attrs.maximum_norm / norm) : 1.0f;
    };
  });
}

void lower_update_loss_scale(UnitBuilder& unit) {
  const auto attrs = unit.attrs<LossScaleAttrs>();
  const int num_inputs = static_cast<int>(unit.node().inputs.size());
  unit.mutate(0);
  for (int i = 1; i < num_inputs; ++i) unit.read(i);
  const int result = unit.write(0), corrected = unit.write(1);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    std::vector<const float*> squares;
    for (int i = 2; i < num_inputs; ++i) squares.push_back(floats(at[i]));
    return [=, state = typed<formulas::LossScale>(at[0]),
            given = typed<formulas::Hyperparameters>(at[1]),
            scale = floats(at[result]),
            own = typed<formulas::Hyperparameters>(at[corrected])] {
      const bool is_finite = std::ranges::all_of(
          squares, [](const float* square) { return std::isfinite(*square); });
      *scale = is_finite ? 1.0f : -1.0f;
      *state = formulas::next_loss_scale(*state, is_finite,
                                         static_cast<float>(attrs.interval));
      *own = *given;
      own->corrected_rate = corrected_rate(attrs, *given, state->skipped_steps);
    };
  });
}

void lower_accumulate_gradient(UnitBuilder& unit) {
  const std::int64_t n = unit.input_shape(0).num_elements();
  const int sum = unit.mutate(0), gradient = unit.read(1);
  const int factors = unit.read(2);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [=, sum = floats(at[sum]), gradient = floats(at[gradient]),
            factors = typed<formulas::AccumulationFactors>(at[factors])] {
      accumulate(*factors, sum, gradient, n);
    };
  });
}

}  // namespace traingraph::cpu
