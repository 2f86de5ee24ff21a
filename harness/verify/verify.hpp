#pragma once
// Decides whether what a candidate left in its outputs is right. Metrics are pure functions of
// numbers; the rest drives a Plan over a Workset and judges what comes back. NaN cannot pass,
// because every test is !(error <= bound).

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/operator.hpp"
#include "harness/backends/backend.hpp"
#include "harness/config/reference_place.hpp"
#include "harness/records/record.hpp"
#include "harness/verify/tolerance.hpp"

namespace gla_bench {

/// The number of tokens of a chunk, the unit in which errors are followed along T. The last chunk
/// of a sequence also takes the tokens that do not fill a chunk. A chunk of one token could be a
/// single element near zero, whose relative error says nothing of the kernel.
constexpr std::int64_t chunk_tokens = 64;

/// Fewer tokens than this do not make a chunk of one head: a chunk then spans all heads.
constexpr std::int64_t few_tokens = 16;

/// A chunk of fewer rows than this (tokens times heads) counts as one over their number, as a share
/// of the norm at the tensor's RMS. All elements of a row have a factor in common, such as q·k in
/// the output of a sequence of one token. It may be near zero by chance, and the row with it, where
/// the error is that of the products which cancel.
constexpr std::int64_t few_rows = 16;

/// The smallest share of the norm at the tensor's RMS that a chunk's reference norm counts as, so
/// that the error of a chunk near zero is not divided by almost nothing. Factors in float16, such
/// as the weights of far keys, have fewer digits where they are that small. A chunk of n elements
/// counts as 1/n at least: a single number may be near zero by chance, and its error is then that
/// of what was added up to it.
constexpr double chunk_norm_floor(DType dtype) {
  return dtype == DType::float16 ? 0.01 : 1e-4;
}

/// How an output differs from the reference, over the whole tensor, in float64.
struct ErrorMetrics {
  double rel_l2 = 0;  ///< ||got - expected|| / ||expected||; 0/0 is 0, x/0 infinite
  /// max |got - expected| over the largest of the reference's RMS, the RMS of its row (one token's
  /// of one head, where a tensor has such rows), |expected| and the spec's sum_size
  double max_abs = 0;
  double worst_chunk_rel_l2 = 0;    ///< largest rel_l2 of a chunk (see tensor_errors)
  double rms = 0;                   ///< of the reference, over these elements
  std::int64_t elements = 0;        ///< without those that are the infinity that is expected
  std::int64_t smallest_chunk = 0;  ///< elements of the smallest chunk that has any
  std::int64_t unwritten = 0;       ///< elements that still hold the poison
  std::int64_t not_finite = 0;      ///< NaN or infinite (or not, against the reference), unpoisoned
  WorstElement worst;  ///< the first not finite one, else where |got - expected| is largest
};

/// Compares a whole tensor. Where the tensor has token axes, a chunk is 64 tokens of one (sequence,
/// head) pair; where it has no axis behind them, as lse, or fewer than 16 tokens, a chunk spans all
/// heads. Without token
/// axes a chunk is one pair's whole part ([K,V] of a state). A chunk near zero counts as a share of
/// the tensor's RMS (chunk_norm_floor, few_rows). A chunk of a running sum counts as the RMS of its
/// own sequence and head at least: the sum may pass zero, and the errors of all that was added
/// before stay in it. Where the reference is infinite (lse
/// of a row that sees nothing), the same infinity is right and is left out of all norms; so is a
/// NaN where the reference is NaN (of inputs that are NaN). If any other element is not finite, or
/// another value stands there, every error is NaN. Elements count as TensorSpec::sum_size at least.
/// The result does not depend on the number of threads.
/// @throws std::invalid_argument when a size does not fit the spec.
ErrorMetrics tensor_errors(const TensorSpec& spec, std::span<const float> got,
                           std::span<const double> expected);
/// The same of an output that lies elsewhere.
ErrorMetrics tensor_errors(const TensorSpec& spec, OutputComparison& comparison,
                           std::span<const double> expected);

/// rel_l2 of each chunk as tensor_errors() takes it, [B, H, chunks of T]; NaN where one is not
/// finite.
struct ChunkErrors {
  std::vector<std::int64_t> extents;
  std::vector<float> rel_l2;
};
/// @throws std::invalid_argument when a size does not fit the spec
ChunkErrors chunk_errors(const TensorSpec& spec, std::span<const float> got,
                         std::span<const double> expected);

/// The errors that an output's bounds are tied to, from the plain computation of it in float32.
/// @throws std::invalid_argument when a size does not fit the spec.
BaselineError baseline_error(const TensorSpec& spec, std::vector<float> plain,
                             std::span<const double> expected);

/// What all candidates of one problem share: it is made once for them all.
class ProblemTruth {
 public:
  /// Takes the inputs as they are (drawn, or from a file) and computes the reference.
  /// `device` may be null. @throws InputError when `device` is asked for and has no reference
  ProblemTruth(const Operator& op, const Problem& problem, HostTensors inputs,
               Backend* device = nullptr, ReferencePlace place = ReferencePlace::automatic);

  const Operator& op() const { return *op_; }
  const Problem& problem() const { return problem_; }
  const HostTensors& inputs() const { return inputs_; }
  const ReferenceTensors& expected() const { return expected_; }
  /// The expected values of an output, which backends may keep a copy of.
  ExpectedValues expected_values(const std::string& output) const {
    return {id_, expected_.at(output)};
  }
  /// What may be taken off the errors of an output's elements (allowances.hpp); empty: nothing.
  std::span<const float> allowances(const std::string& output) const;
  /// Whether outputs are held against them where they lie, on the device, and not on the host:
  /// where they are many, none has an allowance, and the config does not ask for the host's
  /// reference.
  bool compares_on_device() const { return compares_on_device_; }
  /// "host" or "cuda".
  const std::string& reference_place() const { return reference_place_; }
  /// An output of which the reference holds NaN although no input does, so that no candidate can
  /// be right; empty: there is none.
  const std::string& unexplained_nan() const { return unexplained_nan_; }
  /// Specs of the outputs only.
  const std::vector<TensorSpec>& outputs() const { return outputs_; }
  /// Makes the same problem with other inputs. The reference is computed where this one's was.
  ProblemTruth with_inputs(HostTensors inputs) const;
  /// The problem with the inputs that Workset::flip_signs(verified_pattern) makes; null where no
  /// input may be changed so. Its reference is computed at the first call.
  ProblemTruth* others();
  /// Error of the plain computation in this arithmetic, per output; computed at the first call.
  const std::map<std::string, BaselineError>& baseline(Arithmetic arithmetic);

  /// The verdict on outputs with exactly these bits (Workset::outputs_fingerprint()), if some
  /// candidate's outputs with them were found right in this arithmetic; otherwise null. All
  /// verdicts are by one tolerance.
  const Verification* known_right(Arithmetic arithmetic, std::uint64_t fingerprint) const {
    const auto found = right_.find({arithmetic, fingerprint});
    return found == right_.end() ? nullptr : &found->second;
  }
  /// Keeps a verdict, where it is ok and has a fingerprint.
  void remember(const Verification& verification) {
    if (verification.ok && verification.fingerprint)
      right_.insert_or_assign({verification.arithmetic, *verification.fingerprint}, verification);
  }

 private:
  void add_allowances();

  const Operator* op_;
  Problem problem_;
  HostTensors inputs_;
  Backend *backend_, *device_;  // the second is null where the host computes
  ReferencePlace place_;
  std::string reference_place_;
  std::vector<TensorSpec> outputs_;
  ReferenceTensors expected_;
  HostTensors allowances_;
  std::string unexplained_nan_;
  std::uint64_t id_;
  bool compares_on_device_ = false;
  std::map<Arithmetic, std::map<std::string, BaselineError>> baselines_;
  std::map<std::pair<Arithmetic, std::uint64_t>, Verification> right_;
  std::unique_ptr<ProblemTruth> others_;
};

/// Judges outputs that lie on the host: every output must be there, whole, finite and within its
/// bounds. `check` names the first check that failed, in the order of checks.hpp. The caller sets
/// `deterministic` and `last_timed_ok`.
Verification judge(ProblemTruth& truth, const HostTensors& outputs, Arithmetic arithmetic,
                   const Tolerance& tolerance);

/// An output beside what is expected of it; null where it is missing or of the wrong size.
using Compare = std::function<std::unique_ptr<OutputComparison>(const TensorSpec&, ExpectedValues)>;
/// The same for outputs that lie elsewhere.
Verification judge(ProblemTruth& truth, const Compare& compare, Arithmetic arithmetic,
                   const Tolerance& tolerance);

/// Adds a reason why it is not ok. `check` is that of the first reason.
void add_fault(Verification& verification, std::string_view check, const std::string& fault);

/// Options of a verification.
struct VerifyOptions {
  /// If true, different bits in a repeat are a failure, and otherwise only reported
  /// (Variant::reproducible).
  bool reproducible = true;
  /// Receives the outputs that were judged wrong, in whichever run, and the truth that they were
  /// held against. May be empty.
  std::function<void(const ProblemTruth& truth, const HostTensors& outputs)> wrong = {};
};

/// Poisons outputs and workspace, runs, looks for damage (guard zones, changed inputs) and judges
/// every output. Then it poisons and runs once more for `deterministic`, and once for other inputs
/// (ProblemTruth::others), whose results are judged in the same way. `plan` must be prepared with
/// `workset`.
/// @throws RunError when a run fails.
Verification verify_candidate(Workset& workset, Plan& plan, ProblemTruth& truth,
                              Arithmetic arithmetic, const Tolerance& tolerance,
                              const VerifyOptions& options = {});

/// Call before timing, so that what verify_last_timed() sees was written by the timed launches.
void poison_before_timing(Workset& workset, Plan& plan);

/// Judges what the last timed launch left in the outputs, then takes one more sample of poisoned
/// outputs and other inputs, as verify_candidate() does, and sets `last_timed_ok`; when it is not
/// ok, `ok` becomes false, `fault` says why and `check` what saw it.
void verify_last_timed(Workset& workset, Plan& plan, ProblemTruth& truth,
                       const Tolerance& tolerance, Verification& verification,
                       const VerifyOptions& options = {});

}  // namespace gla_bench
