#include "harness/config/candidates/describe_function.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/error.hpp"
#include "harness/config/candidates/functions.hpp"
#include "harness/support/printable.hpp"
#include "harness/support/system/isolation.hpp"
#include "harness/support/system/own_files.hpp"

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
  const std::string own = program_folder();
  if (own.empty()) return {};
  std::error_code error;
  const fs::path built = fs::path(own) / "python";
  if (fs::exists(built / "gla_bench" / "__init__.py", error)) return built;
  const fs::path installed = fs::path(own).parent_path();
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

/// Where Python learns what it has been shut off from, for python_facts().
constexpr const char* isolation_variable = "GLA_BENCH_ISOLATION";

/// Where the user sets it, files can be changed: there are machines whose CUDA cannot be
/// initialised by a process that sees all files read-only.
constexpr const char* open_files_variable = "GLA_BENCH_OPEN_FILES";

/// Of the machine's memory, what a process with functions may have.
constexpr double memory_share = 0.9;

void isolate_for_functions(const std::vector<std::string>& writable) {
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  const char* open = std::getenv(open_files_variable);
  const std::string why =
      open != nullptr && *open != '\0' ? std::string(open_files_variable) + " is set" : "";
  const Isolation isolation =
      isolate({writable, static_cast<std::uint64_t>(memory_share * memory), why});
  ::setenv(isolation_variable, describe(isolation).c_str(), 1);
}

/// Becomes the interpreter, or returns where that cannot be.
void start_python(const std::vector<std::string>& arguments) {
  std::vector<std::string> texts{interpreter()};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
}

std::string no_python() {
  return "there is no " + interpreter() + " (" + python_variable + " names another)";
}

constexpr int no_such_program = 127;  // as a shell has it

/// For importing a module, which may import a framework that takes long.
constexpr std::chrono::seconds most_seconds{120};
constexpr std::size_t most_answer = std::size_t{1} << 20;  // bytes
constexpr std::size_t most_reason = 500;                   // characters

/// What comes out of a pipe until it is closed, or nothing where that takes too long. More than an
/// answer may have is left in it.
std::optional<std::string> read_all(int pipe) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + most_seconds;
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < most_answer) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd ready{pipe, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0)
      return std::nullopt;
    const ssize_t count = ::read(pipe, part.data(), part.size());
    if (count == 0 || (count < 0 && errno != EINTR)) break;
    if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

/// The status of a process that has said all it will say, and is ended if it goes on.
int status_of(pid_t child) {
  int status = -1;
  for (int looks = 0; looks < 500; ++looks) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    ::usleep(10000);
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// What a Python of its own prints to standard output. @throws InputError
std::string output_of_python(const std::vector<std::string>& arguments, const std::string& what) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw InputError(what + ": " + std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    isolate_for_functions({});
    start_python(arguments);
    ::_exit(no_such_program);
  }
  ::close(pipe[1]);
  const std::optional<std::string> answer = read_all(pipe[0]);
  ::close(pipe[0]);
  if (child > 0 && !answer) ::kill(child, SIGKILL);
  const int status = child > 0 ? status_of(child) : -1;
  if (!answer)
    throw InputError(what + ": Python does not say what it is within " +
                     std::to_string(most_seconds.count()) + " s");
  std::string text = *answer;
  if (child > 0 && status == 0) return text;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  while (text.ends_with('\n')) text.pop_back();
  if (code == no_such_program) text = no_python();
  if (code != 1 && code != no_such_program) text = "Python ended without saying what it is";
  throw InputError(what + ": " + printable(text, most_reason));
}

}  // namespace

std::string described_function(const std::string& function) {
  const FunctionPlace place = *function_place(function);
  std::error_code error;
  if (!fs::exists(place.file, error)) throw InputError(place.file + ": there is no such file");
  if (FunctionRuntime* runtime = function_runtime()) return runtime->manifest_of(function);
  find_package();
  return output_of_python({"-m", "gla_bench._describe", function}, function);
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

void become_python(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& writable) {
  if (function_runtime() != nullptr) return;
  find_package();
  std::error_code error;
  for (const std::string& folder : writable)
    if (!folder.empty()) fs::create_directories(folder, error);
  isolate_for_functions(writable);
  std::vector<std::string> all{"-m", "gla_bench._serve"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  start_python(all);
  throw InputError("functions of Python: " + no_python());
}

std::map<std::string, std::string> python_facts() {
  FunctionRuntime* runtime = function_runtime();
  if (runtime == nullptr) return {};
  std::map<std::string, std::string> facts = runtime->versions();
  const char* isolation = std::getenv(isolation_variable);
  facts[isolation_fact] = isolation != nullptr ? isolation : "nothing";
  return facts;
}

}  // namespace gla_bench
