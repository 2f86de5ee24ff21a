#include "harness/commands/shared/output_width.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace gla_bench::commands {

std::size_t output_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

void add_color_option(CLI::App& command, std::string& choice) {
  command
      .add_option("--color", choice,
                  "colours of tables: auto (the default: on a terminal), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

bool is_coloured(const std::string& choice) {
  return choice == "always" || (choice == "auto" && ::isatty(STDOUT_FILENO) == 1);
}

}  // namespace gla_bench::commands
