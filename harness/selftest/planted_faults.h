#pragma once
// The faults by number, for the host's code and for the kernel. Includes nothing: NVRTC has no
// standard headers.

namespace gla_bench::planted {

enum Fault : int {
  none,
  slow,  ///< right, and takes milliseconds: what a timer has to wait for
  nan_output,
  unwritten_output,
  stale_output,        ///< writes in its first call only
  stale_when_timed,    ///< stops to write after some calls
  last_chunk_missing,  ///< the tokens behind the last whole chunk
  off_by_one,          ///< the last token of each chunk does not reach the state
  write_behind_output,
  write_before_output,
  write_behind_workspace,
  write_before_workspace,
  changed_input,
  flipped_gate_sign,
  inclusive_decay,  ///< decays the token that is added, too
  wrong_head,       ///< head 1 has head 0's answer
  wrong_batch,      ///< sequence 1 has sequence 0's answer
  wrong_final_state,
  chunk_slightly_off,
  element_off,
  bfloat16_accumulator,  ///< declared is float32
  race,                  ///< two writers, the later one wins
  cached_answer,         ///< the first call's, for ever
  cached_when_timed,     ///< the first call's, after some calls
  crash,
  hoarding,  ///< takes more and more of the host's memory while it runs
  hang,
  memory_exhaustion,
  cheating_timer,  ///< the code of `slow`; its timer does not wait
};

/// Calls after which `stale_when_timed` and `cached_when_timed` begin: more than a verification
/// makes, fewer than a measurement.
constexpr int honest_calls = 5;

/// The state that a column of the planted recurrence keeps in registers.
constexpr int keys = 16;

/// What chunk_slightly_off multiplies the ragged end of one head with, too little for the whole
/// tensor's bound, and what element_off adds to one element, too little for its chunk's.
constexpr float chunk_factor = 1.0f + 4e-6f;
constexpr float element_offset = 1e-4f;

}  // namespace gla_bench::planted
