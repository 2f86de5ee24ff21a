#include "harness/config/candidates/describe_function.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/error.hpp"
#include "harness/config/candidates/functions.hpp"
#include "harness/records/selection.hpp"

namespace gla_bench {
namespace {

namespace fs = std::filesystem;

std::string interpreter() {
  const char* named = std::getenv(python_variable);
  return named != nullptr && *named != '\0' ? named : "python3";
}

/// The folder of the package gla_bench, which lies beside the program in a build's folder and
/// around it where pip has installed it; empty where Python has to find it by itself.
fs::path package_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path built = program.parent_path() / "python";
  if (fs::exists(built / "gla_bench" / "__init__.py", error)) return built;
  const fs::path installed = program.parent_path().parent_path();
  if (installed.filename() == "gla_bench" && fs::exists(installed / "__init__.py", error))
    return installed.parent_path();
  return {};
}

/// PYTHONPATH with the package's folder behind what it has.
void find_package() {
  const fs::path folder = package_folder();
  if (folder.empty()) return;
  const char* before = std::getenv("PYTHONPATH");
  const std::string kept = before != nullptr ? before : "";
  if ((":" + kept + ":").find(":" + folder.string() + ":") != std::string::npos) return;
  ::setenv("PYTHONPATH", (kept.empty() ? folder.string() : kept + ":" + folder.string()).c_str(),
           1);
}

/// What a command prints to standard output. @throws InputError
std::string output_of(const std::string& command, const std::string& what) {
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) throw InputError(what + ": " + std::strerror(errno));
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), count);
  const int status = ::pclose(pipe);
  if (status == 0) return text;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  throw InputError(what + (code == 127 ? ": there is no " + interpreter() + " (" + python_variable +
                                             " names another)"
                                       : ": Python could not say what it is"));
}

}  // namespace

std::string described_function(const std::string& function) {
  const FunctionPlace place = *function_place(function);
  std::error_code error;
  if (!fs::exists(place.file, error)) throw InputError(place.file + ": there is no such file");
  if (FunctionRuntime* runtime = function_runtime()) return runtime->manifest_of(function);
  find_package();
  return output_of(
      shell_quoted(interpreter()) + " -m gla_bench._describe " + shell_quoted(function), function);
}

bool has_functions(const Catalog& catalog) {
  return std::any_of(catalog.variants.begin(), catalog.variants.end(), [](const Variant& variant) {
    return !variant.manifest.empty() && variant.sources.front().ends_with(".py");
  });
}

bool has_functions(const std::vector<std::string>& manifests) {
  return std::any_of(manifests.begin(), manifests.end(),
                     [](const std::string& path) { return function_place(path).has_value(); });
}

void become_python(const std::vector<std::string>& arguments) {
  if (function_runtime() != nullptr) return;
  find_package();
  std::vector<std::string> texts{interpreter(), "-m", "gla_bench._serve"};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  throw InputError(texts.front() + ", which functions of Python run in, cannot be started: " +
                   std::strerror(errno) + " (" + python_variable + " names another)");
}

}  // namespace gla_bench
