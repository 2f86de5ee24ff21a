#include "harness/backends/cuda/build/compiler.hpp"

#include <algorithm>
#include <chrono>

#include "core/error.hpp"
#include "harness/backends/sources/ptxas_log.hpp"

namespace gla_bench::cuda {
namespace {

std::filesystem::path cache_folder(const CudaOptions& options) {
  if (!options.cache_dir.empty()) return options.cache_dir;
  return user_cache_folder();
}

SourceStore open_store(const CudaOptions& options) {
  if (options.source_dir.empty()) return SourceStore();
  return SourceStore(std::filesystem::path(options.source_dir));
}

unsigned cores(int wanted) {
  if (wanted > 0) return static_cast<unsigned>(wanted);
  return std::max(1u, std::thread::hardware_concurrency());
}

std::vector<Header> headers_of(const SourceStore& store, const std::string& source) {
  std::vector<Header> headers;
  for (const Source& part : store.closure(std::vector{source}))
    headers.push_back({std::string(part.path), store.with_full_includes(part)});
  return headers;
}

void append_part(std::string& key, std::string_view name, std::string_view text) {
  key.append(name).append(" ").append(std::to_string(text.size())).append("\n");
  key.append(text).append("\n");
}

}  // namespace

Compiler::Compiler(const CudaOptions& options, std::function<void(const std::string&)> warn)
    : store_(open_store(options)),
      cache_(cache_folder(options), std::move(warn)),
      thread_count_(cores(options.compile_threads)),
      quick_(options.quick) {}

Compiler::~Compiler() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    queue_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::string Compiler::key(const std::string& text, const std::string& source, int arch,
                          const SourceTexts& texts, Depth depth) const {
  std::string key;
  append_part(key, "nvrtc", nvrtc_version());
  for (const std::string& option : nvrtc_options(arch, depth)) append_part(key, "option", option);
  append_part(key, "text", text);
  const SourceStore own(texts ? *texts : std::map<std::string, std::string>{});
  for (const Source& part : (texts ? own : store_).closure(std::vector{source}))
    append_part(key, part.path, part.text);
  return key;
}

Compiler::JobPtr Compiler::job(const std::string& text, const std::string& source, int arch,
                               const SourceTexts& texts, const std::string& kind) {
  const std::lock_guard lock(mutex_);
  JobPtr& known = jobs_[{arch, text}];
  if (known) return known;
  known = std::make_shared<Job>();
  known->text = text;
  known->source = source;
  known->arch = arch;
  known->texts = texts;
  if (quick_) known->depth = kinds_.insert({arch, kind}).second ? Depth::quick : Depth::ptx;
  return known;
}

void Compiler::start(const std::string& text, const std::string& source, int arch,
                     const SourceTexts& texts, const std::string& kind) {
  const JobPtr wanted = job(text, source, arch, texts, kind);
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(wanted);
    if (threads_.size() < thread_count_) threads_.emplace_back([this] { work(); });
  }
  wake_.notify_one();
}

bool Compiler::is_pending(const std::string& text, int arch) {
  const std::lock_guard lock(mutex_);
  const auto known = jobs_.find({arch, text});
  return known != jobs_.end() && !known->second->done;
}

CodePtr Compiler::get(const std::string& text, const std::string& source, int arch,
                      const SourceTexts& texts, const std::string& kind) {
  const JobPtr wanted = job(text, source, arch, texts, kind);
  finish(*wanted);
  if (wanted->error) std::rethrow_exception(wanted->error);
  return wanted->code;
}

CodePtr Compiler::make(const Job& job) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string full_key = key(job.text, job.source, job.arch, job.texts, job.depth);
  auto code = std::make_shared<Code>();
  std::optional<Binary> binary = cache_.load(full_key);
  code->cached = binary.has_value();
  if (!binary) {
    binary = compile_with_nvrtc(job.text,
                                job.texts ? headers_of(SourceStore(*job.texts), job.source)
                                          : headers_of(store_, job.source),
                                job.arch, job.depth);
    // PTX is kept where other entries have machine code, under a key that says so.
    if (job.depth == Depth::ptx) binary->cubin = std::move(binary->ptx);
    cache_.store(full_key, *binary);
  }
  PtxasLog log = parse_ptxas_log(binary->log);
  code->warnings = std::move(log.warnings);
  if (job.depth == Depth::ptx) {
    code->kernels = kernels_of_ptx(binary->cubin);
  } else {
    code->kernels = std::move(log.kernels);
    code->cubin = std::move(binary->cubin);
  }
  code->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return code;
}

// Compiles in the first thread that arrives. Every other thread waits for it.
void Compiler::finish(Job& job) {
  std::call_once(job.once, [&] {
    try {
      job.code = make(job);
    } catch (const UnsafeCache&) {
      job.error = std::current_exception();  // the user's mistake, whichever candidate is built
    } catch (const InputError& error) {
      job.error = std::make_exception_ptr(BuildError(error.what()));
    } catch (...) {
      job.error = std::current_exception();
    }
    job.done = true;
  });
}

void Compiler::work() {
  while (true) {
    JobPtr next;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    finish(*next);
  }
}

}  // namespace gla_bench::cuda
