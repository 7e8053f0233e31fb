// SPDX-License-Identifier: MIT
// The dropout mask of src/base/random.h, and dropout itself, in the Metal
// shading language. The library includes this file as a string, tests as C++:
// the macro TRAINGRAPH_MSL(...), defined before the include, decides.
TRAINGRAPH_MSL(

struct DropoutParams {
  uint seed_lo, seed_hi;  // (0, 0): the state's seed
  uint stream;
  float rate, scale;
  uint count;
};

struct PhiloxBlock {
  uint words[4];
};

inline PhiloxBlock philox(PhiloxBlock counter, uint k0, uint k1) {
  for (int round = 0; round < 10; ++round) {
    const uint c0 = counter.words[0];
    const uint c2 = counter.words[2];
    counter.words[0] = mulhi(0xCD9E8D57u, c2) ^ counter.words[1] ^ k0;
    counter.words[1] = 0xCD9E8D57u * c2;
    counter.words[2] = mulhi(0xD2511F53u, c0) ^ counter.words[3] ^ k1;
    counter.words[3] = 0xD2511F53u * c0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

/// The random words of elements 4 id ... 4 id + 3.
inline PhiloxBlock random_block(device const int* random_state,
                                constant DropoutParams& params, uint id) {
  const bool has_seed = (params.seed_lo | params.seed_hi) != 0;
  const uint k0 = has_seed ? params.seed_lo : uint(random_state[0]);
  const uint k1 = has_seed ? params.seed_hi : uint(random_state[1]);
  PhiloxBlock counter;
  counter.words[0] = id;
  counter.words[1] = params.stream;
  counter.words[2] = uint(random_state[2]);
  counter.words[3] = uint(random_state[3]) ^ 0x5bd1e995u;
  return philox(counter, k0, k1);
}

inline bool is_kept(uint word, float rate) {
  return float(word >> 8) * 5.9604644775390625e-8f >= rate;
}

/// One thread per block of four elements; 1 is kept.
kernel void dropout_mask(device const int* random_state [[buffer(0)]],
                         device uchar* mask [[buffer(1)]],
                         constant DropoutParams& params [[buffer(2)]],
                         uint id [[thread_position_in_grid]]) {
  const PhiloxBlock block = random_block(random_state, params, id);
  for (uint i = 0; i < 4 && 4 * id + i < params.count; ++i) {
    mask[4 * id + i] = is_kept(block.words[i], params.rate) ? 1 : 0;
  }
}

/// Sets dropped elements of a tensor to 0, whatever they were.
kernel void dropout(device const int* random_state [[buffer(0)]],
                    device const float* source [[buffer(1)]],
                    device float* result [[buffer(2)]],
                    constant DropoutParams& params [[buffer(3)]],
                    uint id [[thread_position_in_grid]]) {
  const PhiloxBlock block = random_block(random_state, params, id);
  for (uint i = 0; i < 4 && 4 * id + i < params.count; ++i) {
    const float kept = source[4 * id + i] * params.scale;
    result[4 * id + i] = is_kept(block.words[i], params.rate) ? kept : 0.0f;
  }
}

)  // TRAINGRAPH_MSL
