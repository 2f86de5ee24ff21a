#include "harness/commands/output_width.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace gla_bench::commands {

std::size_t output_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace gla_bench::commands
