#include "harness/support/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ostream>

namespace gla_bench {

std::string format_duration(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::max(0.0, seconds)));
  std::array<char, 48> text{};
  if (whole < 60)
    std::snprintf(text.data(), text.size(), "%llds", whole);
  else if (whole < 3600)
    std::snprintf(text.data(), text.size(), "%lldm%02llds", whole / 60, whole % 60);
  else
    std::snprintf(text.data(), text.size(), "%lldh%02lldm", whole / 3600, whole % 3600 / 60);
  return text.data();
}

std::string progress_line(std::size_t width, std::size_t done, std::size_t total,
                          std::optional<double> left_seconds, const std::string& what) {
  constexpr std::size_t cells = 20;
  const std::size_t filled = total == 0 ? cells : std::min(cells, cells * done / total);
  std::string line = "[" + std::string(filled, '#') + std::string(cells - filled, '-') + "] ";
  line += std::to_string(done) + "/" + std::to_string(total);
  if (left_seconds && done < total) line += "  " + format_duration(*left_seconds) + " left";
  line += "  " + what;
  if (line.size() > width) line.resize(width);
  return line;
}

Progress::Progress(std::ostream& out, std::size_t total, Style style)
    : out_(out), style_(std::move(style)), total_(total), start_(now()), drawn_(start_) {}

Progress::~Progress() {
  finish();
}

double Progress::now() const {
  if (style_.clock) return style_.clock();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<double> Progress::left(double time) const {
  if (ends_) return std::max(0.0, *ends_ - time);
  if (done_ == 0) return std::nullopt;
  return (time - start_) / static_cast<double>(done_) * static_cast<double>(total_ - done_);
}

void Progress::expect_left(double seconds) {
  const std::lock_guard lock(mutex_);
  ends_ = now() + seconds;
}

void Progress::draw() {
  const double time = now();
  if (style_.terminal) {
    out_ << "\r\033[K" << progress_line(style_.width - 1, done_, total_, left(time), what_)
         << std::flush;
    bar_ = true;
    return;
  }
  if (time - drawn_ < style_.every_seconds) return;
  drawn_ = time;
  out_ << progress_line(500, done_, total_, left(time), what_) << std::endl;
}

void Progress::at(const std::string& what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
  draw();
}

void Progress::advance(std::size_t steps) {
  const std::lock_guard lock(mutex_);
  done_ = std::min(total_, done_ + steps);
  draw();
}

void Progress::skip(std::size_t steps) {
  const std::lock_guard lock(mutex_);
  total_ -= std::min(total_ - done_, steps);
}

void Progress::message(const std::string& line) {
  const std::lock_guard lock(mutex_);
  erase();
  out_ << line << std::endl;
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  erase();
}

void Progress::erase() {
  if (bar_) out_ << "\r\033[K" << std::flush;
  bar_ = false;
}

Progress::Style stderr_style() {
  Progress::Style style;
  style.terminal = ::isatty(STDERR_FILENO) == 1;
  winsize size{};
  if (style.terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
    style.width = size.ws_col;
  return style;
}

}  // namespace gla_bench
