// SPDX-License-Identifier: MIT
// Attention: loops of ours. oneDNN 3.2 would need a primitive for each product
// and the scores of all heads in memory.
#include <atomic>

#include "cpu/float_types.h"
#include "cpu/ops/attention_gradient_loops.h"
#include "cpu/ops/attention_loops.h"
#include "cpu/parallel.h"
#include "cpu/primitive_threads.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

/// Where the two ops have what both read.
struct InputNumbers {
  int query, key, value, key_mask, attention_mask, random_state;
};

/// Arguments of what both ops read; -1: there is none.
struct SourceArgs {
  int query, key, value, key_mask, attention_mask, random_state;
  bool is_hard_mask, has_mask_per_head;
  AttentionAttrs attrs;

  SourceArgs(UnitBuilder& unit, const InputNumbers& in)
      : query(unit.read(in.query)),
        key(unit.read(in.key)),
        value(unit.read(in.value)),
        key_mask(read(unit, in.key_mask)),
        attention_mask(read(unit, in.attention_mask)),
        random_state(-1),
        is_hard_mask(attention_mask >= 0 &&
                     unit.input_desc(in.attention_mask).data_type ==
                         DataType::Boolean),
        has_mask_per_head(attention_mask >= 0 &&
                          unit.input_shape(in.attention_mask)[0] > 1),
        attrs(unit.attrs<AttentionAttrs>()) {
    if (attrs.dropout != 0) random_state = unit.read(in.random_state);
  }

  static int read(UnitBuilder& unit, int input) {
    return unit.has(input) ? unit.read(input) : -1;
  }

  template <class T>
  AttentionSources<T> bind(BindContext& at) const {
    AttentionSources<T> in{.query = typed<T>(at[query]),
                           .key = typed<T>(at[key]),
                           .value = typed<T>(at[value]),
                           .has_mask_per_head = has_mask_per_head};
    if (key_mask >= 0) in.key_mask = typed<std::uint8_t>(at[key_mask]);
    if (attention_mask >= 0 && is_hard_mask) {
      in.hard_mask = typed<std::uint8_t>(at[attention_mask]);
    } else if (attention_mask >= 0) {
      in.soft_mask = typed<T>(at[attention_mask]);
    }
    return in;
  }

  /// What random numbers there are is known when the unit runs.
  const formulas::RandomState* state_at(BindContext& at) const {
    return random_state < 0 ? nullptr
                            : typed<formulas::RandomState>(at[random_state]);
  }
};

/// Threads, each with a workspace, and the tasks that they share.
struct Workers {
  int count;
  std::int64_t num_tasks;
  std::int64_t floats_each;
  int arg;

  Workers(UnitBuilder& unit, std::int64_t tasks, std::int64_t floats)
      : count(static_cast<int>(
            std::min<std::int64_t>(tasks, PrimitiveThreads::count()))),
        num_tasks(tasks),
        floats_each(floats),
        arg(unit.scratch(checked_bytes<float>(
            checked_multiply(floats, std::int64_t{count}, "scratch"),
            "scratch"))) {}

  /// make(width, workspace) gives a worker its f(task).
  template <class Make>
  void run(float* space, Make&& make) const {
    std::atomic<std::int64_t> next{0};
    run_workers(count, [&](int worker) {
      vectorized_by_width([&](auto width) {
        auto f = make(width, space + worker * floats_each);
        for (;;) {
          const std::int64_t task =
              next.fetch_add(1, std::memory_order_relaxed);
          if (task >= num_tasks) return;
          f(task);
        }
      });
    });
  }
};

}  // namespace

void lower_attention(UnitBuilder& unit) {
  const SourceArgs sources(unit, {0, 1, 2, 3, 4, 5});
  const AttentionSizes sizes(sources.attrs, unit.input_shape(0),
                             unit.input_shape(2));
  const int output = unit.write(0), log_sum = unit.write(1),
            rest = unit.write(2);
  // Several tasks for each thread, where heads alone are fewer.
  constexpr std::int64_t kTasksPerThread = 4;
  const std::int64_t wanted = kTasksPerThread * PrimitiveThreads::count();
  const std::int64_t parts = std::clamp<std::int64_t>(
      wanted / sizes.num_heads(), 1, num_query_tiles(sizes));
  const Workers workers(unit, sizes.num_heads() * parts,
                        AttentionSpace(sizes, Workspace()).size);
  visit_any_float(unit, unit.result_desc().data_type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [=, in = sources.bind<T>(at), state = sources.state_at(at),
              out = AttentionResults<T>{typed<T>(at[output]),
                                        floats(at[log_sum]), floats(at[rest])},
              space = floats(at[workers.arg])] {
        auto now = in;
        now.dropout = WeightDropout::of(sources.attrs, state);
        workers.run(space, [&]<int kFloats>(VectorWidth<kFloats>,
                                            float* workspace) {
          return
              [&, forward = AttentionForward<kFloats, T>(
                      sizes, now, out, workspace)](std::int64_t task) mutable {
                const std::int64_t tiles = num_query_tiles(sizes);
                const std::int64_t part = task % parts;
                forward.run({task / parts, tiles * part / parts,
                             tiles * (part + 1) / parts});
              };
        });
      };
    });
  });
}

void lower_attention_gradient(UnitBuilder& unit) {
  enum {
    kGradient = 0,
    kOutput = 4,
    kLogSum = 5,
    kLogSumGradient = 9,
    kLogSumRest = 10
  };
  const SourceArgs sources(unit, {1, 2, 3, 6, 7, 8});
  const AttentionSizes sizes(sources.attrs, unit.input_shape(1),
                             unit.input_shape(3));
  const int gradient = unit.read(kGradient), output = unit.read(kOutput),
            log_sum = unit.read(kLogSum),
            log_sum_gradient = SourceArgs::read(unit, kLogSumGradient),
            rest = SourceArgs::read(unit, kLogSumRest);
  const int dquery = unit.write(0), dkey = unit.write(1),
            dvalue = unit.write(2),
            dmask = unit.is_used(3) ? unit.write(3) : -1;
  const Workers workers(unit, sizes.num_heads(),
                        AttentionGradientSpace(sizes, Workspace()).size);
  visit_any_float(unit, unit.result_desc().data_type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      const auto optional = [&](int arg) {
        return arg < 0 ? nullptr : floats(at[arg]);
      };
      const AttentionGradientSources<T> in{
          sources.bind<T>(at), typed<T>(at[gradient]),     typed<T>(at[output]),
          floats(at[log_sum]), optional(log_sum_gradient), optional(rest)};
      const AttentionGradients<T> out{typed<T>(at[dquery]), typed<T>(at[dkey]),
                                      typed<T>(at[dvalue]), optional(dmask)};
      return [=, state = sources.state_at(at),
              space = floats(at[workers.arg])] {
        auto now = in;
        now.dropout = WeightDropout::of(sources.attrs, state);
        workers.run(
            space, [&]<int kFloats>(VectorWidth<kFloats>, float* workspace) {
              return [backward = AttentionBackward<kFloats, T>(sizes, now, out,
                                                               workspace)](
                         std::int64_t task) mutable { backward.run(task); };
            });
      };
    });
  });
}

}  // namespace traingraph::cpu
