#include "harness/tuned_table/choose.hpp"

#include <algorithm>

#include "core/candidate_name.hpp"
#include "core/error.hpp"
#include "core/tile_space.hpp"
#include "harness/records/comparability.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/text.hpp"
#include "harness/tuned_table/build.hpp"
#include "harness/tuned_table/table_file.hpp"

namespace gla_bench {
namespace {

/// A fact that another table may differ in. Times at other numbers of threads are not comparable,
/// but a choice is no time.
constexpr std::string_view threads_fact = "threads";

constexpr std::size_t most_notes = 4;  // of what is passed over: a record is no log

void add_note(std::string& note, const std::string& part) {
  const auto parts = static_cast<std::size_t>(std::count(note.begin(), note.end(), ';'));
  if (parts >= most_notes) return;
  note += (note.empty() ? "" : "; ") + (parts + 1 == most_notes ? std::string("..") : part);
}

/// The candidates of an entry, the best first: the winner, its ties, and then the others.
std::vector<const TunedChoice*> choices_of(const TunedEntry& entry) {
  std::vector<const TunedChoice*> list{&entry.winner};
  for (const TunedChoice& choice : entry.ties) list.push_back(&choice);
  std::vector<const TunedChoice*> rest;
  if (entry.runner_up) rest.push_back(&*entry.runner_up);
  for (const TunedChoice& choice : entry.others) rest.push_back(&choice);
  std::stable_sort(rest.begin(), rest.end(),
                   [](const TunedChoice* a, const TunedChoice* b) { return a->ratio < b->ratio; });
  list.insert(list.end(), rest.begin(), rest.end());
  return list;
}

std::string texts_of(const std::vector<Difference>& differences, Severity severity) {
  std::vector<std::string> texts;
  for (const Difference& difference : differences)
    if (difference.severity == severity && !difference.base.empty() && !difference.fresh.empty())
      texts.push_back(describe(difference));
  return join(texts, "; ");
}

/// "--allow FACT" for what is refused.
std::string allowing(const std::vector<Difference>& differences) {
  std::vector<std::string> keys;
  for (const Difference& difference : differences)
    if (difference.severity == Severity::refuse) keys.push_back(difference.key);
  return "--allow " + join(keys, " ");
}

/// How many threads an entry was tuned with, where they are not as many as here.
std::string other_threads(const std::vector<Difference>& differences) {
  for (const Difference& difference : differences)
    if (difference.key == threads_fact && !difference.base.empty() && !difference.fresh.empty())
      return "tuned with " + difference.base + " threads, not " + difference.fresh;
  return "";
}

/// Facts that only one of the two has, so that they cannot be compared.
std::string unknown_of(const std::vector<Difference>& differences) {
  std::vector<std::string> keys;
  for (const Difference& difference : differences)
    if (difference.severity == Severity::label &&
        (difference.base.empty() || difference.fresh.empty()))
      keys.push_back(difference.key);
  return keys.empty() ? "" : "unknown here or there: " + join(keys);
}

}  // namespace

double multiprocessors_of(const TunedTable& table, const TunedEntry& entry) {
  if (entry.environment >= table.environments.size()) return 0;
  const double count = fact_number(table.environments[entry.environment], "multiprocessors");
  return count > 0 ? count : 0;
}

std::vector<Near> nearest_entries(const TunedTable& table, const Problem& problem) {
  const Bucket own = bucket_of(problem);
  std::vector<Near> list;
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    const TunedEntry& entry = table.entries[i];
    if (const auto far = distance(problem, entry.bucket, multiprocessors_of(table, entry)))
      list.push_back({i, entry.bucket == own, *far});
  }
  std::stable_sort(list.begin(), list.end(), [](const Near& a, const Near& b) {
    return std::pair(a.distance, !a.own) < std::pair(b.distance, !b.own);
  });
  return list;
}

std::size_t settle(const std::vector<double>& predicted,
                   const std::optional<Remembered>& remembered) {
  if (!remembered) return 0;
  if (remembered->distance <= same_problem) return remembered->ranked;
  const bool hardly_slower =
      predicted[remembered->ranked] <= (1 + worth_leaving) * predicted.front();
  return remembered->distance <= near_problem && hardly_slower ? remembered->ranked : 0;
}

Chooser::Chooser(Catalog catalog, BackendId backend, std::string why)
    : catalog_(catalog), backend_(backend), why_(std::move(why)) {}

Chooser::Chooser(Catalog catalog, BackendId backend, TunedTable table, const Facts& environment,
                 const std::set<std::string>& allowed,
                 const std::function<std::string(const Variant&)>& source_hash)
    : catalog_(catalog),
      backend_(backend),
      why_("the table has no entry of this operator, direction and dtype"),
      table_(std::move(table)),
      source_hash_(source_hash) {
  const Facts here = comparable_facts(environment);
  std::set<std::string> tolerated = allowed;
  tolerated.emplace(threads_fact);
  std::vector<bool> fits;
  std::vector<std::string> threads;
  std::string refused, allow;
  std::vector<std::string> others;  // what differs of environments that fit
  for (const Facts& there : table_.environments) {
    const auto differing = differences(there, here, tolerated);
    threads.push_back(other_threads(differing));
    const std::string refusals = texts_of(differing, Severity::refuse);
    std::string labels = texts_of(differing, Severity::label);
    const std::string unknown = unknown_of(differing);
    if (!unknown.empty()) labels += (labels.empty() ? "" : "; ") + unknown;
    fits.push_back(refusals.empty());
    if (!refusals.empty()) {
      refused = refusals;
      allow = allowing(differing);
    }
    if (!refusals.empty())
      warnings_.push_back(table_.path + ": entries are left out: " + refusals);
    else if (!labels.empty())
      others.push_back(std::move(labels));
  }
  if (!others.empty())
    warnings_.push_back(
        table_.path + ": tuned in another environment: " + others.front() +
        (others.size() > 1 ? "; and in " + std::to_string(others.size() - 1) + " more" : ""));
  for (const TunedEntry& entry : table_.entries) {
    usable_.push_back(fits.at(entry.environment));
    other_threads_.push_back(threads.at(entry.environment));
  }
  if (!usable_.empty() && std::find(usable_.begin(), usable_.end(), true) == usable_.end())
    throw InputError(table_.path + ": is a table for " + table_.device +
                     ", and not for where this runs: " + refused +
                     "; `gla-bench tune` makes a table for here, and " + allow +
                     " takes this one all the same");
  warn_of_stale_winners();
}

void Chooser::warn_of_stale_winners() {
  std::size_t stale = 0, all = 0;
  for (std::size_t i = 0; i < table_.entries.size(); ++i) {
    const TunedEntry& entry = table_.entries[i];
    const Variant* variant = catalog_.find_variant(entry.bucket.op, entry.winner.variant, backend_,
                                                   entry.bucket.direction);
    if (!usable_[i] || variant == nullptr || !source_hash_) continue;
    ++all;
    stale += source_hash_(*variant) != entry.winner.source_hash ? 1 : 0;
  }
  if (stale > 0)
    warnings_.push_back(table_.path + ": " + std::to_string(stale) + " of " + std::to_string(all) +
                        " winners were found with other sources than this program's, so that " +
                        "they may not be the fastest any more (gla-bench tune searches again)");
}

std::optional<Candidate> Chooser::find(const Bucket& bucket, const TunedChoice& choice,
                                       const Problem& problem, std::string& why) const {
  const Variant* variant =
      catalog_.find_variant(bucket.op, choice.variant, backend_, bucket.direction);
  if (variant == nullptr)
    why = "there is no such variant on the backend " + std::string(name(backend_));
  else if (Tile tile = with_later_axes(choice.tile, variant->space);
           !in_space(tile, variant->space))
    why = "its tile is not in the variant's space";
  else
    return Candidate{variant, problem, std::move(tile)};
  return std::nullopt;
}

std::optional<Candidate> Chooser::take(const TunedEntry& entry, const Problem& problem,
                                       const Refusal& refuse, std::string& note) const {
  for (const TunedChoice* choice : choices_of(entry)) {
    std::string why;
    auto candidate = find(entry.bucket, *choice, problem, why);
    if (candidate)
      if (const auto reason = refuse(*candidate)) why = *reason;
    if (why.empty()) return candidate;
    add_note(note, "passed over " + describe(*choice) + ": " + why);
  }
  return std::nullopt;
}

bool Chooser::is_stale(const Candidate& candidate, const TunedEntry& entry) const {
  const std::string now = source_hash_ ? source_hash_(*candidate.variant) : "";
  for (const TunedChoice* choice : choices_of(entry))
    if (choice->variant == candidate.variant->name &&
        with_later_axes(choice->tile, candidate.variant->space) == candidate.tile)
      return !now.empty() && now != choice->source_hash;
  return false;
}

Choice Chooser::fall_back(const Problem& problem, const Refusal& refuse, std::string note) const {
  Choice choice;
  choice.by = {"default", table_.path, "", 0, std::move(note)};
  for (std::size_t i = catalog_.variants.size(); i-- > 0;) {
    const Variant& variant = catalog_.variants[i];
    if (variant.op != problem.op || variant.backend != backend_ ||
        variant.direction != problem.direction)
      continue;
    for (const Tile& tile : all_tiles(variant.space))
      if (const Candidate candidate{&variant, problem, tile}; !refuse(candidate)) {
        choice.candidate = candidate;
        return choice;
      }
  }
  add_note(choice.by.note, "no variant takes the problem");
  return choice;
}

Choice Chooser::by_table(const Problem& problem, const Refusal& refuse) const {
  std::string note;
  bool any = false;
  for (const Near& near : nearest_entries(table_, problem)) {
    const TunedEntry& entry = table_.entries[near.entry];
    if (!usable_[near.entry]) continue;
    any = true;
    auto candidate = take(entry, problem, refuse, note);
    if (!candidate) continue;
    if (!other_threads_[near.entry].empty()) add_note(note, other_threads_[near.entry]);
    if (is_stale(*candidate, entry)) add_note(note, "stale: its sources have changed since");
    return {std::move(candidate),
            {near.own ? "bucket" : "nearest", table_.path, describe(entry.bucket), near.distance,
             note}};
  }
  if (!any) add_note(note, why_);
  return fall_back(problem, refuse, note);
}

Choice Chooser::by_prediction(Choice remembered, const Problem& problem,
                              const Refusal& refuse) const {
  const auto ranked = predictor_->rank(
      catalog_, problem, [&](const Candidate& candidate) { return !refuse(candidate); });
  if (ranked.empty()) return remembered;
  std::vector<cost_model::Ranked> list = ranked;
  std::optional<Remembered> known;
  if (remembered.candidate && remembered.by.how != "default") {
    const Candidate& winner = *remembered.candidate;
    auto found = std::find_if(list.begin(), list.end(), [&](const cost_model::Ranked& one) {
      return one.candidate.variant == winner.variant && one.candidate.tile == winner.tile;
    });
    if (found == list.end()) {
      const cost_model::Ranked one{winner, predictor_->predict(winner)};
      found = list.insert(
          std::upper_bound(list.begin(), list.end(), one,
                           [](const cost_model::Ranked& a, const cost_model::Ranked& b) {
                             return a.prediction.rank() < b.prediction.rank();
                           }),
          one);
    }
    known = {static_cast<std::size_t>(found - list.begin()), remembered.by.distance};
  }
  std::vector<double> ranks;
  for (const cost_model::Ranked& one : list) ranks.push_back(one.prediction.rank());
  const std::size_t place = settle(ranks, known);
  Choice choice;
  if (known && place == known->ranked) {
    choice = std::move(remembered);
  } else {
    choice.candidate = list[place].candidate;
    choice.by.how = "model";
    if (remembered.by.how != "default") {
      choice.by.table = remembered.by.table;
      choice.by.entry = remembered.by.entry;
      choice.by.distance = remembered.by.distance;
    }
    choice.by.note = remembered.by.note;
    if (known)
      add_note(choice.by.note, "the entry's " + describe(remembered.candidate->tile) + " of " +
                                   remembered.candidate->variant->name + " is predicted at " +
                                   format_ms(1e3 * list[known->ranked].prediction.seconds) + " ms");
  }
  choice.by.model = predictor_->source();
  choice.by.predicted_ms = 1e3 * list[place].prediction.seconds;
  if (list.size() > 1) {
    const cost_model::Ranked& second = list[place == 0 ? 1 : 0];
    choice.by.second = candidate_name(second.candidate.variant->name, second.candidate.tile);
    choice.by.second_predicted_ms = 1e3 * second.prediction.seconds;
  }
  return choice;
}

Choice Chooser::choose(const Problem& problem, const Refusal& refuse) const {
  Choice remembered = by_table(problem, refuse);
  if (!predictor_) return remembered;
  return by_prediction(std::move(remembered), problem, refuse);
}

}  // namespace gla_bench
