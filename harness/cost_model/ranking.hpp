#pragma once
// Learns in which order the candidates of a problem come, rather than how long each takes:
// LambdaRank (Burges, "From RankNet to LambdaRank to LambdaMART: an overview", 2010).

#include <cstddef>
#include <vector>

#include "harness/cost_model/regression.hpp"

namespace gla_bench::cost_model {

/// The examples of one problem, by their numbers, and how far each is behind the best of them: the
/// log2 of the ratio of times.
struct Contest {
  std::vector<std::size_t> examples;
  std::vector<double> behind;
};

/// Trees towards it give scores, of which a higher one should be that of a faster candidate. Two
/// candidates of a problem pull apart by how much would be gained by exchanging their places, most
/// where the better one is not first.
class Ranking : public Objective {
 public:
  /// @param places how many of the first places count
  explicit Ranking(std::vector<Contest> contests, std::size_t places = 30);

  void look(const std::vector<double>& predicted, std::vector<double>& slopes,
            std::vector<double>& weights) const override;

 private:
  void pull(const Contest& contest, const std::vector<double>& gains,
            const std::vector<double>& predicted, std::vector<double>& slopes,
            std::vector<double>& weights) const;

  std::vector<Contest> contests_;
  std::vector<std::vector<double>> gains_;  ///< by contest and candidate, over the best order's
  std::size_t places_;
};

}  // namespace gla_bench::cost_model
