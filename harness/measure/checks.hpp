#pragma once
// The names of the checks, which say what caught a fault. They stand in records
// (verification.check, timing.suspect_check) and in the self-test's table. Like the statuses they
// are a stable contract.

#include <string_view>

namespace gla_bench::check {

// Checks of the first verified run, in the order in which they are made.
inline constexpr std::string_view missing_output = "missing_output";
inline constexpr std::string_view unwritten = "unwritten";  ///< poison is left in an output
inline constexpr std::string_view not_finite =
    "not_finite";  ///< NaN or infinite where the reference is not, or the reverse
inline constexpr std::string_view rel_l2 = "rel_l2";
inline constexpr std::string_view worst_chunk = "worst_chunk";
inline constexpr std::string_view max_abs = "max_abs";
inline constexpr std::string_view signed_mean = "signed_mean";  ///< errors have a common sign
inline constexpr std::string_view kept_bits =
    "kept_bits";  ///< a float32 output holds values that were stored in fewer bits
inline constexpr std::string_view guard_zone = "guard_zone";
inline constexpr std::string_view input_changed = "input_changed";

/// Whether a check is of the sizes and signs of errors alone: the outputs are there, finite, the
/// same each time, and nothing else was touched.
inline bool is_of_errors(std::string_view check) {
  return check == rel_l2 || check == worst_chunk || check == max_abs || check == signed_mean ||
         check == kept_bits;
}

// Checks of further runs.
inline constexpr std::string_view repeat =
    "repeat";  ///< wrong, or different bits from a candidate that promised the same
inline constexpr std::string_view other_inputs =
    "other_inputs";  ///< wrong for other inputs, or the outputs of an earlier call
inline constexpr std::string_view last_timed = "last_timed";
inline constexpr std::string_view timed_sample =
    "timed_sample";  ///< as `repeat`, in a sample with cold caches
inline constexpr std::string_view beside_load =
    "beside_load";  ///< as `repeat`, in a launch beside other work
inline constexpr std::string_view sustained =
    "sustained";  ///< as `repeat`, in one of several copies of the tensors

// Checks of times.
inline constexpr std::string_view floor = "floor";  ///< faster than the floor allows
inline constexpr std::string_view wall_clock =
    "wall_clock";  ///< whole calls take much longer than the timer says
inline constexpr std::string_view clocks =
    "clocks";  ///< the host's clock and the processor's counter tell of different times
inline constexpr std::string_view unseen_inputs =
    "unseen_inputs";  ///< much slower with inputs that no call had before

// Checks of what the device counted during a call.
inline constexpr std::string_view counted_reads =
    "counted_reads";  ///< it read less than its inputs have
inline constexpr std::string_view tensor_instructions =
    "tensor_instructions";  ///< too few for the operator's work

// Checks of steps that did not run to their end.
inline constexpr std::string_view crash = "crash";
inline constexpr std::string_view memory = "memory";
inline constexpr std::string_view timeout = "timeout";
inline constexpr std::string_view build = "build";
inline constexpr std::string_view run = "run";  ///< an error that a run reported by itself

}  // namespace gla_bench::check
