#include "harness/search/replay.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>
#include <tuple>

#include "core/candidate_name.hpp"
#include "core/tile_space.hpp"
#include "harness/cost_model/learn.hpp"
#include "harness/records/environment.hpp"
#include "harness/support/statistics/statistics.hpp"
#include "harness/support/table.hpp"

namespace gla_bench::search {
namespace {

bool was_sampled_in_full(const Record& record) {
  return record.status == Status::measured && record.timing &&
         !record.timing->cold.samples_ms.empty() &&
         (!record.search || record.search->strategy == name(Strategy::exhaustive));
}

void add_record(RecordedProblem& recorded, const Record& record) {
  recorded.candidates.push_back({record.variant, record.tile,
                                 record.io.model_read_bytes + record.io.model_write_bytes, 0, 1.5,
                                 false});
  recorded.compile_seconds.push_back(record.build ? record.build->seconds : 0);
  auto& samples = recorded.samples.emplace_back();
  if (!was_sampled_in_full(record) || record.timing->suspect) return;
  for (const double time : record.timing->cold.samples_ms) samples.push_back(time * 1e-3);
}

std::string percent(double share) {
  std::ostringstream text;
  text.setf(std::ios::fixed);
  text.precision(1);
  text << 100 * share << " %";
  return text.str();
}

std::string whole(double value) {
  std::ostringstream text;
  text.setf(std::ios::fixed);
  text.precision(0);
  text << value;
  return text.str();
}

}  // namespace

std::size_t RecordedProblem::best() const {
  std::size_t best = 0;
  double fastest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (!samples[i].empty() && median_seconds(i) < fastest) {
      fastest = median_seconds(i);
      best = i;
    }
  return best;
}

double RecordedProblem::median_seconds(std::size_t candidate) const {
  return median(samples.at(candidate));
}

double RecordedProblem::exhaustive_seconds() const {
  double sum = 0;
  for (const auto& list : samples)
    for (const double sample : list) sum += sample;
  return sum;
}

std::vector<RecordedProblem> recorded_problems(std::span<const Results> files) {
  std::vector<RecordedProblem> list;
  for (const Results& results : files) {
    std::map<Problem, std::size_t> places;
    const std::size_t before = list.size();
    for (const Record& record : results.records) {
      if (record.peer || !(was_sampled_in_full(record) || is_failure(record.status))) continue;
      const auto [place, fresh] = places.try_emplace(record.problem, list.size());
      if (fresh) {
        RecordedProblem problem;
        problem.file = results.file;
        problem.problem = record.problem;
        problem.copy_bytes_per_second = 1e9 * fact_number(results.environment, "copy_gb_per_s");
        problem.last_level_cache = last_level_cache(results.environment);
        list.push_back(std::move(problem));
      }
      add_record(list[place->second], record);
    }
    const auto too_few = [](const RecordedProblem& problem) {
      return std::count_if(problem.samples.begin(), problem.samples.end(),
                           [](const auto& samples) { return !samples.empty(); }) < 2;
    };
    list.erase(
        std::remove_if(list.begin() + static_cast<std::ptrdiff_t>(before), list.end(), too_few),
        list.end());
  }
  return list;
}

void predict_without_own_shape(std::vector<RecordedProblem>& problems,
                               std::span<const Results> files, std::span<const Results> others) {
  std::vector<Results> all(others.begin(), others.end());
  all.insert(all.end(), files.begin(), files.end());
  // Only of a CUDA device are the rates known that predictions start from.
  std::erase_if(all, [](const Results& one) {
    return fact_text(one.environment, "backend") != name(BackendId::cuda);
  });
  if (all.empty()) return;
  auto examples = cost_model::examples_of(all);
  const cost_model::CostModel model = cost_model::learn(all, examples);
  using Key = std::tuple<Problem, std::string, Tile>;
  std::map<Key, const cost_model::Example*> known;
  for (const cost_model::Example& one : examples)
    known[{one.candidate.problem, one.candidate.variant->name, one.candidate.tile}] = &one;
  for (RecordedProblem& problem : problems)
    for (SearchCandidate& candidate : problem.candidates) {
      const Variant* variant = find_variant(problem.problem.op, candidate.variant, BackendId::cuda,
                                            problem.problem.direction);
      if (variant == nullptr) continue;
      const auto found = known.find({cost_model::launch_problem(problem.problem), candidate.variant,
                                     with_later_axes(candidate.tile, variant->space)});
      if (found == known.end()) continue;
      const cost_model::VariantModel* of = model.find(candidate.variant, problem.problem.direction);
      candidate.predicted_seconds = found->second->predicted;
      candidate.predicted_sigma = of == nullptr ? 1.5 : of->sigma;
    }
}

double ReplayMeasurer::draw(std::size_t candidate) {
  const auto& samples = recorded_.samples[candidate];
  const double sample = samples[static_cast<std::size_t>(random_() % samples.size())];
  seconds_ += sample;
  ++samples_;
  return sample;
}

void ReplayMeasurer::take(const Turn& turn, Search& search) {
  if (!search.admits(turn.candidate)) return;
  search.trying(turn.candidate);
  compiled_.insert(turn.candidate);
  if (recorded_.samples[turn.candidate].empty()) {
    search.fail(turn.candidate);
    return;
  }
  for (int i = 0; i < turn.discarded; ++i) draw(turn.candidate);
  std::vector<double> kept;
  for (int i = 0; i < turn.kept; ++i) kept.push_back(draw(turn.candidate));
  search.tell(turn.candidate, kept);
}

double ReplayMeasurer::compile_seconds() const {
  double sum = 0;
  for (const std::size_t i : compiled_) sum += recorded_.compile_seconds[i];
  return sum;
}

void ReplayMeasurer::measure(const Batch& batch, const std::vector<std::size_t>& outlook,
                             Search& search) {
  compiled_.insert(outlook.begin(), outlook.end());
  std::vector<Turn> turns;
  if (batch.joint)
    turns = turns_of(batch, random_);
  else
    for (const Ask& ask : batch.asks) turns.push_back({ask.candidate, 0, ask.samples});
  for (const Turn& turn : turns) {
    if (search.is_over()) return;
    take(turn, search);
  }
}

Replayed replay(const RecordedProblem& recorded, Strategy strategy, const Budget& budget,
                std::uint64_t seed) {
  SearchOptions options;
  options.seed = seed;
  options.copy_bytes_per_second = recorded.copy_bytes_per_second;
  options.last_level_cache = recorded.last_level_cache;
  const auto searcher = make_searcher(strategy, recorded.candidates, options);
  ReplayMeasurer measurer(recorded, seed);
  Search search(*searcher, budget, [&] { return measurer.seconds(); });
  run_search(*searcher, search, measurer);
  Replayed result;
  result.found = searcher->best();
  result.regret = std::numeric_limits<double>::infinity();
  if (result.found)
    result.regret =
        recorded.median_seconds(*result.found) / recorded.median_seconds(recorded.best()) - 1;
  result.tried = search.spent().candidates;
  result.compile_seconds = measurer.compile_seconds();
  result.samples = measurer.samples();
  result.share = measurer.seconds() / recorded.exhaustive_seconds();
  return result;
}

std::string replay_table(std::span<const RecordedProblem> problems, Strategy strategy,
                         const Budget& budget, std::uint64_t first_seed, int seeds) {
  Table table;
  table.columns = {{"problem", false},       {"candidates", true}, {"best", false},
                   {"regret", true},         {"worst", true},      {"found the best", true},
                   {"tried", true},          {"compiling", true},  {"samples", true},
                   {"measuring time", true}, {"worst", true}};
  for (const RecordedProblem& problem : problems) {
    std::vector<double> regrets, tried, compiling, samples, shares;
    int hits = 0;
    for (int i = 0; i < seeds; ++i) {
      const Replayed one =
          replay(problem, strategy, budget, first_seed + static_cast<std::uint64_t>(i));
      regrets.push_back(one.regret);
      tried.push_back(static_cast<double>(one.tried));
      compiling.push_back(one.compile_seconds);
      samples.push_back(static_cast<double>(one.samples));
      shares.push_back(one.share);
      hits += one.found == problem.best() ? 1 : 0;
    }
    const SearchCandidate& best = problem.candidates[problem.best()];
    table.rows.push_back({describe(problem.problem), std::to_string(problem.candidates.size()),
                          candidate_name(best.variant, best.tile), percent(median(regrets)),
                          percent(quantile(regrets, 1)),
                          std::to_string(hits) + "/" + std::to_string(seeds), whole(median(tried)),
                          whole(median(compiling)) + " s", whole(median(samples)),
                          percent(median(shares)), percent(quantile(shares, 1))});
  }
  return table.text();
}

}  // namespace gla_bench::search
