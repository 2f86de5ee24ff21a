#include "harness/search/stop_condition.hpp"

#include <sstream>

namespace gla_bench::search {
namespace {

class Seconds final : public StopCondition {
 public:
  explicit Seconds(double most) : most_(most) {}
  BudgetState state(const Spent& spent) const override {
    if (!(spent.seconds < most_)) return BudgetState::over;
    return spent.seconds < share_for_new * most_ ? BudgetState::left : BudgetState::running_out;
  }
  std::string text() const override {
    std::ostringstream text;
    text << "the budget of " << most_ << " s is used up";
    return text.str();
  }

 private:
  static constexpr double share_for_new = 0.9;
  double most_;
};

class Candidates final : public StopCondition {
 public:
  explicit Candidates(std::size_t most) : most_(most) {}
  BudgetState state(const Spent& spent) const override {
    return spent.candidates < most_ ? BudgetState::left : BudgetState::running_out;
  }
  std::string text() const override {
    return "the budget of " + std::to_string(most_) + " candidates is used up";
  }

 private:
  std::size_t most_;
};

}  // namespace

Budget guided_budget(const Budget& asked, bool replayed) {
  constexpr double usual_seconds = 20;
  // Where more promise to be faster, predictions are far off, and compiling costs most of the time.
  constexpr std::size_t usual_candidates = 40;
  Budget budget = asked;
  if (!asked.seconds && !asked.candidates) budget.candidates = usual_candidates;
  if (!asked.seconds && !replayed) budget.seconds = usual_seconds;
  return budget;
}

std::vector<std::unique_ptr<StopCondition>> stop_conditions(const Budget& budget) {
  std::vector<std::unique_ptr<StopCondition>> list;
  if (budget.seconds) list.push_back(std::make_unique<Seconds>(*budget.seconds));
  if (budget.candidates) list.push_back(std::make_unique<Candidates>(*budget.candidates));
  return list;
}

}  // namespace gla_bench::search
