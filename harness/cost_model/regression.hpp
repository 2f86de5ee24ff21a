#pragma once
// Predicts a number from features, learnt from examples: a linear part (ridge regression) and
// boosted trees on what that leaves. The trees are oblivious: all nodes of one depth ask the same
// question, so that a tree is a short list of questions and a table of answers (Prokhorenkova et
// al., "CatBoost: unbiased boosting with categorical features", 2018).

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gla_bench::cost_model {

/// Features by example: rows[i][j] is feature j of example i.
using Rows = std::vector<std::vector<double>>;

struct Split {
  std::size_t feature = 0;
  double threshold = 0;  ///< the answer is whether the feature is above it
};

struct Tree {
  std::vector<Split> splits;
  std::vector<double> leaves;  ///< 2^splits: bit i of the index is the answer to splits[i]
};

/// What trees are grown towards, from what they say so far.
class Objective {
 public:
  virtual ~Objective() = default;
  /// By example: which way and how strongly its prediction should move, and how much that counts.
  /// A leaf moves by the sum of `slopes` over that of `weights`. Both have the examples' number.
  virtual void look(const std::vector<double>& predicted, std::vector<double>& slopes,
                    std::vector<double>& weights) const = 0;
};

struct RegressionOptions {
  int trees = 200;
  int depth = 5;
  double learning_rate = 0.1;
  double leaf_weight = 2;     ///< examples of 0 that each leaf is averaged with
  double linear_weight = 30;  ///< the ridge's penalty on standardised weights
  double rows_per_tree = 0.7, features_per_tree = 0.5;
  int thresholds = 32;  ///< of a feature at most; below 256
  std::uint64_t seed = 1;
};

struct Regression {
  double constant = 0;
  std::vector<double> weights;    ///< by feature
  std::vector<double> low, high;  ///< the linear part takes features within what it has seen
  std::vector<Tree> trees;

  double predict(const std::vector<double>& features) const;
};

/// Gives the same for the same examples and options on every machine with the same floating-point
/// arithmetic. Without examples it predicts 0.
Regression fit(const Rows& rows, const std::vector<double>& targets,
               const RegressionOptions& options = {});

/// The same by trees alone, towards an objective that is of these rows.
Regression fit_trees(const Rows& rows, const Objective& objective,
                     const RegressionOptions& options);

}  // namespace gla_bench::cost_model
