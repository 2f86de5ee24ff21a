// gla-bench manual and gla-bench completion: the program describes itself. Both are hidden: the
// build runs them and installs what they print.

#include <iostream>

#include "harness/commands/commands.hpp"
#include "harness/commands/manual/manual.hpp"
#include "harness/records/environment.hpp"

namespace gla_bench::commands {
namespace {

ProgramFacts facts_of(const CLI::App& program) {
  return read_command_tree(program, program_version(), catalog_values());
}

std::string completion(const std::string& shell, const ProgramFacts& program) {
  if (shell == "bash") return bash_completion(program);
  return shell == "zsh" ? zsh_completion(program) : fish_completion(program);
}

}  // namespace

void add_manual(CLI::App& program, Context&) {
  CLI::App* command = program.add_subcommand("manual", "Prints the manual page, for man(1)");
  command->group("");  // not listed
  command->callback([&program] { std::cout << manual_page(facts_of(program)); });
}

void add_completion(CLI::App& program, Context&) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("completion", "Prints the completion of a shell");
  command->group("");  // not listed
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&program, shell] { std::cout << completion(*shell, facts_of(program)); });
}

}  // namespace gla_bench::commands
