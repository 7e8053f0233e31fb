// SPDX-License-Identifier: MIT
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): a pure function from key and counter to random words, so that any
// element of any stream can be computed by any thread. Dropout draws from it
// on every device.
#pragma once

#include "formulas/portable.h"
#include "formulas/run_time_scalars.h"

namespace traingraph {
namespace formulas {

struct PhiloxBlock {
  uint32 words[4];
};

struct PhiloxKey {
  uint32 low, high;

  PhiloxKey next() const { return {low + 0x9E3779B9u, high + 0xBB67AE85u}; }
};

inline uint32 low_word(uint64 x) { return static_cast<uint32>(x); }
inline uint32 high_word(uint64 x) { return static_cast<uint32>(x >> 32); }

inline PhiloxKey philox_key(uint64 key) {
  return {low_word(key), high_word(key)};
}

inline PhiloxBlock philox_round(PhiloxBlock counter, PhiloxKey key) {
  return {
      {high_product(0xCD9E8D57u, counter.words[2]) ^ counter.words[1] ^ key.low,
       0xCD9E8D57u * counter.words[2],
       high_product(0xD2511F53u, counter.words[0]) ^ counter.words[3] ^
           key.high,
       0xD2511F53u * counter.words[0]}};
}

enum { kPhiloxRounds = 10 };

inline PhiloxBlock philox(PhiloxBlock counter, uint64 key) {
  PhiloxKey k = philox_key(key);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    counter = philox_round(counter, k);
    k = k.next();
  }
  return counter;
}

/// Uniform in [0, 1) with 24 random bits. They are converted as a signed
/// number, which vectors are faster with.
inline float to_unit_float(uint32 word) {
  return static_cast<float>(static_cast<int32>(word >> 8)) *
         5.9604644775390625e-8f;  // 2^-24
}

/// Does dropout keep the element whose word this is?
inline bool is_kept(uint32 word, float rate) {
  return to_unit_float(word) >= rate;
}

/// What the masks of one execution of a node follow from.
struct DropoutStream {
  uint64 seed = 0, step = 0;
  uint32 stream = 0;
};

/// What a kernel of dropout gets. Seed 0 is that of the random state.
struct DropoutCall {
  uint64 seed = 0;
  uint32 stream = 0;
  float rate = 0, scale = 1;  // what is kept is multiplied by `scale`
  uint32 count = 0;           // of elements
};

/// Seed 0 is that of the state.
inline DropoutStream dropout_stream(uint64 seed, uint32 stream,
                                    RandomState state) {
  return {seed != 0 ? seed : state.seed, state.step, stream};
}

inline PhiloxBlock dropout_counter(DropoutStream from, uint64 block) {
  return {{low_word(block), high_word(block) ^ from.stream, low_word(from.step),
           high_word(from.step) ^ 0x5bd1e995u}};
}

/// The random words of elements 4 block ... 4 block + 3.
inline PhiloxBlock dropout_block(DropoutStream from, uint64 block) {
  return philox(dropout_counter(from, block), from.seed);
}

}  // namespace formulas
}  // namespace traingraph
