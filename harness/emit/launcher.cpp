#include "harness/emit/launcher.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

/// gla_forward -> GlaForwardProblem
std::string struct_name(const std::string& name) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    const bool small = c >= 'a' && c <= 'z';
    text += upper && small ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return text + "Problem";
}

}  // namespace

std::string launcher_name(const Problem& problem) {
  return problem.op + "_" + std::string(name(problem.direction));
}

bool is_launcher_name(std::string_view text) {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z' && text.size() <= 60 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

std::vector<std::string> extent_names(const RunTimeCall& call) {
  std::vector<std::string> names;
  for (const RunTimeExtent& extent : call.extents) names.push_back(extent.name);
  return names;
}

std::string member_name(const std::string& name) {
  constexpr std::array words{"auto",   "bool",   "case",   "char",   "class",  "const",  "default",
                             "delete", "do",     "double", "else",   "enum",   "false",  "float",
                             "for",    "if",     "int",    "long",   "new",    "public", "return",
                             "short",  "signed", "static", "struct", "switch", "this",   "true",
                             "union",  "using",  "void",   "while"};
  return std::find(words.begin(), words.end(), name) == words.end() ? name : name + "_";
}

bool takes_scale(const Call<ExtentFormula>& call) {
  const auto is_scale = [](const CallValue<ExtentFormula>& value) {
    return value.origin == Origin::scale;
  };
  if (std::any_of(call.parameters.begin(), call.parameters.end(), is_scale)) return true;
  for (const auto& step : call.steps)
    if (const auto* launch = std::get_if<CallLaunch<ExtentFormula>>(&step))
      if (std::any_of(launch->arguments.begin(), launch->arguments.end(), is_scale)) return true;
  return false;
}

Launcher launcher_of(const LauncherRequest& request) {
  if (!is_launcher_name(request.name))
    throw InputError("--name: found \"" + printable(request.name, 80) +
                     "\", expected small letters, digits and _, a letter first");
  Launcher launcher{request.name, struct_name(request.name),
                    run_time_call(request.op, request.candidate, request.limits), "", ""};
  launcher.header = header_text(request, launcher);
  launcher.cuda = cuda_text(request, launcher);
  return launcher;
}

}  // namespace gla_bench
