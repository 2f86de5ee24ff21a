#include "harness/verify/looks.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "harness/backends/mix.hpp"
#include "harness/backends/other_inputs.hpp"
#include "harness/measure/checks.hpp"
#include "harness/support/elapsed.hpp"
#include "harness/verify/judged.hpp"

namespace gla_bench {
namespace {

using Clock = std::chrono::steady_clock;

// How long the differing outputs of a candidate that may differ are judged.
constexpr double judging_seconds = 1;

// Compares the outputs of launches with right ones.
class Looks {
 public:
  Looks(const Looked& looked, Verification& verification, LaunchLooks& counts,
        std::string_view check, std::string where)
      : looked_(looked),
        verification_(verification),
        counts_(counts),
        check_(check),
        where_(std::move(where)) {}

  void at_first_inputs() { at(looked_.truth, verification_.fingerprint, looked_.workset); }

  void at_other_inputs() {
    at(*looked_.truth.others(), verification_.other_fingerprint, looked_.workset);
  }

  // A workset with the first inputs.
  void at_copy(Workset& workset) { at(looked_.truth, verification_.fingerprint, workset); }

  // Without a reference.
  void at_unseen_inputs() {
    ++counts_.unseen;
    if (verification_.ok && looked_.workset.poison_left())
      add_fault(verification_, check_,
                where_ + "with inputs that it had not seen, elements unwritten");
  }

 private:
  void at(ProblemTruth& truth, std::optional<std::uint64_t> right, Workset& workset) {
    ++counts_.launches;
    const std::uint64_t fingerprint = workset.outputs_fingerprint();
    if (fingerprint == right) return;
    ++counts_.differed;
    verification_.deterministic = false;
    if (verification_.ok && (looked_.options.reproducible || judged_seconds_ < judging_seconds))
      judge_difference(truth, fingerprint, workset);
  }

  void judge_difference(ProblemTruth& truth, std::uint64_t fingerprint, Workset& workset) {
    const auto start = Clock::now();
    ++counts_.judged;
    const Verification judged =
        judge_outputs(workset, truth, fingerprint, verification_.arithmetic, looked_.tolerance);
    if (&truth != &looked_.truth && fingerprint == verification_.fingerprint)
      add_fault(verification_, check::other_inputs,
                where_ + "for other inputs, the outputs of an earlier call, bit for bit");
    else if (!judged.ok)
      add_fault(verification_, check_, where_ + judged.fault);
    else if (looked_.options.reproducible)
      add_fault(verification_, check_,
                where_ + "other bits, which this variant says there never are");
    if (!verification_.ok && looked_.options.wrong)
      looked_.options.wrong(truth, workset.download_outputs());
    judged_seconds_ += seconds_since(start);
  }

  const Looked looked_;
  Verification& verification_;
  LaunchLooks& counts_;
  std::string_view check_;
  std::string where_;
  double judged_seconds_ = 0;
};

// The looks around the samples of one measurement.
class SampleLooks {
 public:
  SampleLooks(const Looked& looked, std::uint64_t seed, Verification& verification)
      : looked_(looked),
        looks_(looked, verification, verification.timed_launches.emplace(), check::timed_sample,
               "in a timed sample: "),
        has_others_(looked.truth.others() != nullptr),
        random_(mix(seed + 1)) {}

  bool before() {
    inputs_ = next();
    if (inputs_ == Inputs::other) signs_.emplace(looked_.workset, verified_pattern);
    if (inputs_ == Inputs::unseen) signs_.emplace(looked_.workset, random());
    if (signs_ && !signs_->any()) inputs_ = Inputs::first;
    looked_.workset.poison_outputs();
    return inputs_ == Inputs::unseen;
  }

  void after() {
    if (inputs_ == Inputs::first) looks_.at_first_inputs();
    if (inputs_ == Inputs::other) looks_.at_other_inputs();
    if (inputs_ == Inputs::unseen) looks_.at_unseen_inputs();
    signs_.reset();
  }

 private:
  enum class Inputs { first, other, unseen };

  std::uint64_t random() { return random_ = mix(random_ + 0x9e3779b97f4a7c15ULL); }

  Inputs next() {
    if (!has_others_) return Inputs::first;
    if (place_ == order_.size()) {
      place_ = 0;
      for (std::size_t i = order_.size(); i > 1; --i)
        std::swap(order_[i - 1], order_[static_cast<std::size_t>(random() % i)]);
    }
    return order_[place_++];
  }

  const Looked looked_;
  Looks looks_;
  bool has_others_;
  std::uint64_t random_;
  std::array<Inputs, 8> order_{Inputs::first, Inputs::first, Inputs::first,  Inputs::first,
                               Inputs::other, Inputs::other, Inputs::unseen, Inputs::unseen};
  std::size_t place_ = order_.size();
  Inputs inputs_ = Inputs::first;
  std::optional<FlippedSigns> signs_;
};

}  // namespace

SampleHooks look_at_samples(const Looked& looked, std::uint64_t seed, Verification& verification) {
  const auto looks = std::make_shared<SampleLooks>(looked, seed, verification);
  return {[looks] { return looks->before(); }, [looks] { looks->after(); }};
}

void verify_beside_load(const Looked& looked, Backend& backend, int launches, double seconds,
                        Verification& verification) {
  if (launches <= 0) return;
  Looks looks(looked, verification, verification.loaded_launches.emplace(), check::beside_load,
              "beside other work: ");
  backend.beside_load([&] {
    const auto start = Clock::now();
    for (int i = 0; i < launches && verification.ok; ++i) {
      if (i > 0 && seconds_since(start) > seconds) break;
      poison_before_timing(looked.workset, looked.plan);
      looked.plan.run();
      looks.at_first_inputs();
    }
  });
}

void look_at_copies(const Looked& looked, std::span<Workset* const> worksets,
                    Verification& verification) {
  const auto& outputs = looked.truth.outputs();
  const bool in_place = std::any_of(outputs.begin(), outputs.end(), [](const TensorSpec& spec) {
    return !spec.in_place_of.empty();
  });
  LaunchLooks counts;
  Looks looks(looked, verification, counts, check::sustained, "in a copy of the tensors: ");
  for (Workset* each : worksets) {
    if (!verification.ok) return;
    if (!in_place) looks.at_copy(*each);
    if (const auto damage = each->damage())
      add_fault(verification, check::sustained, "in a copy of the tensors: " + *damage);
  }
}

}  // namespace gla_bench
