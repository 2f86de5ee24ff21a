#include "harness/cost_model/regression.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>

namespace gla_bench::cost_model {
namespace {

/// Solves A x = b for a symmetric positive definite A by Cholesky's decomposition.
std::vector<double> solve(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(std::max(a[j][j], 1e-12));
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

void fit_linear(const Rows& rows, const std::vector<double>& targets, double penalty,
                Regression& regression) {
  const std::size_t count = rows.size(), features = rows.front().size();
  const auto n = static_cast<double>(count);
  std::vector<double> mean(features), spread(features);
  regression.low = regression.high = rows.front();
  for (const auto& row : rows)
    for (std::size_t j = 0; j < features; ++j) {
      mean[j] += row[j] / n;
      regression.low[j] = std::min(regression.low[j], row[j]);
      regression.high[j] = std::max(regression.high[j], row[j]);
    }
  for (const auto& row : rows)
    for (std::size_t j = 0; j < features; ++j)
      spread[j] += (row[j] - mean[j]) * (row[j] - mean[j]) / n;
  for (double& value : spread) value = std::sqrt(value);
  const double middle = std::accumulate(targets.begin(), targets.end(), 0.0) / n;
  std::vector<std::vector<double>> products(features, std::vector<double>(features));
  std::vector<double> right(features);
  // Several rows at a time, so that the table is gone through less often.
  std::array<std::vector<double>, 8> x;
  x.fill(std::vector<double>(features));
  for (std::size_t first = 0; first < count; first += x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool there = first + i < count;
      for (std::size_t j = 0; j < features; ++j) {
        x[i][j] = there && spread[j] > 1e-9 ? (rows[first + i][j] - mean[j]) / spread[j] : 0;
        if (there) right[j] += x[i][j] * (targets[first + i] - middle);
      }
    }
    for (std::size_t j = 0; j < features; ++j) {
      if (spread[j] <= 1e-9) continue;
      double* const to = products[j].data();
      for (std::size_t k = 0; k <= j; ++k)
        to[k] +=
            ((x[0][j] * x[0][k] + x[1][j] * x[1][k]) + (x[2][j] * x[2][k] + x[3][j] * x[3][k])) +
            ((x[4][j] * x[4][k] + x[5][j] * x[5][k]) + (x[6][j] * x[6][k] + x[7][j] * x[7][k]));
    }
  }
  for (std::size_t j = 0; j < features; ++j) products[j][j] += penalty;
  regression.weights = solve(std::move(products), std::move(right));
  regression.constant = middle;
  for (std::size_t j = 0; j < features; ++j) {
    regression.weights[j] = spread[j] > 1e-9 ? regression.weights[j] / spread[j] : 0;
    regression.constant -= regression.weights[j] * mean[j];
  }
}

/// The thresholds between values of a feature, at most so many, each with about as many examples
/// on its two sides as its place says.
std::vector<double> thresholds_of(std::vector<double> values, int most) {
  std::sort(values.begin(), values.end());
  std::vector<double> different = values;
  different.erase(std::unique(different.begin(), different.end()), different.end());
  std::vector<double> list;
  if (static_cast<int>(different.size()) <= most + 1) {
    for (std::size_t i = 1; i < different.size(); ++i)
      list.push_back((different[i - 1] + different[i]) / 2);
    return list;
  }
  for (int i = 1; i <= most; ++i) {
    const double value =
        values[values.size() * static_cast<std::size_t>(i) / static_cast<std::size_t>(most + 1)];
    const auto next = std::upper_bound(different.begin(), different.end(), value);
    if (next == different.end()) continue;
    const double threshold = (value + *next) / 2;
    if (list.empty() || threshold > list.back()) list.push_back(threshold);
  }
  return list;
}

/// The least squares to what a linear part leaves.
class LeastSquares : public Objective {
 public:
  explicit LeastSquares(std::vector<double> targets) : targets_(std::move(targets)) {}

  void look(const std::vector<double>& predicted, std::vector<double>& slopes,
            std::vector<double>& weights) const override {
    for (std::size_t i = 0; i < targets_.size(); ++i) slopes[i] = targets_[i] - predicted[i];
    std::fill(weights.begin(), weights.end(), 1.0);
  }

 private:
  std::vector<double> targets_;
};

/// Examples with their features as numbers of intervals between thresholds.
class Boosting {
 public:
  Boosting(const Rows& rows, const Objective& objective, const RegressionOptions& options)
      : options_(options),
        objective_(objective),
        predicted_(rows.size()),
        slopes_(rows.size()),
        weights_(rows.size()),
        random_(options.seed) {
    const std::size_t features = rows.front().size();
    thresholds_.resize(features);
    columns_.resize(features);
    std::vector<double> column(rows.size());
    for (std::size_t j = 0; j < features; ++j) {
      for (std::size_t i = 0; i < rows.size(); ++i) column[i] = rows[i][j];
      thresholds_[j] = thresholds_of(column, options.thresholds);
      columns_[j].bins.resize(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i)
        columns_[j].bins[i] = static_cast<std::uint8_t>(
            std::lower_bound(thresholds_[j].begin(), thresholds_[j].end(), column[i]) -
            thresholds_[j].begin());
      find_usual(columns_[j], thresholds_[j].size() + 1);
    }
  }

  std::vector<Tree> run() {
    std::vector<Tree> trees;
    for (int t = 0; t < options_.trees; ++t) {
      objective_.look(predicted_, slopes_, weights_);
      if (Tree tree = grow(); !tree.splits.empty()) trees.push_back(std::move(tree));
    }
    return trees;
  }

 private:
  /// Of the examples of one leaf in one interval of a feature.
  struct Cell {
    float slope = 0, weight = 0;  ///< sums

    void add(const Cell& other) {
      slope += other.slope;
      weight += other.weight;
    }
    void take(const Cell& other) {
      slope -= other.slope;
      weight -= other.weight;
    }
  };

  /// A feature of all examples. Where nearly all of them are in one interval, such as a feature of
  /// one variant among all, only the others are looked at.
  struct Column {
    std::vector<std::uint8_t> bins;  ///< by example: its interval
    std::size_t usual = 0;           ///< the interval of most
    bool sparse = false;
    std::vector<std::uint32_t> others;  ///< where sparse: the examples in other intervals
  };

  /// A feature that a tree may ask of: its cells lie by leaf and interval.
  struct Asked {
    std::size_t feature = 0, bins = 0;
    std::vector<Cell> cells;
  };

  static void find_usual(Column& column, std::size_t bins) {
    std::vector<std::size_t> counts(bins);
    for (const std::uint8_t bin : column.bins) ++counts[bin];
    column.usual =
        static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    column.sparse = 8 * (column.bins.size() - counts[column.usual]) < column.bins.size();
    if (!column.sparse) return;
    for (std::size_t i = 0; i < column.bins.size(); ++i)
      if (column.bins[i] != column.usual) column.others.push_back(static_cast<std::uint32_t>(i));
  }

  double share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  Tree grow() {
    std::vector<std::uint32_t> sample;
    for (std::size_t i = 0; i < predicted_.size(); ++i)
      if (share() < options_.rows_per_tree) sample.push_back(static_cast<std::uint32_t>(i));
    asked_.clear();
    for (std::size_t j = 0; j < columns_.size(); ++j)
      if (!thresholds_[j].empty() && share() < options_.features_per_tree)
        asked_.push_back({j, thresholds_[j].size() + 1, {}});
    Tree tree;
    leaf_.assign(predicted_.size(), 0);
    all_.clear();
    count(sample, 0);
    for (int depth = 0; depth < options_.depth; ++depth) {
      const auto best = best_split();
      if (!best) break;
      const auto [feature, bin] = *best;
      tree.splits.push_back({feature, thresholds_[feature][bin]});
      for (std::size_t i = 0; i < predicted_.size(); ++i)
        leaf_[i] |= (columns_[feature].bins[i] > bin ? 1u : 0u) << depth;
      if (depth + 1 < options_.depth) divide(sample, depth);
    }
    std::vector<double> slopes(std::size_t{1} << tree.splits.size()), weights(slopes.size());
    for (const std::uint32_t i : sample) {
      slopes[leaf_[i]] += slopes_[i];
      weights[leaf_[i]] += weights_[i];
    }
    // Few digits are enough for one of hundreds of trees, and make a model's file a third as long.
    for (std::size_t l = 0; l < slopes.size(); ++l)
      tree.leaves.push_back(std::round(1e5 * options_.learning_rate * slopes[l] /
                                       (weights[l] + options_.leaf_weight)) /
                            1e5);
    for (std::size_t i = 0; i < predicted_.size(); ++i) predicted_[i] += tree.leaves[leaf_[i]];
    return tree;
  }

  /// Adds as many leaves as there are (or the first), with these examples: example i is counted
  /// for the new leaf after its own with the depth's bit cleared.
  void count(const std::vector<std::uint32_t>& examples, std::uint32_t clear) {
    const std::size_t before = all_.size(), fresh = std::max<std::size_t>(before, 1);
    all_.resize(before + fresh);
    counted_.assign(predicted_.size(), {});
    for (const std::uint32_t i : examples) {
      counted_[i] = {static_cast<float>(slopes_[i]), static_cast<float>(weights_[i])};
      all_[before + (leaf_[i] & ~clear)].add(counted_[i]);
    }
    for (Asked& one : asked_) {
      const Column& column = columns_[one.feature];
      one.cells.resize((before + fresh) * one.bins);
      Cell* const cells = one.cells.data() + before * one.bins;
      const std::uint8_t* const bins = column.bins.data();
      if (!column.sparse) {
        for (const std::uint32_t i : examples)
          cells[(leaf_[i] & ~clear) * one.bins + bins[i]].add(counted_[i]);
        continue;
      }
      for (const std::uint32_t i : column.others)
        cells[(leaf_[i] & ~clear) * one.bins + bins[i]].add(counted_[i]);
      for (std::size_t l = 0; l < fresh; ++l) {
        Cell usual = all_[before + l];
        for (std::size_t b = 0; b < one.bins; ++b) usual.take(cells[l * one.bins + b]);
        cells[l * one.bins + column.usual] = usual;
      }
    }
  }

  /// Divides each leaf by the bit of `depth`. Only the side with fewer examples is counted, and the
  /// other one is what remains.
  void divide(const std::vector<std::uint32_t>& sample, int depth) {
    const std::uint32_t bit = 1u << depth;
    std::array<std::vector<std::uint32_t>, 2> sides;
    for (const std::uint32_t i : sample) sides[(leaf_[i] & bit) != 0].push_back(i);
    const bool upper = sides[1].size() <= sides[0].size();
    count(sides[upper], bit);
    const auto settle = [&](std::vector<Cell>& cells) {
      const std::size_t half = cells.size() / 2;
      for (std::size_t c = 0; c < half; ++c) {
        cells[c].take(cells[half + c]);
        if (!upper) std::swap(cells[c], cells[half + c]);
      }
    };
    settle(all_);
    for (Asked& one : asked_) settle(one.cells);
  }

  /// The question that leaves the least squares, among a part of the features.
  std::optional<std::pair<std::size_t, std::size_t>> best_split() {
    std::optional<std::pair<std::size_t, std::size_t>> best;
    const auto weight = static_cast<float>(options_.leaf_weight);
    float before = 0, most = 1e-9f;
    for (const Cell& cell : all_) before += cell.slope * cell.slope / (cell.weight + weight);
    for (const Asked& one : asked_) {
      std::array<float, 256> slopes, weights, after{};
      for (std::size_t l = 0; l < all_.size(); ++l) {
        const Cell* const cells = one.cells.data() + l * one.bins;
        const Cell whole = all_[l];
        if (whole.weight < least_weight) continue;
        Cell low;  // up to each threshold
        for (std::size_t b = 0; b + 1 < one.bins; ++b) {
          low.add(cells[b]);
          slopes[b] = low.slope;
          weights[b] = low.weight;
        }
        for (std::size_t b = 0; b + 1 < one.bins; ++b) {
          const float rest = whole.slope - slopes[b];
          after[b] += slopes[b] * slopes[b] / (weights[b] + weight) +
                      rest * rest / (whole.weight - weights[b] + weight);
        }
      }
      for (std::size_t b = 0; b + 1 < one.bins; ++b)
        if (after[b] - before > most) {
          most = after[b] - before;
          best = {one.feature, b};
        }
    }
    return best;
  }

  /// A leaf with less has no example.
  static constexpr float least_weight = 1e-6f;

  RegressionOptions options_;
  const Objective& objective_;
  std::vector<double> predicted_;         ///< by example: what the trees say so far
  std::vector<double> slopes_, weights_;  ///< by example: what the objective says of it
  std::mt19937_64 random_;
  std::vector<std::uint32_t> leaf_;  ///< by example
  std::vector<Cell> all_;            ///< by leaf
  std::vector<Cell> counted_;        ///< by example: nothing of those that count() leaves out
  std::vector<Asked> asked_;
  std::vector<std::vector<double>> thresholds_;  ///< by feature
  std::vector<Column> columns_;                  ///< by feature
};

}  // namespace

double Regression::predict(const std::vector<double>& features) const {
  double value = constant;
  for (std::size_t j = 0; j < weights.size(); ++j)
    value += weights[j] * std::clamp(features[j], low[j], high[j]);
  for (const Tree& tree : trees) {
    std::size_t leaf = 0;
    // Either answer is likely, and a branch would often be mispredicted.
    for (std::size_t i = 0; i < tree.splits.size(); ++i) {
      const auto [feature, threshold] = tree.splits[i];
      leaf |= std::size_t{features[feature] > threshold} << i;
    }
    value += tree.leaves[leaf];
  }
  return value;
}

Regression fit(const Rows& rows, const std::vector<double>& targets,
               const RegressionOptions& options) {
  Regression regression;
  if (rows.empty()) return regression;
  fit_linear(rows, targets, options.linear_weight, regression);
  std::vector<double> left = targets;
  for (std::size_t i = 0; i < rows.size(); ++i) left[i] -= regression.predict(rows[i]);
  regression.trees = Boosting(rows, LeastSquares(std::move(left)), options).run();
  return regression;
}

Regression fit_trees(const Rows& rows, const Objective& objective,
                     const RegressionOptions& options) {
  Regression regression;
  if (rows.empty()) return regression;
  regression.weights.resize(rows.front().size());  // predict() adds a linear part of nothing
  regression.low = regression.high = regression.weights;
  regression.trees = Boosting(rows, objective, options).run();
  return regression;
}

}  // namespace gla_bench::cost_model
