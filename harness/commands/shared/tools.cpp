#include "harness/commands/shared/tools.hpp"

#include <array>
#include <sstream>

#include "core/error.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

// Where toolkits install their programs, for when PATH does not have them.
constexpr std::array toolkit_folders{"/usr/local/cuda/bin", "/opt/cuda/bin",
                                     "/usr/local/cuda/compute-sanitizer",
                                     "/usr/local/cuda/nsight-compute"};

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

std::string find_tool(const std::string& tool, const std::string& path,
                      const std::function<bool(const std::string&)>& exists) {
  std::vector<std::string> folders;
  std::istringstream list(path);
  for (std::string folder; std::getline(list, folder, ':');)
    if (!folder.empty()) folders.push_back(folder);
  folders.insert(folders.end(), toolkit_folders.begin(), toolkit_folders.end());
  for (const std::string& folder : folders)
    if (exists(folder + "/" + tool)) return folder + "/" + tool;
  throw InputError(tool + " is not installed: it is neither in PATH nor in " +
                   join({toolkit_folders.begin(), toolkit_folders.end()}) +
                   "; it comes with the CUDA toolkit");
}

std::vector<std::string> ncu_command(const std::string& tool, const std::string& program,
                                     const std::vector<std::string>& repeat,
                                     const std::string& output,
                                     const std::vector<std::string>& more) {
  std::vector<std::string> command{tool, "--clock-control", "none", "--profile-from-start", "off"};
  if (!output.empty()) command = joined(std::move(command), {"--force-overwrite", "-o", output});
  if (more.empty()) command = joined(std::move(command), {"--set", "full"});
  command = joined(std::move(command), more);
  return joined(joined(std::move(command), {program, "repeat", "--profile"}), repeat);
}

std::vector<std::string> sanitizer_command(const std::string& tool, const std::string& program,
                                           const std::vector<std::string>& repeat,
                                           const std::string& check,
                                           const std::vector<std::string>& more) {
  std::vector<std::string> command{tool, "--tool", check, "--error-exitcode", "1"};
  command = joined(std::move(command), more);
  return joined(joined(std::move(command), {program, "repeat", "--profile"}), repeat);
}

}  // namespace gla_bench
