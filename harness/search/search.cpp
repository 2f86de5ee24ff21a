#include "harness/search/search.hpp"

#include <algorithm>
#include <limits>

namespace gla_bench::search {
namespace {

constexpr int samples_of_a_turn = 4;

}  // namespace

Search::Search(Searcher& searcher, const Budget& budget, std::function<double()> seconds)
    : searcher_(searcher),
      budget_(budget),
      conditions_(stop_conditions(budget)),
      seconds_(std::move(seconds)) {}

BudgetState Search::state() {
  BudgetState worst = BudgetState::left;
  for (const auto& condition : conditions_) {
    const BudgetState state = condition->state(spent());
    if (state == BudgetState::left) continue;
    if (stop_text_.empty()) stop_text_ = condition->text();
    worst = std::max(worst, state);
  }
  return worst;
}

bool Search::admits(std::size_t candidate) {
  if (!searcher_.wanted(candidate)) return false;
  if (tried_.contains(candidate)) return true;
  if (state() != BudgetState::left) {
    searcher_.skip(candidate);
    return false;
  }
  return true;
}

std::size_t Search::room() const {
  if (!budget_.candidates) return std::numeric_limits<std::size_t>::max();
  return *budget_.candidates > tried_.size() ? *budget_.candidates - tried_.size() : 0;
}

void Search::tell(std::size_t candidate, std::span<const double> seconds) {
  searcher_.tell(candidate, seconds);
}

void Search::fail(std::size_t candidate) {
  searcher_.fail(candidate);
}

bool Search::is_over() {
  return interrupted_ || state() == BudgetState::over;
}

void run_search(Searcher& searcher, Search& search, Measurer& measurer) {
  while (!search.is_over()) {
    const Batch batch = searcher.next();
    if (batch.asks.empty()) return;
    measurer.measure(batch, searcher.outlook(), search);
  }
  searcher.stop();
}

std::vector<Turn> turns_of(const Batch& batch, std::mt19937_64& random) {
  std::vector<Ask> left = batch.asks;
  std::vector<Turn> turns;
  while (!left.empty()) {
    for (std::size_t i = left.size(); i > 1; --i)
      std::swap(left[i - 1], left[static_cast<std::size_t>(random() % i)]);
    for (Ask& ask : left) {
      const int kept = std::min(ask.samples, samples_of_a_turn);
      turns.push_back({ask.candidate, 1, kept});
      ask.samples -= kept;
    }
    std::erase_if(left, [](const Ask& ask) { return ask.samples <= 0; });
  }
  return turns;
}

}  // namespace gla_bench::search
