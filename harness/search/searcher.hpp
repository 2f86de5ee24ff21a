#pragma once
// Finds the fastest candidate of a problem. A searcher is asked what to measure next and told the
// results. It has no I/O and no clock, and gives the same answers for the same seed.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tile.hpp"
#include "harness/config/config.hpp"
#include "harness/support/statistics/interval.hpp"

namespace gla_bench::search {

enum class Strategy { guided, exhaustive };
std::string_view name(Strategy strategy);
std::optional<Strategy> parse_strategy(std::string_view text);
/// "guided, exhaustive"
std::string strategy_list();

/// What the search knows of a candidate before it is measured.
struct SearchCandidate {
  std::string variant;
  Tile tile = {};
  double model_bytes = 0;        ///< bytes read and written in theory
  double predicted_seconds = 0;  ///< 0: nothing is predicted
  double predicted_sigma = 1.5;  ///< how sure that is: standard deviation of log2 of the time
  bool is_start = false;         ///< what `auto` takes: the search begins with it
};

/// Asks for this many more samples of a candidate.
struct Ask {
  std::size_t candidate = 0;
  int samples = 1;
};

/// What to measure next. In a joint batch the candidates are sampled in turns, so that drift
/// affects all alike. Otherwise they are sampled one after the other, in whatever order is
/// quickest.
struct Batch {
  bool joint = false;
  std::vector<Ask> asks;
};

/// How the search has left a candidate so far (SearchNote::left uses the same names).
enum class Left { searched, end, slower, traffic, unvisited, failed, stopped };
std::string_view name(Left left);

struct Finding {
  Left left = Left::searched;
  int rounds = 0;                ///< number of batches of samples that it took part in
  std::vector<double> samples;   ///< all samples told so far, in seconds and in order
  std::optional<Interval> own;   ///< its interval when it left, in seconds; nothing without samples
  std::optional<Interval> best;  ///< the interval of the best candidate at that time
  bool crowded_out =
      false;  ///< its interval did not show it slower, but too many candidates were better
};

struct SearchOptions {
  std::uint64_t seed = 1;
  double copy_bytes_per_second =
      0;                        ///< copy bandwidth of the device; 0: unknown, nothing is pruned
  double last_level_cache = 0;  ///< bytes; 0: unknown, nothing is pruned
  double drift =
      0.03;  ///< drift that the device may show between samples that are not taken in turns
  double keep_share =
      0.125;  ///< at most this share of the screened candidates goes into the final race,
  std::size_t keep_least = 8;   ///< or this many where that is more,
  std::size_t final_count = 4;  ///< and at least this many stay until their intervals separate them
  double precision = 0.01;  ///< half-width of the interval to reach for those that stay to the end
  int most_samples = 60;    ///< the most samples of one candidate in the race
  std::size_t looks_at_once = 8;    ///< `guided` looks at so many before it thinks again,
  std::size_t compiled_ahead = 8;   ///< so many that come next are compiled meanwhile,
  std::size_t least_looks = 16;     ///< so many in all where there are as many,
  double least_improvement = 0.01;  ///< and ends where none is expected to be so much faster
  /// `exhaustive` takes samples of each until its noise is small enough by this, 100 at most
  TimingPolicy timing;
  /// `exhaustive` takes a few samples first, and no more where a candidate is then slower than the
  /// best by more than this share; nothing: it samples all alike
  std::optional<double> clearly_slower;
};

/// How many candidates a search has compiled ahead of its looks, where so many threads compile for
/// so many searches: one for each thread, but no fewer than it looks at next, and no more than are
/// likely to be looked at.
std::size_t compiled_ahead(int threads, std::size_t searches);

class Searcher {
 public:
  virtual ~Searcher() = default;

  /// What to measure next. An empty batch means that the search has ended.
  virtual Batch next() = 0;
  /// The candidates that will be asked for after the present batch, in order and as far as known.
  /// They are worth compiling ahead.
  virtual std::vector<std::size_t> outlook() const = 0;
  /// Asked before any time is spent on a candidate. False: it is left out, because moving its
  /// modelled bytes alone takes longer than the best candidate.
  virtual bool wanted(std::size_t candidate) = 0;
  /// Reports samples of a candidate, in seconds.
  virtual void tell(std::size_t candidate, std::span<const double> seconds) = 0;
  /// The candidate is not right, or could not be measured, so it cannot win.
  virtual void fail(std::size_t candidate) = 0;
  /// The budget does not allow trying the candidate, so it is `stopped`.
  virtual void skip(std::size_t candidate) = 0;
  /// The search ends early. Whatever was not settled is `stopped`.
  virtual void stop() = 0;

  /// One for each candidate.
  virtual const std::vector<Finding>& findings() const = 0;
  /// The fastest candidate known so far; nothing before the first sample.
  virtual std::optional<std::size_t> best() const = 0;
  /// The median of the fastest candidate, in seconds.
  virtual double best_seconds() const = 0;
};

/// Makes a searcher for the candidates of one problem. guided: looks at those that predictions
/// promise most of, corrects the predictions by what it sees, then races those that are not clearly
/// slower than the best. exhaustive: samples all by the timing policy, in an order that the seed
/// draws, or all but those that a first look shows to be clearly slower.
std::unique_ptr<Searcher> make_searcher(Strategy strategy, std::vector<SearchCandidate> candidates,
                                        const SearchOptions& options);

}  // namespace gla_bench::search
