#include "harness/search/strategies.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "harness/support/hash.hpp"
#include "harness/support/statistics/statistics.hpp"

namespace gla_bench::search {
namespace {

constexpr std::array<std::pair<Strategy, std::string_view>, 2> strategy_names{
    {{Strategy::guided, "guided"}, {Strategy::exhaustive, "exhaustive"}}};

constexpr std::array<std::pair<Left, std::string_view>, 7> left_names{
    {{Left::searched, "searched"},
     {Left::end, "end"},
     {Left::slower, "slower"},
     {Left::traffic, "traffic"},
     {Left::unvisited, "unvisited"},
     {Left::failed, "failed"},
     {Left::stopped, "stopped"}}};

constexpr int most_samples_of_all = 100;  // of each, when all are measured
constexpr int samples_of_a_first_look = 3;
constexpr std::size_t block_length = 16;  // whose tensors' workspaces are there at the same time

}  // namespace

std::string_view name(Strategy strategy) {
  for (const auto& [value, text] : strategy_names)
    if (value == strategy) return text;
  return "?";
}

std::optional<Strategy> parse_strategy(std::string_view text) {
  for (const auto& [value, name] : strategy_names)
    if (name == text) return value;
  return std::nullopt;
}

std::size_t compiled_ahead(int threads, std::size_t searches) {
  const SearchOptions usual;
  const auto each =
      static_cast<std::size_t>(std::max(1, threads)) / std::max<std::size_t>(1, searches);
  return std::clamp(each, usual.compiled_ahead, 3 * usual.looks_at_once);
}

std::string strategy_list() {
  std::string list;
  for (const auto& [value, text] : strategy_names)
    list.append(list.empty() ? "" : ", ").append(text);
  return list;
}

std::string_view name(Left left) {
  for (const auto& [value, text] : left_names)
    if (value == left) return text;
  return "?";
}

Batch PoolSearcher::batch(const std::vector<std::size_t>& candidates, int samples, bool joint) {
  joint_ = joint;
  Batch batch{joint, {}};
  for (const std::size_t candidate : candidates) {
    pool_.count_round(candidate);
    batch.asks.push_back({candidate, samples});
  }
  return batch;
}

Exhaustive::Exhaustive(std::vector<SearchCandidate> candidates, const SearchOptions& options)
    : PoolSearcher(std::move(candidates), options), waiting_(pool_.size()) {
  // A candidate's place depends on its name and the seed alone: problems that are cut short try the
  // same tiles, which are compiled once.
  std::vector<std::uint64_t> places;
  for (const SearchCandidate& candidate : pool_.candidates())
    places.push_back(hash_bytes(candidate.variant + " " + describe(candidate.tile),
                                hash_bytes(std::to_string(options.seed))));
  std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
}

std::vector<std::size_t> Exhaustive::unsettled() const {
  const TimingPolicy& timing = pool_.options().timing;
  std::vector<std::size_t> list;
  for (const std::size_t i : block_) {
    if (!pool_.is_open(i)) continue;
    const auto samples = pool_.judged(i);
    const auto count = static_cast<int>(samples.size());
    if (count >= std::min(timing.max_samples, most_samples_of_all)) continue;
    if (count >= timing.min_samples && relative_noise(samples) <= timing.max_noise) continue;
    list.push_back(i);
  }
  return list;
}

void Exhaustive::drop_the_clearly_slower(double share) {
  for (const std::size_t i : block_)
    if (pool_.is_open(i) && pool_.is_measured(i) &&
        pool_.seconds(i) > (1 + share) * pool_.seconds(*pool_.best()))
      pool_.leave(i, Left::slower);
}

Batch Exhaustive::next() {
  const auto& share = pool_.options().clearly_slower;
  while (true) {
    if (!looked_) {
      looked_ = true;
      return batch(block_, samples_of_a_first_look, false);
    }
    if (share) drop_the_clearly_slower(*share);
    const auto list = unsettled();
    if (!list.empty()) return batch(list, std::max(1, pool_.options().timing.min_samples), true);
    if (waiting_.empty()) break;
    const auto count = static_cast<std::ptrdiff_t>(std::min(block_length, waiting_.size()));
    block_.assign(waiting_.begin(), waiting_.begin() + count);
    waiting_.erase(waiting_.begin(), waiting_.begin() + count);
    looked_ = !share;
  }
  pool_.close(Left::end, Left::unvisited);
  return {};
}

std::unique_ptr<Searcher> make_searcher(Strategy strategy, std::vector<SearchCandidate> candidates,
                                        const SearchOptions& options) {
  if (strategy == Strategy::exhaustive)
    return std::make_unique<Exhaustive>(std::move(candidates), options);
  return std::make_unique<Guided>(std::move(candidates), options);
}

}  // namespace gla_bench::search
