// The test program of an emitted launcher.

#include "harness/emit/project.hpp"

namespace gla_bench {
namespace {

constexpr std::string_view program = R"(
std::string folder = GOLDEN_FOLDER;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) fail(std::string(call) + ": " + cudaGetErrorString(error));
}

const Tensor& tensor_of(const std::string& name) {
  for (const Tensor& tensor : tensors)
    if (name == tensor.name) return tensor;
  fail("cases.txt names the unknown tensor " + name);
}

std::vector<char> read_file(const std::string& name, size_t bytes) {
  std::ifstream file(folder + "/" + name, std::ios::binary);
  std::vector<char> content(bytes);
  if (!file.read(content.data(), static_cast<std::streamsize>(bytes)))
    fail(folder + "/" + name + " has less than " + std::to_string(bytes) + " bytes");
  return content;
}

/// Device memory that is freed at the end.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    check(cudaMalloc(&data_, bytes > 0 ? bytes : 1), "cudaMalloc");
    check(cudaMemset(data_, 0xff, bytes), "cudaMemset");  // NaN
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { cudaFree(data_); }
  char* data() const { return static_cast<char*>(data_); }
  size_t bytes() const { return bytes_; }
  void write(const std::vector<char>& content) {
    check(cudaMemcpy(data_, content.data(), content.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  std::vector<char> read() const {
    std::vector<char> content(bytes_);
    check(cudaMemcpy(content.data(), data_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return content;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

struct Input {
  std::vector<char> content;
  size_t first_byte = 0;
};
struct Output {
  std::vector<double> expected;
  double bound = 0;
};
struct Case {
  std::string name;
  Problem problem{};
  std::map<std::string, Input> inputs;
  std::map<std::string, Output> outputs;
};

std::vector<Case> read_cases() {
  std::ifstream file(folder + "/cases.txt");
  if (!file) fail("cannot read " + folder + "/cases.txt");
  std::vector<Case> cases;
  std::string word, name, path;
  while (file >> word) {
    if (word == "case") {
      cases.emplace_back();
      file >> cases.back().name;
      continue;
    }
    if (word == "end" || word == "shape") {  // for readers, as sizes are known
      std::getline(file, word);
      continue;
    }
    Case& at = cases.back();
    if (word == "extent") {
      long long value = 0;
      file >> name >> value;
      set_extent(at.problem, name, value);
    } else if (word == "scale") {
      float scale = 0;
      file >> scale;
      set_scale(at.problem, scale);
    } else if (word == "input") {
      size_t bytes = 0, first = 0;
      file >> name >> path >> bytes >> first;
      at.inputs[name] = {read_file(path, bytes), first};
    } else if (word == "output") {
      size_t elements = 0;
      Output output;
      file >> name >> path >> elements >> output.bound;
      output.expected.resize(elements);
      const std::vector<char> content = read_file(path, 8 * elements);
      std::memcpy(output.expected.data(), content.data(), content.size());
      at.outputs[name] = std::move(output);
    } else {
      fail("cases.txt has an unknown line: " + word);
    }
  }
  if (cases.empty()) fail(folder + "/cases.txt has no case");
  return cases;
}

double value_at(const char* data, const std::string& dtype, size_t index) {
  if (dtype == "bfloat16") {
    uint16_t half = 0;
    std::memcpy(&half, data + 2 * index, 2);
    const uint32_t bits = static_cast<uint32_t>(half) << 16;
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  if (dtype == "float16") {
    __half_raw half{};
    std::memcpy(&half.x, data + 2 * index, 2);
    return static_cast<double>(__half2float(__half(half)));
  }
  float value = 0;
  std::memcpy(&value, data + 4 * index, 4);
  return value;
}

/// The norm of the errors over the norm of what is expected. NaN where an element is not finite
/// that should be.
double relative_error(const std::vector<char>& got, const std::string& dtype,
                      const std::vector<double>& expected) {
  double errors = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double value = value_at(got.data(), dtype, i);
    if (std::isinf(expected[i]) && value == expected[i]) continue;
    errors += (value - expected[i]) * (value - expected[i]);
    norm += expected[i] * expected[i];
  }
  if (errors == 0) return 0;
  return std::sqrt(errors / norm);
}

/// The tensors of a case on the device, and the workspace.
struct OnDevice {
  std::map<std::string, Memory> memory;
  Problem problem;
  std::unique_ptr<Memory> workspace;

  explicit OnDevice(const Case& of) : problem(of.problem) {
    for (const auto& [name, input] : of.inputs) {
      memory.try_emplace(name, input.content.size()).first->second.write(input.content);
      set_tensor(problem, name, memory.at(name).data() + input.first_byte);
    }
    for (const auto& [name, output] : of.outputs) {
      const Tensor& tensor = tensor_of(name);
      if (tensor.in_place_of[0] == 0)
        memory.try_emplace(name, output.expected.size() * tensor.element_bytes);
      set_tensor(problem, name, memory_of(name).data());
    }
    allocate_workspace();
  }
  void allocate_workspace() {
    if (const char* why = REFUSAL(&problem)) fail(std::string("refused: ") + why);
    workspace = std::make_unique<Memory>(WORKSPACE_BYTES(&problem));
  }
  const Memory& memory_of(const std::string& output) const {
    const std::string of = tensor_of(output).in_place_of;
    return memory.at(of.empty() ? output : of);
  }
  void call() const {
    check(LAUNCH(&problem, workspace->data(), workspace->bytes(), nullptr), "launch");
  }
};

bool judge(const Case& of, const std::string& write_to) {
  OnDevice at(of);
  Problem wrong = at.problem;
  set_extent(wrong, first_extent, 0);
  if (REFUSAL(&wrong) == nullptr) fail("no tokens at all are not refused");
  at.call();
  check(cudaDeviceSynchronize(), "call");
  bool right = true;
  for (const auto& [name, output] : of.outputs) {
    const std::vector<char> got = at.memory_of(name).read();
    const double error = relative_error(got, tensor_of(name).dtype, output.expected);
    const bool within = error <= output.bound;  // false for NaN
    std::printf("%s %s: rel_l2 %.3g, bound %.3g: %s\n", of.name.c_str(), name.c_str(), error,
                output.bound, within ? "right" : "WRONG");
    right = right && within;
    if (!write_to.empty())
      std::ofstream(write_to + "/" + of.name + "." + name + ".out", std::ios::binary)
          .write(got.data(), static_cast<std::streamsize>(got.size()));
  }
  for (const auto& [name, input] : of.inputs) {
    bool updated = false;
    for (const Tensor& tensor : tensors) updated = updated || name == tensor.in_place_of;
    if (updated || at.memory.at(name).read() == input.content) continue;
    std::printf("%s %s: the input was changed\n", of.name.c_str(), name.c_str());
    right = false;
  }
  return right;
}

/// Reads a whole buffer, of which the cache then holds clean lines. A memset would leave dirty ones,
/// and their way back to memory would be counted as time of the call after it.
__global__ void read_all(const uint4* data, size_t count, unsigned* found) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  unsigned any = 0;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    any |= data[i].x | data[i].y | data[i].z | data[i].w;
  if (any != 0) *found = any;  // never, but the compiler cannot know
}

/// Empties the L2 cache by reading four times its size.
class CacheEmptier {
 public:
  CacheEmptier() : buffer_(size()), found_(sizeof(unsigned)) {
    check(cudaMemset(buffer_.data(), 0, buffer_.bytes()), "cudaMemset");
  }
  void operator()() const {
    read_all<<<1024, 512>>>(reinterpret_cast<const uint4*>(buffer_.data()), buffer_.bytes() / 16,
                            reinterpret_cast<unsigned*>(found_.data()));
    check(cudaGetLastError(), "emptying the cache");
  }

 private:
  static size_t size() {
    int device = 0, bytes = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
    return std::max(4 * static_cast<size_t>(bytes), size_t{64} << 20) / 16 * 16;
  }
  Memory buffer_, found_;
};

/// The median time of a call with cold caches, of a problem of other sizes whose inputs repeat those
/// of the first case.
void time_it(Case of, const std::vector<std::string>& sizes) {
  for (const std::string& size : sizes) {
    const size_t equals = size.find('=');
    if (equals == std::string::npos) fail("expected extent=number, found " + size);
    set_extent(of.problem, size.substr(0, equals), std::stoll(size.substr(equals + 1)));
  }
  for (const Tensor& tensor : tensors) {
    const size_t elements = static_cast<size_t>(tensor.elements(of.problem));
    if (tensor.output) {
      of.outputs[tensor.name].expected.resize(elements);
      continue;
    }
    Input& input = of.inputs.at(tensor.name);
    if (input.first_byte > 0 || std::string(tensor.dtype) == "int32")
      fail(std::string(tensor.name) + " cannot be repeated for other sizes");
    const std::vector<char> once = input.content;
    input.content.resize(elements * tensor.element_bytes);
    for (size_t i = 0; i < input.content.size(); ++i) input.content[i] = once[i % once.size()];
  }
  OnDevice at(of);
  const CacheEmptier empty_cache;
  std::vector<float> times;
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  for (int i = 0; i < 60; ++i) {
    empty_cache();
    check(cudaEventRecord(begin), "cudaEventRecord");
    at.call();
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    if (i >= 10) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  std::printf("%.6g ms\n", static_cast<double>(times[times.size() / 2]));
}

}  // namespace

int main(int count, char** words) {
  std::string write_to;
  bool timed = false;
  std::vector<std::string> sizes;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--golden" && i + 1 < count)
      folder = words[++i];
    else if (word == "--write" && i + 1 < count)
      write_to = words[++i];
    else if (word == "--time")
      timed = true;
    else if (timed)
      sizes.push_back(word);
    else
      fail("usage: [--golden FOLDER] [--write FOLDER] [--time batch=8 seq=4096 ...]");
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: there is no GPU\n");
    return 77;
  }
  const std::vector<Case> cases = read_cases();
  if (timed) {
    time_it(cases.front(), sizes);
    return 0;
  }
  bool right = true;
  for (const Case& of : cases) right = judge(of, write_to) && right;
  return right ? 0 : 1;
}
)";

std::string elements_text(const CallTensor<ExtentFormula>& tensor,
                          const std::vector<std::string>& names) {
  std::string text;
  for (const ExtentFormula& extent : tensor.extents)
    text += (text.empty() ? "(" : " * (") + text_of(extent, names) + ")";
  return text.empty() ? "1" : text;
}

std::string tensor_row(const Launcher& launcher, const CallTensor<ExtentFormula>& tensor) {
  const TensorSpec& like = tensor.like;
  std::string members;
  for (const std::string& name : extent_names(launcher.run_time))
    members += "[[maybe_unused]] const long long " + name + " = p." + name + "; ";
  return "    {\"" + like.name + "\", \"" + std::string(name(like.dtype)) + "\", " +
         std::to_string(size_of(like.dtype)) + ", " +
         (like.role == TensorSpec::Role::output ? "true" : "false") + ", \"" + like.in_place_of +
         "\",\n     [](const Problem& p) -> long long { " + members + "return " +
         elements_text(tensor, extent_names(launcher.run_time)) + "; }},\n";
}

}  // namespace

std::string test_text(const Launcher& launcher) {
  const Call<ExtentFormula>& call = launcher.run_time.call;
  std::string text =
      "// Compares " + launcher.name +
      "() with float64 outputs (golden/). Without a GPU it is skipped: exit code 77.\n"
      "#include <cuda_fp16.h>\n#include <cuda_runtime.h>\n\n#include <algorithm>\n"
      "#include <cmath>\n#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n"
      "#include <cstring>\n#include <fstream>\n#include <map>\n#include <memory>\n"
      "#include <string>\n#include <vector>\n\n#include \"" +
      launcher.name + ".h\"\n\n#define LAUNCH " + launcher.name + "\n#define REFUSAL " +
      launcher.name + "_refusal\n#define WORKSPACE_BYTES " + launcher.name +
      "_workspace_bytes\n\nnamespace {\n\nusing Problem = " + launcher.struct_name +
      ";\n\nstruct Tensor {\n  const char* name;\n  const char* dtype;\n  size_t element_bytes;\n"
      "  bool output;\n  const char* in_place_of;\n  long long (*elements)(const Problem&);\n};\n\n"
      "const Tensor tensors[] = {\n";
  for (const auto& tensor : call.tensors) text += tensor_row(launcher, tensor);
  const std::vector<std::string> names = extent_names(launcher.run_time);
  text += "};\n\nconst char* const first_extent = \"" + names.front() +
          "\";\n\nvoid set_extent(Problem& p, const std::string& name, long long value) {\n";
  for (const std::string& name : names)
    text += "  if (name == \"" + name + "\") p." + name + " = value;\n";
  text += "}\n\nvoid set_scale([[maybe_unused]] Problem& p, [[maybe_unused]] float scale) {\n" +
          std::string(takes_scale(call) ? "  p.scale = scale;\n" : "") +
          "}\n\nvoid set_tensor(Problem& p, const std::string& name, void* data) {\n";
  for (const auto& tensor : call.tensors)
    text += "  if (name == \"" + tensor.like.name + "\") p." + member_name(tensor.like.name) +
            " = data;\n";
  return text + "}\n" + std::string(program);
}

}  // namespace gla_bench
