// SPDX-License-Identifier: MIT
// The dropout mask of src/base/random.h in the Metal shading language. To the
// library this file is a text, to the tests C++: whoever includes it defines
// TRAINGRAPH_MSL(...) as what to do with the code.
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

/// One thread per block of four elements.
kernel void dropout_mask(device const int* random_state [[buffer(0)]],
                         device float* mask [[buffer(1)]],
                         constant DropoutParams& params [[buffer(2)]],
                         uint id [[thread_position_in_grid]]) {
  const bool has_seed = (params.seed_lo | params.seed_hi) != 0;
  const uint k0 = has_seed ? params.seed_lo : uint(random_state[0]);
  const uint k1 = has_seed ? params.seed_hi : uint(random_state[1]);
  PhiloxBlock counter;
  counter.words[0] = id;
  counter.words[1] = params.stream;
  counter.words[2] = uint(random_state[2]);
  counter.words[3] = uint(random_state[3]) ^ 0x5bd1e995u;
  const PhiloxBlock block = philox(counter, k0, k1);
  for (uint i = 0; i < 4 && 4 * id + i < params.count; ++i) {
    const float unit = float(block.words[i] >> 8) * 5.9604644775390625e-8f;
    mask[4 * id + i] = unit >= params.rate ? params.scale : 0.0f;
  }
}

)  // TRAINGRAPH_MSL
