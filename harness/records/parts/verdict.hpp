#pragma once
// What verification found, and how it stands in a record.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "harness/support/fields/fields.hpp"

namespace gla_bench {

/// Where a tensor differs most, in logical coordinates.
struct WorstElement {
  std::vector<std::int64_t> index;
  double got = 0;
  double expected = 0;
};

template <class Visitor>
void fields(Visitor& visit, Of<WorstElement>) {
  visit.of("worst_element", "Where a tensor differs most from its reference.");
  visit("index", &WorstElement::index, {.about = "The element's logical coordinates.", .least = 0});
  visit("got", &WorstElement::got, {"What the candidate computed there."});
  visit("expected", &WorstElement::expected, {"What the reference has there."});
}

/// Errors of one output against float64 and the bounds they are held to. A NaN anywhere makes every
/// error NaN, and `ok` false.
struct TensorVerdict {
  double rel_l2 = 0;
  double max_abs = 0;
  double worst_chunk_rel_l2 = 0;
  double bound = 0;
  double worst_chunk_bound = 0;
  double max_abs_bound = 0;
  double baseline_rel_l2 = 0;
  WorstElement worst;
  bool ok = false;
  double signed_mean = 0;
  double signed_mean_bound = 0;
};

template <class Visitor>
void fields(Visitor& visit, Of<TensorVerdict>) {
  using enum Presence;
  visit.of("tensor",
           "Errors of one output against the float64 reference, and the bounds that they are held "
           "to. One element that is NaN makes every error NaN.");
  visit("rel_l2", &TensorVerdict::rel_l2,
        {"The norm of (got - expected) over the norm of the expected, for the whole tensor."});
  visit("max_abs", &TensorVerdict::max_abs,
        {"The largest |got - expected|, over the larger of the RMS and |expected|."});
  visit("worst_chunk_rel_l2", &TensorVerdict::worst_chunk_rel_l2,
        {"The largest rel_l2 of a chunk of 64 tokens."});
  visit("bound", &TensorVerdict::bound, {"What rel_l2 may be at most."});
  visit("worst_chunk_bound", &TensorVerdict::worst_chunk_bound,
        {.about = "What worst_chunk_rel_l2 may be at most.", .presence = added});
  visit("max_abs_bound", &TensorVerdict::max_abs_bound,
        {.about = "What max_abs may be at most.", .presence = added});
  visit("baseline_rel_l2", &TensorVerdict::baseline_rel_l2,
        {.about = "The rel_l2 of the plain computation that the bound is tied to.",
         .presence = added});
  visit("signed_mean", &TensorVerdict::signed_mean,
        {.about = "The mean of the signed errors, relative to the values. Truncation shifts it, "
                  "rounding to nearest does not.",
         .presence = sparse});
  visit("signed_mean_bound", &TensorVerdict::signed_mean_bound,
        {.about = "What the size of signed_mean may be at most.", .presence = sparse});
  visit("worst", &TensorVerdict::worst,
        {.about = "The element that differs most.", .presence = added});
  visit("ok", &TensorVerdict::ok, {"Whether every error is within its bound."});
}

/// How often outputs were looked at after they had been found right.
struct LaunchLooks {
  std::int64_t launches = 0;
  std::int64_t differed = 0;
  std::int64_t judged = 0;
  std::int64_t unseen = 0;
};

template <class Visitor>
void fields(Visitor& visit, Of<LaunchLooks>) {
  visit.of("launch_looks", "How many launches' outputs were looked at.");
  visit(
      "launches", &LaunchLooks::launches,
      {.about = "Launches whose outputs were compared, bit for bit, with those that had been found "
                "right for the same inputs.",
       .least = 0});
  visit("differed", &LaunchLooks::differed,
        {.about = "How many of them left other bits.", .least = 0});
  visit("judged", &LaunchLooks::judged,
        {.about = "How many of these were held against the reference.", .least = 0});
  visit(
      "unseen", &LaunchLooks::unseen,
      {.about = "Launches besides, with inputs that no call had before and that have no reference: "
                "it was seen only that every element was written.",
       .presence = Presence::sparse,
       .least = 1});
}

struct Verification {
  bool ok = false;
  Arithmetic arithmetic = Arithmetic::float32;
  std::string reference, compared;
  std::map<std::string, TensorVerdict> tensors;
  bool deterministic = false;
  std::optional<bool> last_timed_ok;
  std::optional<LaunchLooks> timed_launches, loaded_launches;
  std::string fault;
  std::string check;  ///< one of the names in checks.hpp
  /// Workset::outputs_fingerprint() of the judged outputs; it is not written to the record.
  std::optional<std::uint64_t> fingerprint = {};
  std::optional<std::uint64_t> other_fingerprint = {};  ///< the same for the other inputs
};

template <class Visitor>
void fields(Visitor& visit, Of<Verification>) {
  using enum Presence;
  visit.of("verification", "What the comparison with the float64 reference found.");
  visit("ok", &Verification::ok, {"Whether every check passed."});
  visit("arithmetic", &Verification::arithmetic,
        {.about = "The arithmetic that the variant declares for its products. It decides the "
                  "bounds.",
         .presence = added,
         .column = "arithmetic"});
  visit("reference", &Verification::reference,
        {.about = "Where the float64 reference was computed: host or cuda.", .presence = added});
  visit("compared", &Verification::compared,
        {.about = "Where the outputs were held against it: host or cuda; missing in older records.",
         .presence = sparse});
  visit("tensors", &Verification::tensors, {"The verdict on each output."});
  visit("deterministic", &Verification::deterministic,
        {.about = "Whether every further call that was looked at gave the same bits.",
         .presence = added});
  visit("last_timed_ok", &Verification::last_timed_ok,
        {.about = "Whether the last timed launch, verified again, is right; null without timing.",
         .presence = added});
  visit("timed_launches", &Verification::timed_launches,
        {.about = "The looks at the samples with cold caches; missing without timing.",
         .presence = sparse});
  visit("loaded_launches", &Verification::loaded_launches,
        {.about =
             "The looks at launches beside other work on the device; missing where the candidate "
             "was not the problem's fastest when its turn came.",
         .presence = sparse});
  visit("fault", &Verification::fault,
        {.about = "Why it is not ok, in words: a damaged guard zone, a changed input, an unwritten "
                  "output.",
         .presence = added});
  visit("check", &Verification::check,
        {.about = "The first check that failed, by name; empty where ok.", .presence = added});
}

}  // namespace gla_bench
