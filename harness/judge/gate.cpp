#include "harness/judge/gate.hpp"

#include <map>
#include <set>
#include <sstream>

#include "core/error.hpp"
#include "harness/config/sweep.hpp"
#include "harness/judge/shares.hpp"
#include "harness/tuned_table/choose.hpp"

namespace gla_bench {
namespace {

bool counts_as_verified(const Record& record) {
  return !measured_elsewhere(record) && record.verification && record.verification->ok &&
         (record.status == Status::measured || record.status == Status::verified);
}

/// What a file says about one variant on one problem.
struct Evidence {
  std::size_t verified = 0, rejected = 0, left_out = 0, others = 0;
  bool peer = false;
  std::string first_reason;

  void add(const Record& record) {
    peer = record.peer;
    if (counts_as_verified(record)) {
      ++verified;
    } else if (record.status == Status::rejected) {
      if (++rejected == 1) first_reason = record.reason;
    } else if (record.status == Status::left_out) {
      ++left_out;
    } else {
      ++others;
    }
  }
};

class RequestedVariants {
 public:
  RequestedVariants(const Results& results, const GatePolicy& policy)
      : results_(results), policy_(policy) {
    if (const auto id = parse_backend(fact_text(results.environment, "backend")))
      backends_.insert(*id);
    for (const Record& record : results.records) {
      if (measured_elsewhere(record)) continue;
      if (fact_text(results.environment, "backend").empty()) backends_.insert(record.backend);
      evidence_[{record.problem, record.variant}].add(record);
      if (!record.problem.tensors.empty())
        evidence_[{by_file(record.problem), record.variant}].add(record);
      if (counts_as_verified(record)) verified_.insert(record.variant);
      if (record.chosen_by) add_choice(record);
    }
  }

  std::vector<Verdict> judge(const Config& config) {
    for (const Sweep& sweep : config.sweeps) {
      if (sweep.random && sweep.random->digest != sweep.drawn.digest()) {
        verdicts_.push_back({results_.file,
                             "drawn problems of " + sweep.op,
                             {},
                             {"they were drawn by other rules than this program's: which problems "
                              "were asked for is not known"},
                             ""});
        continue;
      }
      std::set<std::string> never;
      for (const Problem& problem : requested_problems(sweep))
        for (const std::string& variant : sweep.variants)
          if (implemented(sweep, variant)) judge_request(sweep, problem, variant, never);
      for (const std::string& variant : never)
        fail(variant + " of " + sweep.op, "requested, but refused everywhere: never verified");
    }
    return std::move(verdicts_);
  }

 private:
  /// Of a problem from a file, what the config knows without reading that file.
  static Problem by_file(const Problem& problem) {
    Problem known;
    known.op = problem.op;
    known.direction = problem.direction;
    known.layout = problem.layout;
    known.final_state = problem.final_state;
    known.tensors = problem.tensors;
    return known;
  }

  static std::vector<Problem> requested_problems(const Sweep& sweep) {
    if (!sweep.tensors) return problems(sweep);
    std::vector<Problem> list;
    for (const Layout layout : sweep.layouts)
      for (const bool final_state : sweep.final_state) {
        Problem known;
        known.op = sweep.op;
        known.direction = sweep.direction;
        known.layout = layout;
        known.final_state = final_state;
        known.tensors = sweep.tensors->file;
        list.push_back(known);
      }
    return list;
  }

  /// The record of the candidate that `auto` chose also counts for `auto`.
  void add_choice(const Record& record) {
    const std::string variant(auto_variant);
    if (record.variant == variant) return;  // nothing was chosen: the row is its own
    evidence_[{record.problem, variant}].add(record);
    if (!record.problem.tensors.empty()) evidence_[{by_file(record.problem), variant}].add(record);
    if (counts_as_verified(record)) verified_.insert(variant);
  }

  bool implemented(const Sweep& sweep, const std::string& variant) const {
    if (variant == auto_variant) return true;
    for (const BackendId backend : backends_)
      if (policy_.catalog.find_variant(sweep.op, variant, backend, sweep.direction)) return true;
    return backends_.empty();
  }

  void fail(const std::string& subject, std::string failure) {
    verdicts_.push_back({results_.file, subject, {std::move(failure)}, {}, ""});
  }

  void judge_request(const Sweep& sweep, const Problem& problem, const std::string& variant,
                     std::set<std::string>& never) {
    const auto found = evidence_.find({problem, variant});
    const Evidence evidence = found == evidence_.end() ? Evidence{} : found->second;
    if (evidence.verified > 0) return;
    if (evidence.peer && evidence.others > 0) return;  // its own rows warn
    // A search need not verify every candidate: those that it leaves out cannot win, or exceeded
    // the budget.
    if (evidence.left_out > 0 && evidence.others == 0) return;
    const bool all_refused = evidence.rejected > 0 && evidence.others == 0;
    if (all_refused && sweep.refusals_allowed) {
      if (!verified_.contains(variant)) never.insert(variant);
      return;
    }
    std::string failure = "requested, but there is no verified record";
    if (all_refused) failure += ": every tile is rejected (" + evidence.first_reason + ")";
    fail(variant + " on " + describe(problem), std::move(failure));
  }

  const Results& results_;
  const GatePolicy& policy_;
  std::set<BackendId> backends_;
  std::map<std::pair<Problem, std::string>, Evidence> evidence_;
  std::set<std::string> verified_;
  std::vector<Verdict> verdicts_;
};

/// Records older than the field may well be right, so its absence is mentioned only once.
std::string note_on_verifiers(const Results& results) {
  std::size_t silent = 0;
  for (const Record& record : results.records)
    if (counts_as_verified(record) && record.verifier_hash.empty()) ++silent;
  if (silent == 0) return "";
  return std::to_string(silent) +
         " verified records do not say what verified them, for they were " +
         "written before records had a verifier_hash; only their sources are compared";
}

/// A variant that refuses more than the policy allows would hide in a gate that takes refusals.
void judge_shares(const Results& results, const Policy& asked, std::vector<Verdict>& verdicts) {
  if (asked.least_share.empty()) return;
  const std::vector<Share> shares = shares_of(std::span(&results, 1));
  for (const auto& [variant, least] : asked.least_share) {
    bool found = false;
    for (const Share& share : shares) {
      if (share.variant != variant) continue;
      found = true;
      Verdict verdict{results.file, "share of " + describe(share), {}, {}, ""};
      if (share.value() < least) {
        std::ostringstream text;
        text << "took " << share.taken << " of " << share.problems
             << " problems, the policy asks for a share of " << least;
        verdict.failures.push_back(text.str());
      }
      verdicts.push_back(std::move(verdict));
    }
    if (!found)
      verdicts.push_back({results.file,
                          "share of " + variant,
                          {"the policy asks for a share, but no record is of the variant"},
                          {},
                          ""});
  }
}

void judge_file(const Results& results, GatePolicy policy, std::vector<Verdict>& verdicts) {
  Verdict whole{results.file, "the file", {}, {}, ""};
  if (results.records.empty()) whole.failures.push_back("no records");
  if (results.unfinished) whole.warnings.push_back(describe(*results.unfinished, results.file));
  if (policy.require_fresh) whole.note = note_on_verifiers(results);
  verdicts.push_back(std::move(whole));
  // A file with another project's figures uses the config of a sweep and need not cover it.
  const bool is_peers = !fact_text(results.environment, "peer").empty();
  std::optional<Config> config;
  try {
    if (!is_peers)
      config = read_config(JsonNode(*results.config, results.file, "/config"), policy.catalog, "");
  } catch (const InputError& error) {
    verdicts.push_back({results.file, "its config", {error.what()}, {}, ""});
  }
  const Policy asked = config ? config->policy : Policy{};
  if (config) policy.catalog = config->catalog;
  for (const Record& record : results.records)
    verdicts.push_back(judge_record(record, results.file, policy, asked));
  if (!config) return;
  for (Verdict& verdict : RequestedVariants(results, policy).judge(*config))
    verdicts.push_back(std::move(verdict));
  judge_shares(results, asked, verdicts);
}

}  // namespace

std::vector<Verdict> gate(std::span<const Results> files, const GatePolicy& policy) {
  std::vector<Verdict> verdicts;
  for (const Results& results : files) judge_file(results, policy, verdicts);
  return verdicts;
}

bool passed(std::span<const Verdict> verdicts) {
  for (const Verdict& verdict : verdicts)
    if (!verdict.failures.empty()) return false;
  return !verdicts.empty();
}

}  // namespace gla_bench
