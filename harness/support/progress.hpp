#pragma once
// How far a long command is: one line that is rewritten where standard error is a terminal, plain
// lines at most every few seconds elsewhere.

#include <chrono>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

namespace gla_bench {

/// "[#####---------------]  12/48  1m05s left  verify chunk_fused ...", cut to `width` columns.
/// `left_seconds`: nothing where it cannot be told yet.
std::string progress_line(std::size_t width, std::size_t done, std::size_t total,
                          std::optional<double> left_seconds, const std::string& what);

/// "45s", "1m05s", "2h03m"
std::string format_duration(double seconds);

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

  /// What is in hand now.
  void at(const std::string& what);
  /// Steps that are over.
  void advance(std::size_t steps = 1);
  /// Steps that will not come.
  void skip(std::size_t steps);
  /// How long the rest takes from now on, by whoever knows better than the mean of all steps so
  /// far, which stands there otherwise.
  void expect_left(double seconds);
  /// A line that stays.
  void message(const std::string& line);
  /// Takes the bar away.
  void finish();

 private:
  double now() const;
  std::optional<double> left(double time) const;
  void draw();

  std::ostream& out_;
  Style style_;
  std::size_t total_;
  std::size_t done_ = 0;
  double start_;
  double drawn_;
  std::optional<double> ends_;  // when the rest is over, as it was told
  std::string what_;
  bool bar_ = false;  // a bar stands on the terminal's last line
};

/// Standard error as it is: a terminal's width, or plain lines.
Progress::Style stderr_style();

}  // namespace gla_bench
