// SPDX-License-Identifier: MIT
// The first kernel of a run takes what the host supplies from its parameters;
// the last one stores what the host wants where it finds it, and then says so.
// The layout of a letter is that of stream/letter.h.
#pragma once

#include "cuda/kernels/portable_cuda.cuh"

namespace traingraph {
namespace cuda {

struct LetterHeader {
  uint32 num_supplies, num_results;
  uint64 slot;    // address of the Receipt; 0: none is sent
  uint64 ticket;  // that the receipt shows
};
/// `bytes` of the letter, `offset` in, go to `to`.
struct Supply {
  uint64 to;
  uint32 offset, bytes;
};
/// `bytes` at `from` go to `to`, in mapped memory.
struct ResultCopy {
  uint64 from, to;
  uint64 bytes;
};
/// In mapped memory.
struct Receipt {
  uint64 ticket, begin, end;  // nanoseconds of the card's clock
};
/// Of device memory: what the last kernel of a run reads.
struct Outbox {
  LetterHeader header;
  uint64 begin;
  ResultCopy results[1];
};

inline __device__ void copy_bytes(const unsigned char* from, unsigned char* to,
                                  uint64 bytes) {
  const uint64 all =
      reinterpret_cast<uint64>(from) | reinterpret_cast<uint64>(to) | bytes;
  if (all % 4 == 0) {
    for (uint64 i = threadIdx.x; i < bytes / 4; i += blockDim.x) {
      reinterpret_cast<uint32*>(to)[i] =
          reinterpret_cast<const uint32*>(from)[i];
    }
    return;
  }
  for (uint64 i = threadIdx.x; i < bytes; i += blockDim.x) to[i] = from[i];
}

/// By one block. `letter` is a header, supplies, results, data.
inline __device__ void deliver(const unsigned char* letter, Outbox* outbox) {
  const auto* header = reinterpret_cast<const LetterHeader*>(letter);
  const auto* supplies = reinterpret_cast<const Supply*>(header + 1);
  const auto* results =
      reinterpret_cast<const ResultCopy*>(supplies + header->num_supplies);
  for (uint32 k = 0; k < header->num_supplies; ++k) {
    copy_bytes(letter + supplies[k].offset,
               reinterpret_cast<unsigned char*>(supplies[k].to),
               supplies[k].bytes);
  }
  for (uint32 k = threadIdx.x; k < header->num_results; k += blockDim.x) {
    outbox->results[k] = results[k];
  }
  if (threadIdx.x == 0) {
    outbox->header = *header;
    outbox->begin = nanoseconds();
  }
}

/// By one block.
inline __device__ void collect(const Outbox* outbox) {
  for (uint32 k = 0; k < outbox->header.num_results; ++k) {
    const ResultCopy result = outbox->results[k];
    copy_bytes(reinterpret_cast<const unsigned char*>(result.from),
               reinterpret_cast<unsigned char*>(result.to), result.bytes);
  }
  release_to_host();
  barrier();
  if (threadIdx.x != 0 || outbox->header.slot == 0) return;
  auto* receipt = reinterpret_cast<volatile Receipt*>(outbox->header.slot);
  receipt->begin = outbox->begin;
  receipt->end = nanoseconds();
  release_to_host();
  receipt->ticket = outbox->header.ticket;
}

}  // namespace cuda
}  // namespace traingraph
