#pragma once
// What belongs to the program but lies outside it: its own file, and the data installed with it.

#include <optional>
#include <string>
#include <vector>

namespace gla_bench {

/// The folder in which programs keep what a user made: gla-bench below $XDG_DATA_HOME, or else
/// below ~/.local/share. Empty where neither XDG_DATA_HOME nor HOME is set. The folder need not
/// exist yet.
std::string user_data_folder();

/// The folder of the program's own file; empty where the system does not tell it.
std::string program_folder();

/// Says where the program lies. For the program as a part of another one, such as Python, whose own
/// file is elsewhere; to be called before anything is looked for.
void set_program_folder(const std::string& folder);

/// A file of the data that are installed with the program, by its path below share/gla-bench
/// ("tuned/nvidia-h200.json"). The folder is found from the program's own place (bin/ beside
/// share/), so an installation may be moved. Empty where there is no such file.
std::string installed_file(const std::string& path);

/// What is known of devices, such as a tuned table: the first that there is of the user's own file
/// of that name (tuned/ in user_data_folder()), the installed one and that of the source tree
/// (results/tuned/).
std::optional<std::string> device_file(const std::string& name);

/// The names of all such files with this ending, the user's first, each once.
std::vector<std::string> device_files(const std::string& ending);

/// The name of a device in the names of such files: "NVIDIA H200" is "nvidia-h200".
std::string device_slug(const std::string& device);

/// A file that the user names by a path: the path as it stands where there is such a file, else the
/// installed file of that path ("configs/quick.json"), else the path as it stands.
std::string existing_or_installed(const std::string& path);

}  // namespace gla_bench
