#pragma once
// Where a preparing thread of chunk_sm90 has the gates of its keys and tokens, and how it adds up
// what they decay by.

#include "linear_recurrence/sm90/keys.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// One sum for each of a thread's keys.
using KeySums = float[KeyGroup::keys];

/// Gates in bfloat16: in the thread's registers, from the time that they have been loaded.
class HeldGates {
 public:
  __device__ __forceinline__ void load(const KeyGroup& keys, const Stage& stage, int valid) {
    missing_ = valid - keys.first_row();
#pragma unroll
    for (int i = 0; i < tokens; ++i) keys.load(stage.begin + layout.gates, i, gates_[i]);
    __syncwarp();  // without it the assembler would load and wait for one row after the other
    if constexpr (trait::raw_gate == 0) {
#pragma unroll
      for (int i = 0; i < tokens; ++i)
#pragma unroll
        for (unsigned& gate : gates_[i]) {
          gate = at_least(gate, strongest_pair);
          if (trait::ragged != 0 && i >= missing_) gate = 0;
        }
    }
  }
  /// Adds log2 of the decays of the part's token i. Tokens that do not exist do not decay. `again`:
  /// unpack the gates once more, because the values of the first time would take twice as many
  /// registers.
  template <bool again>
  __device__ __forceinline__ void add(const KeyGroup&, KeySums& sum, int i) const {
    if (trait::raw_gate != 0 && i >= missing_) return;
#pragma unroll
    for (int n = 0; n < KeyGroup::words; ++n) {
      const unsigned gate = gates_[i][n];
      const float low = again ? low_anew(gate) : low_of(gate);
      const float high = again ? high_anew(gate) : high_of(gate);
      if constexpr (trait::raw_gate != 0) {
        sum[2 * n] += log2_decay(log_decay(low));
        sum[2 * n + 1] += log2_decay(log_decay(high));
      } else {
        sum[2 * n] = fmaf(low, device::log2_e, sum[2 * n]);
        sum[2 * n + 1] = fmaf(high, device::log2_e, sum[2 * n + 1]);
      }
    }
  }

 private:
  static constexpr int tokens = KeyGroup::tokens;

  int missing_ = 0;                          // the part's tokens from here on do not exist
  unsigned gates_[tokens][KeyGroup::words];  // pairs
};

/// Gates in float32, which would take too many registers: in shared memory until the scores are
/// formed.
class SharedGates {
 public:
  __device__ __forceinline__ void load(const KeyGroup& keys, const Stage& stage, int valid) {
    missing_ = valid - keys.first_row();
    tiles_ = stage.begin + layout.gates;
  }
  template <bool again>
  __device__ __forceinline__ void add(const KeyGroup& keys, KeySums& sum, int i) const {
    if ((trait::ragged != 0 || trait::raw_gate != 0) && i >= missing_) return;
    float gates[KeyGroup::keys];
    keys.load(tiles_, i, gates);
#pragma unroll
    for (int n = 0; n < KeyGroup::keys; ++n) sum[n] += log2_decay(log_decay(gates[n]));
  }

 private:
  int missing_ = 0;
  unsigned tiles_ = 0;  // shared address
};

}  // namespace gla_bench::linear_recurrence::sm90
