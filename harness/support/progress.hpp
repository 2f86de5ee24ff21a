#pragma once
// Shows how far a long command has come. On a terminal, standard error has one line that is
// rewritten; elsewhere plain lines come at most every few seconds.

#include <chrono>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <optional>
#include <string>

namespace gla_bench {

/// "[#####---------------]  12/48  1m05s left  verify chunk_fused ...", cut to `width` columns.
/// `left_seconds`: nothing where it cannot be told yet.
std::string progress_line(std::size_t width, std::size_t done, std::size_t total,
                          std::optional<double> left_seconds, const std::string& what);

/// "45s", "1m05s", "2h03m"
std::string format_duration(double seconds);

/// Several threads may report to one.
class Progress {
 public:
  struct Style {
    bool terminal = false;
    std::size_t width = 100;
    double every_seconds = 5;       ///< between plain lines
    std::function<double()> clock;  ///< seconds; empty: the steady clock
  };

  Progress(std::ostream& out, std::size_t total, Style style);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Sets what is being done now.
  void at(const std::string& what);
  /// Counts steps as done.
  void advance(std::size_t steps = 1);
  /// Removes steps that will not be run.
  void skip(std::size_t steps);
  /// Sets how long the rest takes from now on, where the caller knows better. Otherwise the
  /// estimate is the mean of all steps so far.
  void expect_left(double seconds);
  /// Prints a line that stays.
  void message(const std::string& line);
  /// Removes the bar.
  void finish();

 private:
  double now() const;
  std::optional<double> left(double time) const;
  void draw();
  void erase();

  std::mutex mutex_;  ///< of all that follows
  std::ostream& out_;
  Style style_;
  std::size_t total_;
  std::size_t done_ = 0;
  double start_;
  double drawn_;
  std::optional<double> ends_;  // when the rest will be over, as the caller said
  std::string what_;
  bool bar_ = false;  // a bar stands on the terminal's last line
};

/// Progress on standard error as it is: a bar as wide as the terminal, or plain lines.
Progress::Style stderr_style();

}  // namespace gla_bench
