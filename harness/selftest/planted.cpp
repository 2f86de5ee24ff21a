#include "harness/selftest/planted.hpp"

#include <array>

#include "harness/measure/checks.hpp"

namespace gla_bench::planted {
namespace {

constexpr std::string_view honest = "honest";
constexpr std::string_view honest_slow = "honest_slow";
constexpr std::string_view honest_bfloat16 = "honest_bfloat16";
constexpr std::string_view truncated = "truncated_output";

constexpr std::array control_list{
    PlantedFault{none, honest, "right", "", ""},
    PlantedFault{slow, honest_slow, "right, and takes milliseconds", "", ""},
    PlantedFault{rounds, honest_bfloat16, "right, and in bfloat16", "", ""},
};

constexpr std::array fault_list{
    PlantedFault{nan_output, "nan", "one NaN in the output", check::not_finite, honest},
    PlantedFault{unwritten_output, "unwritten_output", "one head's output is never written",
                 check::unwritten, honest},
    PlantedFault{stale_output, "stale_output", "writes in its first call only", check::repeat,
                 honest},
    PlantedFault{stale_when_timed, "stale_when_timed", "stops to write while it is timed",
                 check::timed_sample, honest},
    PlantedFault{accumulates, "accumulates", "adds to the output of the call before",
                 check::last_timed, honest},
    PlantedFault{leftover_memory, "leftover_memory", "takes memory that it never wrote for zeros",
                 check::not_finite, honest},
    PlantedFault{reads_behind, "reads_behind", "reads behind an input", check::not_finite, honest},
    PlantedFault{last_chunk_missing, "last_chunk_missing", "leaves the ragged last chunk out",
                 check::unwritten, honest},
    PlantedFault{off_by_one, "off_by_one", "the last token of each chunk misses the state",
                 check::rel_l2, honest},
    PlantedFault{write_behind_output, "write_behind_output", "a write behind an output",
                 check::guard_zone, honest},
    PlantedFault{write_before_output, "write_before_output", "a write before an output",
                 check::guard_zone, honest},
    PlantedFault{write_behind_workspace, "write_behind_workspace", "a write behind the workspace",
                 check::guard_zone, honest},
    PlantedFault{write_before_workspace, "write_before_workspace", "a write before the workspace",
                 check::guard_zone, honest},
    PlantedFault{changed_input, "changed_input", "changes an input when it is done with it",
                 check::input_changed, honest},
    PlantedFault{ignored_scale, "ignored_scale", "has 1/sqrt(K) where the problem says a scale",
                 check::rel_l2, honest},
    PlantedFault{flipped_gate_sign, "flipped_gate_sign", "decays by exp(-g)", check::rel_l2,
                 honest},
    PlantedFault{inclusive_decay, "inclusive_decay", "decays the token that is added, too",
                 check::rel_l2, honest},
    PlantedFault{wrong_head, "wrong_head", "head 1 has the answer of head 0", check::rel_l2,
                 honest},
    PlantedFault{wrong_batch, "wrong_batch", "sequence 1 has the answer of sequence 0",
                 check::rel_l2, honest},
    PlantedFault{wrong_final_state, "wrong_final_state", "the final state lacks the last token",
                 check::rel_l2, honest},
    PlantedFault{chunk_slightly_off, "chunk_slightly_off",
                 "the ragged end of one head is off by 4e-6", check::worst_chunk, honest},
    PlantedFault{element_off, "element_off", "one element is off by little", check::max_abs,
                 honest},
    PlantedFault{bfloat16_accumulator, "bfloat16_accumulator",
                 "declares float32 and rounds its state to bfloat16", check::rel_l2, honest},
    PlantedFault{truncates, truncated, "cuts its bfloat16 output off instead of rounding it",
                 check::signed_mean, honest_bfloat16},
    PlantedFault{race, "race", "two writers, the later one wins", check::repeat, honest},
    PlantedFault{rare_race, "rare_race", "one wrong element in one of a hundred calls",
                 check::beside_load, honest},
    PlantedFault{cached_state, "cached_state", "returns the final state of its first call",
                 check::other_inputs, honest},
    PlantedFault{cached_answer, "cached_answer", "answers from its first call, whatever the inputs",
                 check::other_inputs, honest},
    PlantedFault{cached_when_timed, "cached_when_timed", "the same, once it is timed",
                 check::other_inputs, honest},
    PlantedFault{cheating_timer, "cheating_timer", "the timer does not wait for the work",
                 check::wall_clock, honest_slow},
    PlantedFault{side_stream, "side_stream", "works on where nobody waits for it",
                 check::timed_sample, honest_slow},
    PlantedFault{answer_by_content, "answer_by_content",
                 "computes once for each content of its inputs", check::unseen_inputs, honest_slow},
    PlantedFault{memory_exhaustion, "memory_exhaustion", "wants more memory than there is",
                 check::memory, honest},
    PlantedFault{hoarding, "hoarding", "takes more and more memory while it runs", check::memory,
                 honest, true},
    PlantedFault{crash, "crash", "writes to an address that nobody has", check::crash, honest},
    PlantedFault{hang, "hang", "never ends", check::timeout, honest},
};

std::vector<Variant> make_variants() {
  std::vector<Variant> variants;
  const auto add = [&](Fault fault, std::string_view name) {
    variants.push_back(host_variant(fault, name));
    if (fault != hoarding) variants.push_back(cuda_variant(fault, name));
  };
  for (const PlantedFault& control : control_list) add(control.fault, control.name);
  for (const PlantedFault& fault : fault_list) add(fault.fault, fault.name);
  return variants;
}

}  // namespace

std::span<const PlantedFault> faults() {
  return fault_list;
}

std::span<const PlantedFault> controls() {
  return control_list;
}

std::vector<selftest::Expected> expected(BackendId backend) {
  std::vector<selftest::Expected> list;
  for (const auto& some : {controls(), faults()})
    for (const PlantedFault& each : some)
      if (backend == BackendId::host || !each.host_only)
        list.push_back({each.name, each.meaning, each.check, each.control});
  return list;
}

Catalog catalog() {
  static const std::vector<Variant> variants = make_variants();
  return {operators(), variants};
}

Problem problem(std::string_view variant) {
  Problem problem;
  if (variant == honest_bfloat16 || variant == truncated) problem.dtype = DType::bfloat16;
  problem.op = "gla";
  problem.shape = {2, 150, 2, keys, 24};
  problem.gate = "mild";
  problem.scale = 0.3;
  return problem;
}

}  // namespace gla_bench::planted
