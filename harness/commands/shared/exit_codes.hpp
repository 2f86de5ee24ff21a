#pragma once
// What the program's exit codes mean, for the help and the manual page.

#include <array>
#include <string_view>

namespace gla_bench::commands {

struct ExitCode {
  std::string_view code;
  std::string_view meaning;
};

constexpr std::array<ExitCode, 7> exit_codes{
    {{"0", "done"},
     {"1", "a check failed: a wrong result, a crash"},
     {"2", "bad usage or bad input"},
     {"3", "a regression: slower, or less accurate"},
     {"4", "inconclusive"},
     {"5", "the machine failed: a full disk, for example"},
     {"> 128",
      "128 + the signal's number: ended by SIGINT (130) or SIGTERM (143), with everything kept"}}};

}  // namespace gla_bench::commands
