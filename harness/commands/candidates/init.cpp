// gla-bench init: a kernel of one's own to start from.

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "core/error.hpp"
#include "harness/backends/sources/source_store.hpp"
#include "harness/commands/commands.hpp"
#include "harness/config/candidates/candidates.hpp"
#include "harness/support/output_file.hpp"
#include "harness/support/printable.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

constexpr std::string_view folder = "examples/", prefix = "naive_", ending = ".json";

struct InitOptions {
  std::string path, op = "gla";
  bool force = false;
};

/// The operators that there is an example of.
std::vector<std::string> operators_with_example() {
  std::vector<std::string> names;
  const std::string begin = std::string(folder) + std::string(prefix);
  for (const Source& source : embedded_examples())
    if (source.path.starts_with(begin) && source.path.ends_with(ending))
      names.emplace_back(
          source.path.substr(begin.size(), source.path.size() - begin.size() - ending.size()));
  return names;
}

/// The kernel's name, of which its files, its variant and its entry are named.
std::string kernel_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const bool letters =
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (name.empty() || !letters || (name.front() >= '0' && name.front() <= '9'))
    throw InputError("init: found \"" + printable(name, 80) +
                     "\", expected a name of small letters, digits and _ that begins with none of "
                     "the digits");
  return name;
}

std::string with_name(std::string text, const std::string& old, const std::string& name) {
  for (std::size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + name.size()))
    text.replace(at, old.size(), name);
  return text;
}

void init(const InitOptions& options) {
  const std::vector<std::string> known = operators_with_example();
  if (std::find(known.begin(), known.end(), options.op) == known.end())
    throw InputError("--operator: found \"" + printable(options.op, 80) +
                     "\", expected one that there is an example of: " + join(known));
  const std::string name = kernel_name(options.path), example = std::string(prefix) + options.op;
  const std::string manifest = options.path + std::string(ending);
  for (const std::string& path : {options.path + ".cu", manifest})
    if (!options.force && std::filesystem::exists(path))
      throw InputError(path + ": is there already; --force replaces it");
  for (const Source& source : embedded_examples()) {
    const std::filesystem::path file(source.path);
    if (file.stem() == example)
      write_output(options.path + file.extension().string(),
                   with_name(std::string(source.text), example, name));
  }
  std::cout << "written to " << options.path << ".cu and " << manifest << "\n"
            << "gla-bench list " << options.op << " --candidates " << manifest << " shows it\n";
}

}  // namespace

void add_init(CLI::App& program, Context&) {
  auto options = std::make_shared<InitOptions>();
  CLI::App* command = program.add_subcommand(
      "init", "Writes a kernel and its manifest to start from, for --candidates");
  command->add_option("name", options->path, "its name, which may stand behind a folder")
      ->required();
  command->add_option("--operator", options->op, "the operator that it computes")
      ->type_name("OPERATOR")
      ->capture_default_str();
  command->add_flag("--force", options->force, "replace files that are there");
  command->footer(
      "Examples:\n  gla-bench init my_kernel\n"
      "  gla-bench list gla --candidates my_kernel.json");
  command->callback([options] { init(*options); });
}

}  // namespace gla_bench::commands
