#pragma once
// Which candidate of a problem is the fastest? A searcher is asked what to measure next and told
// what came of it: no I/O, no clock, the same answers for the same seed.

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

enum class Strategy { halving, exhaustive, random, local };
std::string_view name(Strategy strategy);
std::optional<Strategy> parse_strategy(std::string_view text);
/// "halving, exhaustive, ..."
std::string strategy_list();

/// A candidate as the search knows it before it is measured.
struct SearchCandidate {
  std::string variant;
  Tile tile;
  double model_bytes = 0;  ///< read and written, on paper
};

/// So many more samples of a candidate.
struct Ask {
  std::size_t candidate = 0;
  int samples = 1;
};

/// What to measure next. In a joint batch samples are taken in turns, so that drift hits all alike;
/// otherwise one candidate after the other, in whatever order is quickest.
struct Batch {
  bool joint = false;
  std::vector<Ask> asks;
};

/// How a candidate came out of the search so far (SearchNote::left names the same).
enum class Left { searched, end, slower, traffic, unvisited, failed, stopped };
std::string_view name(Left left);

struct Finding {
  Left left = Left::searched;
  int rounds = 0;                ///< batches of samples that it took part in
  std::vector<double> samples;   ///< seconds, all that were told, in order
  std::optional<Interval> own;   ///< when it left, in seconds; nothing without samples
  std::optional<Interval> best;  ///< the best's then
  bool crowded_out = false;      ///< slower, not by its interval: too many were better
};

struct SearchOptions {
  std::uint64_t seed = 1;
  double copy_bytes_per_second = 0;  ///< what the device copies at; 0: unknown, nothing is pruned
  double last_level_cache = 0;       ///< bytes; 0: unknown, nothing is pruned
  double drift = 0.03;          ///< that the device may show between samples that are not in turns
  double keep_share = 0.125;    ///< at most so many of the screened go into the race of the best,
  std::size_t keep_least = 8;   ///< or this many,
  std::size_t final_count = 4;  ///< and at least this many stay until intervals part them
  double precision = 0.01;      ///< half an interval of those that stay to the end
  int most_samples = 60;        ///< of one candidate in the race
  double random_share = 0.2;    ///< `random` screens this share,
  double local_share = 0.3;     ///< `local` visits at most this share of the candidates,
  std::size_t least_visited = 24;  ///< but so many at least
  /// `exhaustive` takes samples of each until its noise is small enough by this, 100 at most
  TimingPolicy timing;
};

class Searcher {
 public:
  virtual ~Searcher() = default;

  /// What to measure next; without asks the search has come to its end.
  virtual Batch next() = 0;
  /// Candidates that will be asked for after the present batch, as far as that is known, in order:
  /// worth compiling ahead.
  virtual std::vector<std::size_t> outlook() const = 0;
  /// Asked before a candidate costs anything. False: it is left out, because its modelled bytes
  /// alone take longer than the best candidate.
  virtual bool wanted(std::size_t candidate) = 0;
  /// Samples of a candidate, in seconds.
  virtual void tell(std::size_t candidate, std::span<const double> seconds) = 0;
  /// The candidate is not right, or could not be measured: it can not win.
  virtual void fail(std::size_t candidate) = 0;
  /// The budget does not allow to try the candidate: it is `stopped`.
  virtual void skip(std::size_t candidate) = 0;
  /// The search ends before its time: what was not settled is `stopped`.
  virtual void stop() = 0;

  /// One for each candidate.
  virtual const std::vector<Finding>& findings() const = 0;
  /// The fastest by what is known now; nothing before the first sample.
  virtual std::optional<std::size_t> best() const = 0;
  /// Its median, seconds.
  virtual double best_seconds() const = 0;
};

/// A search among these candidates, of one problem. halving: one sample of each, then more and more
/// of those that are not clear of the best. exhaustive: all by the timing policy. random: halving
/// among some. local: from the best of some to its neighbours along one axis, with restarts, then
/// halving among the visited.
std::unique_ptr<Searcher> make_searcher(Strategy strategy, std::vector<SearchCandidate> candidates,
                                        const SearchOptions& options);

}  // namespace gla_bench::search
