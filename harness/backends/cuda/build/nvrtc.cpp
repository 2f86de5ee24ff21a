#include "harness/backends/cuda/build/nvrtc.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "core/error.hpp"
#include "harness/backends/cuda/toolkit/nvrtc_library.hpp"
#include "harness/backends/cuda/toolkit/toolkit.hpp"
#include "harness/backends/sources/architecture.hpp"

namespace gla_bench::cuda {
namespace {

namespace fs = std::filesystem;

void check_nvrtc(nvrtcResult code, const char* call) {
  if (code == NVRTC_SUCCESS) return;
  throw BuildError(std::string(call) + ": " + nvrtc().error_string(code) + " (" +
                   std::to_string(static_cast<int>(code)) + ")");
}

class Program {
 public:
  Program(const std::string& text, const std::vector<Header>& headers) {
    std::vector<const char*> texts, names;
    for (const Header& header : headers) {
      texts.push_back(header.text.c_str());
      names.push_back(header.name.c_str());
    }
    check_nvrtc(
        nvrtc().create_program(&program_, text.c_str(), "prologue.cu",
                               static_cast<int>(headers.size()), texts.data(), names.data()),
        "nvrtcCreateProgram");
  }
  ~Program() { nvrtc().destroy_program(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    return nvrtc().compile_program(program_, static_cast<int>(texts.size()), texts.data());
  }

  std::string log() const {
    std::size_t size = 0;
    check_nvrtc(nvrtc().log_size(program_, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    check_nvrtc(nvrtc().log(program_, text.data()), "nvrtcGetProgramLog");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

  std::string cubin() const {
    std::size_t size = 0;
    check_nvrtc(nvrtc().cubin_size(program_, &size), "nvrtcGetCUBINSize");
    std::string bytes(size, '\0');
    check_nvrtc(nvrtc().cubin(program_, bytes.data()), "nvrtcGetCUBIN");
    return bytes;
  }

  std::string ptx() const {
    std::size_t size = 0;
    check_nvrtc(nvrtc().ptx_size(program_, &size), "nvrtcGetPTXSize");
    std::string text(size, '\0');
    check_nvrtc(nvrtc().ptx(program_, text.data()), "nvrtcGetPTX");
    return text;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

}  // namespace

std::string nvrtc_version() {
  int major = 0, minor = 0;
  check_nvrtc(nvrtc().version(&major, &minor), "nvrtcVersion");
  return std::to_string(major) + "." + std::to_string(minor);
}

std::vector<std::string> nvrtc_options(int arch, Depth depth) {
  std::vector<std::string> options{"--std=c++17"};
  const std::string name = architecture_name(arch);
  if (depth == Depth::ptx)
    options.push_back("--gpu-architecture=compute_" + name.substr(std::string("sm_").size()));
  else
    options.insert(options.end(),
                   {"--gpu-architecture=" + name, "--ptxas-options=-v", "-lineinfo"});
  // From 13.0 on, NVRTC keeps results in a cache next to the driver's own. It then omits the
  // assembler's report from the log. This project's cache keeps what is known of a binary instead.
  int major = 0, minor = 0;
  check_nvrtc(nvrtc().version(&major, &minor), "nvrtcVersion");
  if (major >= 13) options.emplace_back("--no-cache");
  const bool can_be_quick = major > 12 || (major == 12 && minor >= 9);
  if (depth != Depth::optimised && can_be_quick) options.emplace_back("--Ofast-compile=max");
  return options;
}

std::vector<std::string> toolkit_include_folders() {
  const fs::path library = fs::path(library_of<NvrtcFunctions>().path()).parent_path();
  std::vector<fs::path> candidates;
  if (!library.empty())
    // <toolkit>/lib64, <toolkit>/targets/<target>/lib, and the layout of the Python packages.
    for (const char* path : {"../include", "../../../include", "../../cuda_runtime/include"})
      candidates.push_back(library / path);
  for (const std::string& folder : toolkit_folders({"/include"})) candidates.emplace_back(folder);
  candidates.emplace_back("/usr/include");
  std::vector<std::string> folders;
  for (const fs::path& path : candidates) {
    std::error_code error;
    if (!fs::is_regular_file(path / "cuda_fp16.h", error)) continue;
    const std::string folder = fs::canonical(path, error).string();
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  }
  return folders;
}

Binary compile_with_nvrtc(const std::string& text, const std::vector<Header>& headers, int arch,
                          Depth depth) {
  static std::atomic<bool> once_quick = false;
  if (depth != Depth::optimised)
    once_quick = true;
  else if (once_quick)
    throw BuildError(
        "found a kernel to optimise in a process that has compiled another one quickly, "
        "expected it in a process of its own: NVRTC stays quick, whatever the options say");
  std::vector<std::string> options = nvrtc_options(arch, depth);
  const std::vector<std::string> folders = toolkit_include_folders();
  if (folders.empty())
    throw BuildError("the CUDA toolkit's headers (cuda_fp16.h) are in none of the usual folders");
  // Only one toolkit's folder, because headers of two versions must not mix. The C++ headers are in
  // a folder of their own.
  options.push_back("-I" + folders.front());
  options.push_back("-I" + folders.front() + "/cccl");
  Program program(text, headers);
  const nvrtcResult code = program.compile(options);
  std::string log = program.log();
  if (code == NVRTC_ERROR_COMPILATION) throw BuildError("does not compile:\n" + log);
  if (code != NVRTC_SUCCESS)
    throw BuildError(std::string("nvrtcCompileProgram: ") + nvrtc().error_string(code) + " (" +
                     std::to_string(static_cast<int>(code)) + ")\n" + log);
  return {depth == Depth::ptx ? "" : program.cubin(), std::move(log), program.ptx()};
}

}  // namespace gla_bench::cuda
