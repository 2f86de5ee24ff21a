#include "harness/cost_model/regression.hpp"

#include <algorithm>
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
  std::vector<double> x(features);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < features; ++j)
      x[j] = spread[j] > 1e-9 ? (rows[i][j] - mean[j]) / spread[j] : 0;
    for (std::size_t j = 0; j < features; ++j) {
      right[j] += x[j] * (targets[i] - middle);
      for (std::size_t k = 0; k <= j; ++k) products[j][k] += x[j] * x[k];
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

/// Examples with their features as numbers of intervals between thresholds.
class Boosting {
 public:
  Boosting(const Rows& rows, std::vector<double> left, const RegressionOptions& options)
      : options_(options), left_(std::move(left)), random_(options.seed) {
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
    for (int t = 0; t < options_.trees; ++t)
      if (Tree tree = grow(); !tree.splits.empty()) trees.push_back(std::move(tree));
    return trees;
  }

 private:
  struct Cell {
    double sum = 0, count = 0;

    void add(const Cell& other) {
      sum += other.sum;
      count += other.count;
    }
    void take(const Cell& other) {
      sum -= other.sum;
      count -= other.count;
    }
  };

  /// A feature of all examples. Where most of them are in one interval, such as a feature of one
  /// variant among all, only the others are looked at.
  struct Column {
    std::vector<std::uint8_t> bins;  ///< by example: its interval
    std::size_t usual = 0;           ///< the interval of most
    bool sparse = false;
    std::vector<std::uint32_t> others;  ///< where sparse: the examples in other intervals
  };

  static void find_usual(Column& column, std::size_t bins) {
    std::vector<std::size_t> counts(bins);
    for (const std::uint8_t bin : column.bins) ++counts[bin];
    column.usual =
        static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    column.sparse = 2 * counts[column.usual] > column.bins.size();
    if (!column.sparse) return;
    for (std::size_t i = 0; i < column.bins.size(); ++i)
      if (column.bins[i] != column.usual) column.others.push_back(static_cast<std::uint32_t>(i));
  }

  /// An example of a tree's sample, kept together for the loop that all time goes into.
  struct Sampled {
    double left = 0;
    std::uint32_t leaf = 0, example = 0;
  };

  double share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double score(const Cell& cell) const {
    return cell.sum * cell.sum / (cell.count + options_.leaf_weight);
  }

  Tree grow() {
    std::vector<std::size_t> sample;
    for (std::size_t i = 0; i < left_.size(); ++i)
      if (share() < options_.rows_per_tree) sample.push_back(i);
    Tree tree;
    std::vector<std::uint32_t> leaf(left_.size(), 0);
    for (int depth = 0; depth < options_.depth; ++depth) {
      const auto best = best_split(sample, leaf, std::size_t{1} << depth);
      if (!best) break;
      const auto [feature, bin] = *best;
      tree.splits.push_back({feature, thresholds_[feature][bin]});
      for (std::size_t i = 0; i < left_.size(); ++i)
        leaf[i] |= (columns_[feature].bins[i] > bin ? 1u : 0u) << depth;
    }
    std::vector<Cell> cells(std::size_t{1} << tree.splits.size());
    for (const std::size_t i : sample) {
      cells[leaf[i]].sum += left_[i];
      ++cells[leaf[i]].count;
    }
    for (const Cell& cell : cells)
      tree.leaves.push_back(options_.learning_rate * cell.sum /
                            (cell.count + options_.leaf_weight));
    for (std::size_t i = 0; i < left_.size(); ++i) left_[i] -= tree.leaves[leaf[i]];
    return tree;
  }

  /// The question that leaves the least squares, among a part of the features.
  std::optional<std::pair<std::size_t, std::size_t>> best_split(
      const std::vector<std::size_t>& sample, const std::vector<std::uint32_t>& leaf,
      std::size_t leaves) {
    std::optional<std::pair<std::size_t, std::size_t>> best;
    double most = 1e-9;
    std::vector<Cell> cells, all(leaves);
    sampled_.clear();
    in_sample_.assign(left_.size(), {});
    for (const std::size_t i : sample) {
      in_sample_[i] = {left_[i], 1};
      all[leaf[i]].add(in_sample_[i]);
      sampled_.push_back({left_[i], leaf[i], static_cast<std::uint32_t>(i)});
    }
    double before = 0;
    for (const Cell& cell : all) before += score(cell);
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const std::size_t bins = thresholds_[j].size() + 1;
      if (bins < 2 || share() >= options_.features_per_split) continue;
      cells.assign(leaves * bins, {});
      const Column& column = columns_[j];
      const std::uint8_t* const bin_of = column.bins.data();
      if (column.sparse) {
        for (const std::uint32_t i : column.others)
          cells[leaf[i] * bins + bin_of[i]].add(in_sample_[i]);
        for (std::size_t l = 0; l < leaves; ++l) {
          Cell usual = all[l];
          for (std::size_t b = 0; b < bins; ++b) usual.take(cells[l * bins + b]);
          cells[l * bins + column.usual] = usual;
        }
      } else {
        for (const Sampled& one : sampled_)
          cells[one.leaf * bins + bin_of[one.example]].add({one.left, 1});
      }
      for (std::size_t l = 0; l < leaves; ++l)  // sums up to each threshold
        for (std::size_t b = 1; b < bins; ++b) {
          cells[l * bins + b].sum += cells[l * bins + b - 1].sum;
          cells[l * bins + b].count += cells[l * bins + b - 1].count;
        }
      for (std::size_t b = 0; b + 1 < bins; ++b) {
        double after = 0;
        for (std::size_t l = 0; l < leaves; ++l) {
          const Cell& low = cells[l * bins + b];
          after += score(low) + score({all[l].sum - low.sum, all[l].count - low.count});
        }
        if (after - before > most) {
          most = after - before;
          best = {j, b};
        }
      }
    }
    return best;
  }

  RegressionOptions options_;
  std::vector<double> left_;  ///< what is not explained yet, by example
  std::mt19937_64 random_;
  std::vector<Sampled> sampled_;
  std::vector<Cell> in_sample_;  ///< by example: nothing of those that are not in a tree's sample
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
    for (std::size_t i = 0; i < tree.splits.size(); ++i)
      if (features[tree.splits[i].feature] > tree.splits[i].threshold) leaf |= std::size_t{1} << i;
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
  regression.trees = Boosting(rows, std::move(left), options).run();
  return regression;
}

}  // namespace gla_bench::cost_model
