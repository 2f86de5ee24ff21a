#pragma once
// The faults by number, for the host's code and for the kernel. This file includes nothing, since
// NVRTC has no standard headers.

namespace gla_bench::planted {

enum Fault : int {
  none,
  slow,  ///< right, but takes milliseconds, for which a timer has to wait
  nan_output,
  unwritten_output,
  stale_output,        ///< writes its output in the first call only
  stale_when_timed,    ///< stops writing after some calls
  last_chunk_missing,  ///< omits the tokens after the last whole chunk
  off_by_one,          ///< the last token of each chunk does not reach the state
  write_behind_output,
  write_before_output,
  write_behind_workspace,
  write_before_workspace,
  changed_input,
  flipped_gate_sign,
  inclusive_decay,  ///< also decays the token that is being added
  wrong_head,       ///< head 1 has head 0's answer
  wrong_batch,      ///< sequence 1 has sequence 0's answer
  wrong_final_state,
  chunk_slightly_off,
  element_off,
  bfloat16_accumulator,  ///< although it declares float32
  race,                  ///< two writers, the later one wins
  cached_answer,         ///< always returns the answer of the first call
  cached_when_timed,     ///< returns the answer of the first call after some calls
  crash,
  hoarding,  ///< allocates more and more of the host's memory while it runs
  hang,
  memory_exhaustion,
  cheating_timer,  ///< the code of `slow`; its timer does not wait
  ignored_scale,
  leftover_memory,    ///< takes memory that it never wrote for zeros: shared on a GPU, new on a host
  reads_behind,       ///< adds 0 times what lies behind an input
  cached_state,       ///< computes o, and returns the final state of the first call
  accumulates,        ///< adds to the output of an earlier call, unless that is NaN
  rare_race,          ///< one wrong element in one of a hundred calls that find poisoned outputs
  side_stream,        ///< right; its timer does not wait, and neither does who reads the outputs
  answer_by_content,  ///< takes milliseconds, unless an earlier call had the same inputs
  rounds,             ///< right, with bfloat16 inputs and outputs
  truncates,          ///< the same, with outputs cut off where they should be rounded
};

/// The number of calls after which `stale_when_timed` and `cached_when_timed` begin. It is more
/// than a verification makes and fewer than a measurement makes.
constexpr int honest_calls = 5;

/// The call among those that find poisoned outputs in which `rare_race` goes wrong. Verification and
/// samples together make fewer, and launches beside other work make a hundred.
constexpr int racing_call = 60;

/// How many answers `answer_by_content` keeps, more than a measurement asks for.
constexpr int most_answers = 32;

/// The state that a column of the planted recurrence keeps in registers.
constexpr int keys = 16;

/// The factor by which chunk_slightly_off multiplies the ragged end of one head, too small for the
/// whole tensor's bound; and the value that element_off adds to one element, too small for its
/// chunk's bound.
constexpr float chunk_factor = 1.0f + 4e-6f;
constexpr float element_offset = 1e-4f;

}  // namespace gla_bench::planted
