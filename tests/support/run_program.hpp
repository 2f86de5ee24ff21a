#pragma once
// Runs the program itself, as a user at a terminal does.

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/support/places.hpp"

namespace gla_bench {

struct Outcome {
  int code = -1;
  std::string text;  ///< standard output and error together
  bool has(const std::string& part) const { return text.find(part) != std::string::npos; }
};

inline Outcome program(const std::string& arguments) {
  const std::string command = std::string(places::program) + " " + arguments + " 2>&1 </dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  Outcome outcome;
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  while (const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.text.append(buffer.data(), read);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  return outcome;
}

}  // namespace gla_bench
