#include <sstream>

#include "harness/commands/manual/manual.hpp"
#include "harness/commands/shared/exit_codes.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

/// Text as roff takes it literally: its hyphens can be copied, and no line is taken for a request.
std::string roff_text(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_line = i == 0 || text[i - 1] == '\n';
    if (starts_line && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\')
      out += "\\e";
    else if (text[i] == '-')
      out += "\\-";
    else
      out += text[i];
  }
  return out;
}

std::string bold(const std::string& text) {
  return "\\fB" + roff_text(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + roff_text(text) + "\\fR";
}

/// "-o, --output TEXT", or "config".
std::string label(const OptionFacts& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  if (names.empty()) return italic(option.positional);
  return join(names) + (option.value.empty() ? "" : " " + italic(option.value));
}

void write_options(std::ostream& out, const std::vector<OptionFacts>& options) {
  for (const OptionFacts& option : options) {
    out << ".TP\n" << label(option) << "\n" << roff_text(option.help);
    if (!option.choices.empty()) out << " (one of " << roff_text(join(option.choices)) << ")";
    if (!option.default_value.empty())
      out << " (default: " << roff_text(option.default_value) << ")";
    if (option.required) out << " (required)";
    out << "\n";
  }
}

/// Lines that keep their line breaks.
void write_literally(std::ostream& out, const std::string& text) {
  out << ".PP\n.nf\n" << roff_text(text) << "\n.fi\n";
}

void write_command(std::ostream& out, const CommandFacts& command) {
  out << ".SS gla\\-bench " << roff_text(command.name) << "\n" << roff_text(command.help) << "\n";
  write_options(out, command.options);
  if (!command.footer.empty()) write_literally(out, command.footer);
}

constexpr const char* files_and_environment = R"(.SH FILES
.TP
.I ~/.local/share/gla-bench/tuned/<device>.json
The table that the variant auto goes by, in the current folder.
.TP
.I <prefix>/share/gla\-bench/
What is installed with the program: configs and their schemas, and tuned tables.
They are found from the place of the program itself.
.SH ENVIRONMENT
.TP
.BR CUDA_HOME ", " CUDA_PATH
The folder of the CUDA toolkit whose NVRTC, cuBLAS and CUPTI are opened, before the usual places.
.TP
.B LD_LIBRARY_PATH
Folders that are searched for these libraries before any toolkit.
.TP
.B XDG_CACHE_HOME
Where compiled kernels are kept, in gla\-bench/ (otherwise ~/.cache).
)";

}  // namespace

std::string manual_page(const ProgramFacts& program) {
  std::ostringstream out;
  out << ".TH GLA\\-BENCH 1 \"\" \"gla\\-bench " << roff_text(program.version)
      << "\" \"User Commands\"\n"
      << ".SH NAME\ngla\\-bench \\- runs, verifies and measures gated linear attention\n"
      << ".SH SYNOPSIS\n.B gla\\-bench\n.I command\n.RI [ options ]\n"
      << ".SH DESCRIPTION\n"
      << roff_text(program.help.substr(0, program.help.find('\n'))) << "\n";
  write_options(out, program.options);
  out << ".SH COMMANDS\n";
  for (const CommandFacts& command : program.commands) write_command(out, command);
  out << ".SH EXIT STATUS\n";
  for (const ExitCode& exit : exit_codes)
    out << ".TP\n"
        << bold(std::string(exit.code)) << "\n"
        << roff_text(std::string(exit.meaning)) << "\n";
  out << files_and_environment;
  return out.str();
}

}  // namespace gla_bench::commands
