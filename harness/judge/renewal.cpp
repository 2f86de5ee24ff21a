#include "harness/judge/renewal.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/error.hpp"
#include "harness/engine/resume.hpp"

namespace gla_bench {
namespace {

// What another order of summing a reference in float64, as another number of threads has, may
// change of an error. Errors are in units of the tensor's size.
constexpr double another_order = 1e-14;

bool are_close(double one, double other, double size = 1) {
  return one == other || std::abs(one - other) <= another_order * size;  // also infinities
}

bool is_same(const std::optional<double>& one, const std::optional<double>& other) {
  return one.has_value() == other.has_value() && (!one || are_close(*one, *other));
}

bool has_same_outputs(const TensorVerdict& then, const TensorVerdict& now) {
  return are_close(then.rel_l2, now.rel_l2) && are_close(then.max_abs, now.max_abs) &&
         is_same(then.signed_mean, now.signed_mean) && then.worst.index == now.worst.index &&
         then.worst.got == now.worst.got &&
         are_close(then.worst.expected, now.worst.expected,
                   std::min(std::abs(then.worst.expected), std::abs(now.worst.expected)));
}

bool have_same_outputs(const Verification& then, const Verification& now) {
  return std::equal(then.tensors.begin(), then.tensors.end(), now.tensors.begin(),
                    now.tensors.end(), [](const auto& one, const auto& other) {
                      return one.first == other.first && has_same_outputs(one.second, other.second);
                    });
}

/// Whether every launch that was looked at left the same bits.
bool never_differed(const Verification& verification) {
  const auto differed = [](const std::optional<LaunchLooks>& looks) {
    return looks && looks->differed > 0;
  };
  return verification.deterministic && !differed(verification.timed_launches) &&
         !differed(verification.loaded_launches);
}

/// Why the row cannot take the verdict of the other; empty: it can.
NotRenewed obstacle(const Record& row, const Record& fresh) {
  NotRenewed found{describe(key_of(row)), "", false};
  if (!fresh.verification || fresh.verifier_hash.empty())
    found.why = "was not verified: " + fresh.reason;
  else if (fresh.source_hash != row.source_hash)
    found.why = "was verified with other sources";
  else if (fresh.verification->ok != row.verification->ok) {
    found.wrong = !fresh.verification->ok;
    found.why = found.wrong ? "is wrong now: " + fresh.reason : "is right now, so it can be timed";
  } else if (!fresh.verification->ok) {
    return found;  // no launch of it counts as right, whatever it left
  } else if (!never_differed(*row.verification) || !never_differed(*fresh.verification))
    found.why = "its calls may differ from each other";
  else if (!have_same_outputs(*row.verification, *fresh.verification))
    found.why = "other outputs, or other errors of the same outputs";
  return found;
}

void take_verdict(Record& row, const Record& fresh) {
  Verification verdict = *fresh.verification;
  // They tell of the launches that were timed.
  verdict.last_timed_ok = row.verification->last_timed_ok;
  verdict.timed_launches = row.verification->timed_launches;
  verdict.loaded_launches = row.verification->loaded_launches;
  row.verification = std::move(verdict);
  row.verifier_hash = fresh.verifier_hash;
  row.reason = fresh.reason;
}

void expect_same_device(const Results& old, const Results& fresh) {
  const std::string_view key = other_place(old.environment, fresh.environment);
  if (!key.empty())
    throw InputError(fresh.file + ": was made on another " + std::string(key) + " (\"" +
                     fact_text(fresh.environment, key) + "\", " + old.file + " has \"" +
                     fact_text(old.environment, key) +
                     "\"), so its verdicts are not those of the same candidates");
}

}  // namespace

Renewal renew(Results& old, std::span<const Results> fresh) {
  std::map<RecordKey, const Record*> verified;
  for (const Results& file : fresh) {
    expect_same_device(old, file);
    for (const Record& record : file.records)
      if (was_tried(record)) verified.insert_or_assign(key_of(record), &record);
  }
  Renewal renewal;
  for (Record& row : old.records) {
    if (measured_elsewhere(row) || !row.verification || !row.timing) continue;
    const auto found = verified.find(key_of(row));
    if (found == verified.end()) {
      renewal.left.push_back({describe(key_of(row)), "was not verified again", false});
      continue;
    }
    if (row.verifier_hash == found->second->verifier_hash) {
      ++renewal.current;
      continue;
    }
    NotRenewed obstacle = gla_bench::obstacle(row, *found->second);
    if (!obstacle.why.empty()) {
      renewal.left.push_back(std::move(obstacle));
      continue;
    }
    take_verdict(row, *found->second);
    ++renewal.renewed;
  }
  if (renewal.renewed == 0) return renewal;
  Extension extension = extension_by(fresh.front().environment);
  extension.records_kept = renewal.renewed + renewal.current;
  extension.records_renewed = renewal.renewed;
  extension.records_stale = static_cast<std::int64_t>(renewal.left.size());
  old.extended.push_back(std::move(extension));
  return renewal;
}

}  // namespace gla_bench
